"""Steps of reductions that are odd enough to explain a wrong result, though not to accuse a right one."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.source.analysis.reduction_steps import (
    EXCHANGES,
    Halving,
    array_of,
    halving_loops,
    shuffle_in,
)
from grader.source.cpp import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    If,
    Loop,
    Name,
    Node,
    Number,
    Stmt,
    Subscript,
    Update,
    walk,
)
from grader.source.functions import Function
from grader.source.units import Unit

SHORT_STARTS = frozenset({1, 2, 4, 8})
"""Offsets at which a shuffle over a whole warp doesn't start."""


@dataclass(frozen=True)
class Suspect:
    """A place and what is odd about it."""

    node: Node
    text: str


def suspects(unit: Unit) -> Iterator[Suspect]:
    """Yield what loses values in the device code, the surest first."""
    loops = list(halving_loops(unit))
    for halving in loops:
        yield from _overwritten_step(halving)
    for function in unit.functions:
        if function.runs != "host":
            yield from _overwritten_sum(function)
    for halving in loops:
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
        any(_exchanged(halving))
        and isinstance(start, Number)
        and start.value in SHORT_STARTS
        and not _few(halving)
    ):
        text = f"the shuffle starts at offset {start.value}: each lane takes in {2 * start.value} of the warp's 32 values"
        yield Suspect(start.node, text)
    if isinstance(test, Binary) and isinstance(test.right, Number):
        if (test.op, test.right.value) in {(">", 1), (">=", 2)}:
            text = f"the loop ends before `{halving.counter}` is 1: the last step is left out"
            yield Suspect(test.node, text)


def _few(halving: Halving) -> bool:
    """Whether twice the first offset is all lanes that count: a mask names so many, or a bound or an array in the kernel says so."""
    lanes = 2 * int(halving.start.value) if isinstance(halving.start, Number) else 0
    masks = (call.args[0] for call in _exchanged(halving) if call.args)
    if any(isinstance(mask, Number) and int(mask.value) == (1 << lanes) - 1 for mask in masks):
        return True
    parts = list(walk(halving.function.code))
    bounds = (p.right for p in parts if isinstance(p, Binary) and p.op == "<")
    sizes = (size for p in parts if isinstance(p, Declare) for size in p.dims)
    return any(isinstance(n, Number) and n.value == lanes for n in (*bounds, *sizes))


def _exchanged(halving: Halving) -> Iterator[Call]:
    return (p for p in walk(halving.loop.body) if isinstance(p, Call) and p.name in EXCHANGES)


def _part(start: Expr | None) -> str:
    """Return `a quarter` and so on for `x / 4` and `x >> 2`."""
    if not isinstance(start, Binary) or not isinstance(start.right, Number):
        return ""
    by = int(start.right.value)
    if start.op == ">>":
        by = 1 << by if 0 <= by < 12 else 0
    elif start.op != "/":
        return ""
    return {4: "a quarter", 8: "an eighth"}.get(by, "")


def _overwritten_step(halving: Halving) -> Iterator[Suspect]:
    """Yield steps that put the partner's value in the place of their own, whatever the two are."""
    chosen = _chosen_steps(halving)
    for part in walk(halving.loop.body):
        if not isinstance(part, Assign) or part.op != "=" or any(part is one for one in chosen):
            continue
        partner = part.value
        array = array_of(part.target)
        if isinstance(partner, Call) and shuffle_in(partner) is partner:
            if isinstance(part.target, Name) and _exchanges(partner, part.target.id):
                yield Suspect(part.node, _say_lost(f"`{part.target.id}`"))
        elif array is not None and array_of(partner) == array and _mentions(partner, halving):
            yield Suspect(part.node, _say_lost(f"the cell of `{array}`"))


def _chosen_steps(halving: Halving) -> list[Node]:
    """Return what stands under a test of data: a step that takes the better of two values."""
    made = {p.name for p in walk(halving.loop.body) if isinstance(p, Declare)}
    tests = (p for p in walk(halving.loop.body) if isinstance(p, If))
    return [
        inner
        for test in tests
        if _on_data(test.test) or any(isinstance(p, Name) and p.id in made for p in walk(test.test))
        for inner in walk(test)
    ]


def _say_lost(what: str) -> str:
    return f"each step replaces {what} by its partner's value instead of combining the two"


def _exchanges(call: Call, name: str) -> bool:
    return any(isinstance(arg, Name) and arg.id == name for arg in call.args)


def _mentions(expr: Expr, halving: Halving) -> bool:
    return isinstance(expr, Subscript) and any(
        isinstance(p, Name) and p.id == halving.counter for p in walk(expr.index)
    )


def _overwritten_sum(function: Function) -> Iterator[Suspect]:
    """Yield plain assignments, in a loop, to a number that only counts after the loop."""
    starts = {
        part.name: part
        for part in walk(function.code)
        if isinstance(part, Declare) and isinstance(part.init, Number) and not part.dims
    }
    for loop in walk(function.code):
        if not isinstance(loop, Loop):
            continue
        for part in _plain_assignments(loop.body):
            name = part.target.id if isinstance(part.target, Name) else ""
            start = starts.get(name)
            if start is None or start.node.start_byte > loop.node.start_byte:
                continue
            if _is_sum(function, loop, part, start):
                text = f"`{name}` starts at {_written_start(start)} and is assigned anew in every turn: only the last turn counts"
                yield Suspect(part.node, text)


def _written_start(start: Declare) -> str:
    return f"{start.init.value:g}" if isinstance(start.init, Number) else "a number"


def _plain_assignments(stmt: Stmt) -> Iterator[Assign]:
    for part in walk(stmt):
        if isinstance(part, Assign) and part.op == "=" and isinstance(part.target, Name):
            yield part


def _is_sum(function: Function, loop: Loop, part: Assign, start: Declare) -> bool:
    """Whether the loop computes with data, reads the variable nowhere, and something after does."""
    reads = [
        p
        for p in walk(loop.body)
        if isinstance(p, Name) and p.id == start.name and p is not part.target
    ]
    if any(isinstance(p, Name) and p.id == start.name for p in walk(part.value)):
        return False
    data = any(isinstance(p, Subscript) for p in walk(part.value)) or any(
        isinstance(p, Binary) and p.op == "*" for p in walk(part.value)
    )
    later = any(
        isinstance(p, Name) and p.id == start.name and p.node.start_byte > loop.node.end_byte
        for p in walk(function.code)
    )
    decided = any(
        isinstance(p, If) and any(inner is part for inner in walk(p)) and _on_data(p.test)
        for p in walk(loop.body)
    )
    updated = any(
        isinstance(p, Update) and isinstance(p.target, Name) and p.target.id == start.name
        for p in walk(loop)
    )
    return data and (later or bool(reads)) and not decided and not updated


def _on_data(test: Expr) -> bool:
    return any(isinstance(p, Subscript) for p in walk(test))
