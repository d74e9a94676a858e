"""Fixes of reductions: complete steps, with the author's own names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.records import Fix
from grader.source.analysis.warp_steps import WarpStep
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_reading import variables
from grader.source.nodes import text
from grader.source.statements import insert_after

FULL = "0xffffffff"


def _combine(step: WarpStep, other: str) -> str:
    """Return the statement that accumulates another value."""
    name = next((one for one in ("max", "min") if one in step.words), "")
    return f"{step.value} = {name}({step.value}, {other});" if name else f"{step.value} += {other};"


def declared_type(function: Node, name: str) -> str:
    """Return a local variable's declared type; `float` where unknown."""
    kinds = (one.type for one in variables(function) if one.name == name)
    kind = next(kinds, "float")
    return "float" if kind == "auto" else kind


def block_reduction(step: WarpStep, *, warps_done: bool) -> str:
    """Return a reduction over the whole block that leaves the result in every thread."""
    kind = declared_type(step.kernel.node, step.value)
    neutral = "-INFINITY" if "max" in step.words else "INFINITY" if "min" in step.words else "0"
    shuffle = f"__shfl_xor_sync({FULL}, {step.value}, reduce_offset)"
    head = "for (int reduce_offset = 16; reduce_offset > 0; reduce_offset >>= 1)"
    loop = f"{head} {_combine(step, shuffle)}"
    lines = [
        f"__shared__ {kind} reduce_part[32];",
        "__syncthreads();",
        f"if (threadIdx.x % 32 == 0) reduce_part[threadIdx.x / 32] = {step.value};",
        "__syncthreads();",
        f"{step.value} = threadIdx.x % 32 < (blockDim.x + 31) / 32",
        f"    ? reduce_part[threadIdx.x % 32] : ({kind})({neutral});",
        loop,
    ]
    return "\n".join(["{", *(lines if warps_done else [loop, *lines]), "}"])


def join_warps(steps: Sequence[WarpStep]) -> Iterator[Fix]:
    """Yield the ways to combine the warps' parts, at each place where they are not combined."""
    pairs = [(step.unit, step.statement, step) for step in steps]
    whole = [replace_node(u, at, block_reduction(step, warps_done=False)) for u, at, step in pairs]
    yield from fix(
        "reduce over the whole block, warps first, and give every thread the total", whole
    )
    after = [insert_after(u, at, block_reduction(step, warps_done=True)) for u, at, step in pairs]
    yield from fix("add the parts of all warps together through shared memory", after)


def broadcast(step: WarpStep) -> Iterator[Fix]:
    """Yield the ways to give every thread the result that one thread holds."""
    function = step.exchange.child_by_field_name("function")
    if function is not None and "shfl_down" in text(function):
        words = text(function).replace("shfl_down", "shfl_xor")
        edits = [replace_node(step.unit, function, words)]
        yield from fix("exchange crosswise, so that every lane gets the warp's total", edits)
    lines = (
        f"__shared__ {declared_type(step.kernel.node, step.value)} reduce_total;\n"
        f"if (threadIdx.x == 0) reduce_total = {step.value};\n"
        f"__syncthreads();\n{step.value} = reduce_total;"
    )
    edits = [insert_after(step.unit, step.statement, lines)]
    yield from fix("let thread 0 hand the total to the block through shared memory", edits)
