"""IDX010: the block is cut off at a number of threads, and the kernel gives each thread one element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from grader.records import DECIDING, Context, TensorSpec
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Edit, Finding
    from grader.source import Kernel, Launch, Source, Unit

MINIMA = {"min", "std::min"}
TOGETHER = ("blockDim", "blockIdx.y", "__shared__", "__sync", "__shfl", "cooperative_groups")
"""Words of kernels whose threads go on by the block, work together, or use the grid's second axis."""


@dataclass(frozen=True, eq=False)
class Capped:
    """`std::min(1024, n)` or `n < 1024 ? n : 1024` as the number of threads."""

    node: Node
    size: str
    most: str


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for launches with such a block, whose kernel takes threadIdx.x for an element's number."""
    wrong = wrong_results(context)
    for unit in source.cuda:
        kernels = {kernel.name: kernel for kernel in unit.kernels}
        for launch in unit.launches:
            kernel = kernels.get(launch.kernel)
            capped = next(_capped(launch), None)
            number = _number(kernel, launch, capped) if kernel is not None and capped else None
            if kernel is None or capped is None or number is None:
                continue
            yield RULE.finding(
                unit.place(capped.node),
                f"`{one_line(capped.node, 60)}` cuts the block off at {capped.most} threads, and {kernel.name} gives each "
                f"thread one element: those from {capped.most} on are never computed",
                severity="error" if wrong and _reached(context, int(capped.most)) else "warning",
                evidence=wrong[:1],
                fixes=fix(
                    "go on along the grid's second axis", _edits(unit, launch, capped, number)
                ),
            )


def _reached(context: Context, most: int) -> bool:
    """Whether a row of the task's inputs, all dims but the first together, may be longer than that."""
    workloads = context.task.workloads if context.task is not None else ()
    deciding = [workload for workload in workloads if workload.role in DECIDING]
    shapes = (i.shape for w in deciding for i in w.inputs if isinstance(i, TensorSpec))
    return not deciding or any(prod(shape[1:]) > most for shape in shapes)


def _capped(launch: Launch) -> Iterator[Capped]:
    """Yield what cuts off the block of a launch, where it is written or where its variable is made."""
    body = launch.host_function.body if launch.host_function is not None else None
    if launch.block is None or body is None:
        return
    names = {text(node) for node in descendants(launch.block, "identifier")}
    for made in (launch.block, *descendants(body, "init_declarator")):
        name = text(made.child_by_field_name("declarator")) if made is not launch.block else ""
        if made is not launch.block and name not in names:
            continue
        for node in descendants(made, "call_expression"):
            call = read_call(node)
            plain = [text(one) for one in call.arguments if one.type == "number_literal"]
            rest = [text(one) for one in call.arguments if one.type != "number_literal"]
            if call.name in MINIMA and len(plain) == len(rest) == 1:
                yield Capped(node, rest[0], plain[0])
        for node in descendants(made, "conditional_expression"):
            found = re.fullmatch(
                r"\(?\s*(?P<size>\w+)\s*(?:<=?)\s*(?P<most>\d+)\s*\)?\s*\?\s*(?P=size)\s*:\s*(?P=most)"
                r"|\(?\s*(?P<size2>\w+)\s*(?:>=?)\s*(?P<most2>\d+)\s*\)?\s*\?\s*(?P=most2)\s*:\s*(?P=size2)",
                text(node),
            )
            if found:
                yield Capped(node, found["size"] or found["size2"], found["most"] or found["most2"])


def _number(kernel: Kernel, launch: Launch, capped: Capped) -> Node | None:
    """Return the only `threadIdx.x` of a kernel, where it is an element's number below the capped size."""
    words = text(kernel.body)
    if kernel.body is None or any(word in words for word in TOGETHER):
        return None
    found = [n for n in descendants(kernel.body, "field_expression") if text(n) == "threadIdx.x"]
    outer = found[0].parent if len(found) == 1 else None
    if outer is None or outer.type != "init_declarator":
        return None
    name = re.escape(text(outer.child_by_field_name("declarator")))
    guard = re.search(rf"\b{name}\s*(?:<|>=)\s*(\w+)", words)
    given = {p.name: text(a) for p, a in zip(kernel.parameters, launch.arguments, strict=False)}
    return found[0] if guard and given.get(guard[1]) == capped.size else None


def _edits(unit: Unit, launch: Launch, capped: Capped, number: Node) -> list[Edit | None]:
    """Give the grid a second axis of as many blocks as the size needs, and number the elements along it."""
    host = launch.host_function
    if launch.grid is None or host is None or "dim3" in text(launch.grid):
        return [None]
    grid = text(launch.grid)
    made = re.search(rf"\bdim3\s+{re.escape(grid)}\b([^;]*)", text(host.body))
    if made is not None and "," in made[1]:
        return [None]
    first = f"{grid}.x" if made is not None else grid
    second = f"({capped.size} + {capped.most} - 1) / {capped.most}"
    return [
        unit.edit(launch.grid.start_byte, launch.grid.end_byte, f"dim3({first}, {second})"),
        unit.edit(number.start_byte, number.end_byte, "blockIdx.y * blockDim.x + threadIdx.x"),
    ]


CODE = """
__global__ void sums(const float* x, float* y, int rows, int n, int inner) {
    int r = blockIdx.x;
    int i = threadIdx.x;
    if (r >= rows || i >= inner) return;
    float s = 0.0f;
    for (int k = 0; k < n; ++k) s += x[(r * n + k) * inner + i];
    y[r * inner + i] = s;
}
torch::Tensor run(torch::Tensor x) {
    int rows = x.size(0), n = x.size(1), inner = x.size(2);
    auto y = torch::empty({rows, inner}, x.options());
    int threads = std::min(inner, 1024);
    sums<<<rows, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, n, inner);
    return y;
}
"""
LOOP = CODE.replace(
    "    int i = threadIdx.x;\n    if (r >= rows || i >= inner) return;\n",
    "    for (int i = threadIdx.x; i < inner; i += blockDim.x) {\n",
).replace("= s;\n}", "= s;\n    }\n}")

RULE = Rule(
    code="IDX010",
    name="block-cut-off-without-a-loop",
    severity="error",
    summary="The number of threads in a block has an upper limit, but each thread computes one element of a row only, so long rows are computed in part.",
    why="A block has at most 1024 threads. A row that may be longer is walked along in steps of the block, "
    "`for (i = threadIdx.x; i < n; i += blockDim.x)`, or shared among blocks along a second axis of the grid. "
    "Without that everything beyond the limit is left as it was allocated.",
    bad=(
        CODE,
        CODE.replace("std::min(inner, 1024)", "inner < 1024 ? inner : 1024"),
        CODE.replace(
            "int threads = std::min(inner, 1024);", "dim3 threads(inner > 512 ? 512 : inner);"
        ),
    ),
    good=(
        LOOP,
        CODE.replace("std::min(inner, 1024)", "inner"),
        CODE.replace("int i = threadIdx.x;", "int i = blockIdx.y * blockDim.x + threadIdx.x;"),
    ),
    detects=("text", "evidence"),
    guards="Kernels that name blockDim, the grid's second axis, or shared memory are left alone: their threads may go on or "
    "work together. A warning until results were wrong.",
    fix="Adds blocks along the grid's second axis, and numbers the elements along it.",
    check=check,
)
