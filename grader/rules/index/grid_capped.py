"""IDX009: the grid is cut off at a number of blocks, and the kernel walks over no more than its own element."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Kernel, Launch, Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, read_call, text

STEPS = ("for_statement", "while_statement", "do_statement")
MINIMA = {"min", "std::min"}
CUT = re.compile(r"if\s*\(\s*(\w+)\s*>=?\s*(\w+)\s*\)\s*\{?\s*(\w+)\s*=\s*(\w+)\s*;\s*\}?")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for launches with such a grid, whose kernel has no loop over the grid."""
    wrong = wrong_results(context)
    for unit in source.cuda:
        kernels = {kernel.name: kernel for kernel in unit.kernels if _is_one_each(kernel)}
        for launch in unit.launches:
            for node, edit in list(_capped(unit, launch))[:1] if launch.kernel in kernels else ():
                yield RULE.finding(
                    unit.place(node),
                    f"`{one_line(node, 60)}` cuts the grid off, and {launch.kernel} has no loop over it: "
                    "elements beyond the last block are never computed",
                    severity="error" if wrong else "warning",
                    confidence="likely",
                    evidence=wrong[:1],
                    fixes=fix("let the grid be as large as it must", [edit]),
                )


def _is_one_each(kernel: Kernel) -> bool:
    """Whether each thread goes to one place that follows from its number, `if (i < n)`, and no further."""
    words = text(kernel.body)
    walks = any("blockDim" in text(loop) for loop in descendants(kernel.node, *STEPS))
    guarded = re.search(r"\bif\s*\(\s*\w+\s*(?:<|>=)\s*\w+", words) is not None
    numbered = "blockIdx" in words and "blockDim" in words
    return numbered and guarded and "gridDim" not in words and not walks


def _capped(unit: Unit, launch: Launch) -> Iterator[tuple[Node, Edit | None]]:
    """Yield where the grid of a launch is cut off, `std::min(1024, blocks)` or an `if`, and what takes that away."""
    body = launch.host_function.body if launch.host_function is not None else None
    if launch.grid is None or body is None:
        return
    names = {text(node) for node in descendants(launch.grid, "identifier")}
    made = descendants(body, "init_declarator")
    named = [one for one in made if text(next(descendants(one, "identifier"), None)) in names]
    for value in (launch.grid, *named):
        for node in descendants(value, "call_expression"):
            call = read_call(node)
            rest = [one for one in call.arguments if one.type != "number_literal"]
            if call.name in MINIMA and len(rest) == 1 and len(call.arguments) == 2:
                yield node, unit.edit(node.start_byte, node.end_byte, text(rest[0]))
    for node in descendants(body, "if_statement"):
        cut = CUT.fullmatch(text(node))
        if cut and cut[1] == cut[3] and cut[2] == cut[4] and cut[1] in names:
            yield node, unit.edit(node.start_byte, node.end_byte, "")


CODE = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    int blocks = std::min((n + 255) / 256, 1024);
    twice<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
LOOP = CODE.replace("if (i < n) y[i]", "for (; i < n; i += gridDim.x * blockDim.x) y[i]")

RULE = Rule(
    code="IDX009",
    name="grid-cut-off-without-a-loop",
    summary="The number of blocks has an upper limit, but each thread computes one element only, so large inputs are computed in part.",
    why="A limit on the grid goes together with a grid-stride loop, `for (i = ...; i < n; i += gridDim.x * blockDim.x)`. "
    "Without the loop everything beyond the limit is left as it was allocated: whatever the memory held.",
    bad=CODE,
    good=LOOP,
    detects=("text", "evidence"),
    guards="Kernels that name gridDim, or loop over anything in steps of the block, are left alone. A warning until results were wrong.",
    fix="Takes the limit off.",
    check=check,
)
