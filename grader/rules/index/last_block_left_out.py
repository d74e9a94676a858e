"""IDX012: a Triton grid or loop is rounded down, and the last, partial block is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.records import Context, Edit, Evidence, Finding
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.triton import Kernel, Launch, kernels, launches
from grader.source.code_edits import fix, replace


@dataclass(frozen=True, eq=False)
class Rounded:
    """A count of blocks that leaves a remainder out."""

    node: ast.expr
    kernel: Kernel
    said: str
    whole: str
    """What stands there where nothing is left out."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the quotients by a block's length in grids, and at the ends of loops that step by one."""
    proof = (*_unwritten(context), *wrong_results(context))
    found = [one for launch in launches(source) for one in _grids(source, launch)]
    found += [one for kernel in kernels(source) for one in _loops(source, kernel)]
    for one in found:
        edit: Edit = replace(source, one.node, one.whole)
        yield RULE.finding(
            source.place(one.node),
            one.said,
            severity="error" if proof else "warning",
            confidence="proven" if proof and _unwritten(context) else "likely",
            evidence=_unwritten(context),
            fixes=fix("count the last, partial block", [edit]),
            kernels=(one.kernel.name,),
            cause="unwritten" if _unwritten(context) else "",
            root_cause=True,
            conditions="a size that isn't a multiple of the block",
        )


def _unwritten(context: Context) -> tuple[Evidence, ...]:
    return tuple(
        item
        for item in context.evidence
        if item.code.replace("_", "-") in {"unwritten-output", "unwritten"}
    )


def _grids(source: Source, launch: Launch) -> Iterator[Rounded]:
    blocks = _lengths(source, launch)
    for node in ast.walk(launch.grid):
        if _is_floor(node) and isinstance(node, ast.BinOp):
            length = source.text(node.right)
            if length in blocks and not _rounds_up(source, node):
                size = source.text(node.left)
                yield Rounded(
                    node,
                    launch.kernel,
                    f"the grid is rounded down: where `{size}` isn't a multiple of {length}, the last, partial "
                    f"block has no program of `{launch.kernel.name}`",
                    f"triton.cdiv({size}, {length})",
                )


def _lengths(source: Source, launch: Launch) -> set[str]:
    """Return how the lengths of a launch's blocks are written: names, numbers, `meta["BLOCK"]`."""
    kernel = launch.kernel
    sized = kernel.constants
    given = {source.text(value) for name, value in launch.arguments.items() if name in sized}
    quotes = {f"meta[{q}{n}{q}]" for n in sized for q in "\"'"}
    return given | quotes | {text.replace("meta", "META") for text in quotes}


def _rounds_up(source: Source, node: ast.BinOp) -> bool:
    """Whether the block's length is added before the division: `(n + BLOCK - 1) // BLOCK`, or something is added after."""
    length = source.text(node.right)
    return isinstance(node.left, ast.BinOp) and length in {
        source.text(part) for part in ast.walk(node.left) if isinstance(part, ast.expr)
    }


def _loops(source: Source, kernel: Kernel) -> Iterator[Rounded]:
    for loop in ast.walk(kernel.node):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and _loads(kernel, loop):
            arguments = loop.iter.args
            end = arguments[1] if len(arguments) > 1 else arguments[0] if arguments else None
            step = source.text(arguments[2]) if len(arguments) > 2 else ""
            whole = _whole(source, end, step) if end is not None else ""
            if end is not None and whole:
                yield Rounded(
                    end,
                    kernel,
                    f"the loop ends at `{source.text(end)}`, rounded down: what is left of a size that isn't a "
                    "multiple of the step is never read",
                    whole,
                )


def _whole(source: Source, end: ast.expr, step: str) -> str:
    """Return the end that leaves nothing out; empty where nothing is left out."""
    if _is_floor(end) and isinstance(end, ast.BinOp) and not step and not _rounds_up(source, end):
        return f"tl.cdiv({source.text(end.left)}, {source.text(end.right)})"
    if isinstance(end, ast.BinOp) and step:
        parts = [part for part in ast.walk(end) if isinstance(part, ast.expr)]
        if isinstance(end.op, ast.Mult) and _is_floor(end.left) and isinstance(end.left, ast.BinOp):
            return source.text(end.left.left) if source.text(end.right) == step else ""
        less = any(
            isinstance(part, ast.BinOp)
            and isinstance(part.op, ast.Sub)
            and source.text(part.right) == step
            for part in parts
        )
        if less:
            inner = (
                end.left if isinstance(end.op, ast.Add) and isinstance(end.left, ast.BinOp) else end
            )
            return source.text(inner.left) if isinstance(inner, ast.BinOp) else ""
    return ""


def _loads(kernel: Kernel, loop: ast.For) -> bool:
    inside = {id(node) for node in ast.walk(loop)}
    return any(id(one.call) in inside for one in kernel.accesses)


def _is_floor(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)


_CODE = """
import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, tl.maximum(x, 0.0), mask=offs < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(n // 1024,)](x, y, n, BLOCK=1024)
        return y
"""
RULE = Rule(
    code="IDX012",
    name="last-block-left-out",
    severity="error",
    summary="A Triton grid or loop counts whole blocks only, and the last, partial one is left out.",
    why="`n // BLOCK` programs cover whole blocks. What is left over has no program, and the mask that would have "
    "guarded it guards nothing. `triton.cdiv(n, BLOCK)` rounds up; a loop `range(0, n, BLOCK)` takes the rest with "
    "its masks.",
    bad=_CODE,
    good=_CODE.replace("n // 1024", "triton.cdiv(n, 1024)"),
    detects=("text", "evidence"),
    guards="Only quotients by the length of a block of that launch, and ends of loops by their own step. Where all "
    "results are right and written it is a warning.",
    fix="Rounds up with `cdiv`, or lets the loop run to the end.",
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)
