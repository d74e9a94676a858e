"""IDX009: the grid is cut off at a number of blocks, and the kernel walks over no more than its own element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Edit, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Kernel, Launch, Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, read_call, text

LOOPS = ("for_statement", "while_statement", "do_statement")
MINIMA = {"min", "std::min"}


@dataclass(frozen=True, eq=False)
class Capped:
    """`std::min(1024, blocks)` in the grid of a launch, or an `if` that cuts a variable of it off."""

    node: Node
    edit: Edit | None
    """What lets the grid be as large as it must."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for launches with such a grid, whose kernel has no loop over the grid."""
    wrong = wrong_results(context)
    for unit in source.cuda:
        kernels = {kernel.name: kernel for kernel in unit.kernels}
        for launch in unit.launches:
            kernel = kernels.get(launch.kernel)
            if kernel is None or not _one_each(kernel):
                continue
            capped = next(_capped(unit, launch), None)
            if capped is not None:
                yield RULE.finding(
                    unit.place(capped.node),
                    f"`{one_line(capped.node, 60)}` cuts the grid off, and {kernel.name} has no loop over it: "
                    "elements beyond the last block are never computed",
                    severity="error" if wrong else "warning",
                    confidence="likely",
                    evidence=wrong[:1],
                    fixes=fix("let the grid be as large as it must", [capped.edit]),
                )


def _one_each(kernel: Kernel) -> bool:
    """Whether each thread goes to one place that follows from its number, `if (i < n)`, and no further."""
    body = kernel.body
    words = text(body)
    walks = any("blockDim" in text(loop) for loop in descendants(kernel.node, *LOOPS))
    guarded = re.search(r"\bif\s*\(\s*\w+\s*(?:<|>=)\s*\w+", words) is not None
    numbered = "blockIdx" in words and "blockDim" in words
    return numbered and guarded and "gridDim" not in words and not walks


def _capped(unit: Unit, launch: Launch) -> Iterator[Capped]:
    """Yield where the grid of a launch is cut off at a number."""
    body = launch.host_function.body if launch.host_function is not None else None
    if launch.grid is None or body is None:
        return
    names = {text(node) for node in descendants(launch.grid, "identifier")}
    values = [launch.grid]
    for made in descendants(body, "init_declarator"):
        name = next(iter(descendants(made, "identifier")), None)
        value = made.child_by_field_name("value")
        if value is not None and text(name) in names:
            values.append(value)
    for value in values:
        for node in descendants(value, "call_expression"):
            call = read_call(node)
            plain = [one for one in call.arguments if one.type == "number_literal"]
            rest = [one for one in call.arguments if one.type != "number_literal"]
            if call.name in MINIMA and len(plain) == len(rest) == 1:
                yield Capped(node, unit.edit(node.start_byte, node.end_byte, text(rest[0])))
    for node in descendants(body, "if_statement"):
        found = re.fullmatch(
            r"if\s*\(\s*(\w+)\s*>=?\s*(\w+)\s*\)\s*\{?\s*(\w+)\s*=\s*(\w+)\s*;\s*\}?", text(node)
        )
        if found and found[1] == found[3] and found[2] == found[4] and found[1] in names:
            yield Capped(node, unit.edit(node.start_byte, node.end_byte, ""))


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
    severity="error",
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
