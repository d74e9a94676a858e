"""Reduction trees that begin late or end early: they may explain a wrong result, but are no error in a right one."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.source.analysis.reduction_steps import EXCHANGES, Halving, halving_loops
from grader.source.cpp import Binary, Call, Declare, Expr, Node, Number, walk
from grader.source.units import Unit

SHORT_STARTS = frozenset({1, 2, 4, 8})
"""Wrong start offsets of a shuffle over a whole warp."""


@dataclass(frozen=True)
class Suspect:
    """A suspicious place, with a clause on it."""

    node: Node
    text: str


def suspects(unit: Unit) -> Iterator[Suspect]:
    """Yield the reduction trees that leave a step out."""
    for halving in halving_loops(unit):
        if not halving.doubling:
            yield from _short(halving)


def _short(halving: Halving) -> Iterator[Suspect]:
    """Yield loops that start below half or stop above one."""
    start, test = halving.start, halving.loop.test
    part = _part(start)
    if start is not None and part:
        text = f"the loop starts at {part}: the values beyond twice that offset are never taken in"
        yield Suspect(start.node, text)
    if (
        any(_exchanging_calls(halving))
        and isinstance(start, Number)
        and start.value in SHORT_STARTS
        and not _few(halving)
    ):
        text = f"the shuffle starts at offset {start.value}: each lane takes in {2 * start.value} of the warp's 32 values"
        yield Suspect(start.node, text)
    match test:
        case Binary(op=">", right=Number(value=1)) | Binary(op=">=", right=Number(value=2)):
            text = f"the loop ends before `{halving.counter}` is 1: the last step is left out"
            yield Suspect(test.node, text)


def _few(halving: Halving) -> bool:
    """Whether twice the first offset covers all active lanes, according to a mask, a bound or an array in the kernel."""
    lanes = 2 * int(halving.start.value) if isinstance(halving.start, Number) else 0
    masks = (call.args[0] for call in _exchanging_calls(halving) if call.args)
    if any(isinstance(mask, Number) and int(mask.value) == (1 << lanes) - 1 for mask in masks):
        return True
    parts = list(walk(halving.function.code))
    bounds = (p.right for p in parts if isinstance(p, Binary) and p.op == "<")
    sizes = (size for p in parts if isinstance(p, Declare) for size in p.dims)
    return any(isinstance(n, Number) and n.value == lanes for n in (*bounds, *sizes))


def _exchanging_calls(halving: Halving) -> Iterator[Call]:
    return (p for p in walk(halving.loop.body) if isinstance(p, Call) and p.name in EXCHANGES)


def _part(start: Expr | None) -> str:
    """Return `a quarter` and so on for `x / 4` and `x >> 2`."""
    match start:
        case Binary(op=">>", right=Number(value=2)) | Binary(op="/", right=Number(value=4)):
            return "a quarter"
        case Binary(op=">>", right=Number(value=3)) | Binary(op="/", right=Number(value=8)):
            return "an eighth"
    return ""
