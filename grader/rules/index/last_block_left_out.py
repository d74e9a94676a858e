"""IDX012: a Triton grid or loop is rounded down, and the last, partial block is left out."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from grader.records import Context, Finding
from grader.records.observed import wrong_results
from grader.rules.page_file import read_page
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
    codes = {"unwritten-output", "unwritten"}
    unwritten = [item for item in context.evidence if item.code.replace("_", "-") in codes]
    wrong = bool(unwritten or wrong_results(context))
    found = [one for launch in launches(source) for one in _grids(source, launch)]
    found += [one for kernel in kernels(source) for one in _loops(source, kernel)]
    for one in found:
        yield RULE.finding(
            source.place(one.node),
            one.said,
            severity="error" if wrong else "warning",
            evidence=unwritten,
            fixes=fix("count the last, partial block", [replace(source, one.node, one.whole)]),
            kernels=(one.kernel.name,),
            cause="unwritten" if unwritten else "",
            root_cause=True,
            conditions="a size that isn't a multiple of the block",
        )


def _grids(source: Source, launch: Launch) -> Iterator[Rounded]:
    """Yield the sizes that a grid divides by a block's length: a name, a number, `meta["BLOCK"]`."""
    sized = launch.kernel.constants
    blocks = {source.text(value) for name, value in launch.arguments.items() if name in sized}
    blocks |= {f"{m}[{q}{n}{q}]" for m in ("meta", "META") for n in sized for q in "\"'"}
    for node in ast.walk(launch.grid):
        if _rounds_down(node, source) and source.text(node.right) in blocks:
            size, length = source.text(node.left), source.text(node.right)
            yield Rounded(
                node,
                launch.kernel,
                f"the grid is rounded down: where `{size}` isn't a multiple of {length}, the last, partial "
                f"block has no program of `{launch.kernel.name}`",
                f"triton.cdiv({size}, {length})",
            )


def _rounds_down(node: ast.AST, source: Source) -> TypeGuard[ast.BinOp]:
    """Whether it is a quotient before which nothing of its divisor is added, as `(n + BLOCK - 1) // BLOCK` does."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return False
    parts = (part for part in ast.walk(node.left) if isinstance(part, ast.expr))
    inside = source.text(node.right) in {source.text(part) for part in parts}
    return not (isinstance(node.left, ast.BinOp) and inside)


def _loops(source: Source, kernel: Kernel) -> Iterator[Rounded]:
    accesses = {id(one.call) for one in kernel.accesses}
    for loop in ast.walk(kernel.node):
        called = loop.iter if isinstance(loop, ast.For) else None
        arguments = called.args if isinstance(called, ast.Call) else []
        if not arguments or not any(id(node) in accesses for node in ast.walk(loop)):
            continue
        end = arguments[1] if len(arguments) > 1 else arguments[0]
        step = source.text(arguments[2]) if len(arguments) > 2 else ""
        whole = _whole(source, end, step)
        if whole:
            yield Rounded(
                end,
                kernel,
                f"the loop ends at `{source.text(end)}`, rounded down: what is left of a size that isn't a "
                "multiple of the step is never read",
                whole,
            )


def _whole(source: Source, end: ast.expr, step: str) -> str:
    """Return the end that leaves nothing out; empty where nothing is left out."""
    text = source.text
    match end:
        case ast.BinOp() if not step and _rounds_down(end, source):
            return f"tl.cdiv({text(end.left)}, {text(end.right)})"
        case ast.BinOp(left=ast.BinOp(op=ast.FloorDiv()) as inner, op=ast.Mult()) if step:
            return text(inner.left) if text(end.right) == step else ""
        case ast.BinOp() if step:
            parts = (
                p for p in ast.walk(end) if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Sub)
            )
            plus = isinstance(end.op, ast.Add) and isinstance(end.left, ast.BinOp)
            rest: ast.expr = end.left if plus else end
            less = any(text(part.right) == step for part in parts)
            return text(rest.left) if less and isinstance(rest, ast.BinOp) else ""
    return ""


RULE = Rule(
    **read_page(__file__),
    detects=("text", "evidence"),
    check=check,
    predicts="wrong-values",
    languages=("triton",),
)
