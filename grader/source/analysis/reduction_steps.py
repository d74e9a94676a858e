"""The loops of reductions in a kernel's text: halving trees and shuffles."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.source.cpp import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    Loop,
    Name,
    Number,
    Subscript,
    walk,
)
from grader.source.functions import Function
from grader.source.units import Unit

EXCHANGES = (
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__shfl_down",
    "__shfl_xor",
    "shfl_down",
    "shfl_xor",
)


@dataclass(frozen=True)
class Halving:
    """A loop whose counter is halved (or doubled) in each turn."""

    loop: Loop
    counter: str
    start: Expr | None
    function: Function
    doubling: bool


def halving_loops(unit: Unit) -> Iterator[Halving]:
    """Yield the loops over powers of two in device code."""
    for function in unit.functions:
        if function.runs == "host":
            continue
        for part in walk(function.code):
            if isinstance(part, Loop):
                found = _halving_loop(part, function)
                if found is not None:
                    yield found


def _halving_loop(loop: Loop, function: Function) -> Halving | None:
    step = loop.step
    if not isinstance(step, Assign) or not isinstance(step.target, Name):
        return None
    name = step.target.id
    doubling = step.op in {"<<=", "*="}
    value: Expr | None = step.value if step.op in {">>=", "/=", "<<=", "*="} else None
    if (
        step.op == "="
        and isinstance(step.value, Binary)
        and step.value.op in {">>", "/", "<<", "*"}
    ):
        left = step.value.left
        value = step.value.right if isinstance(left, Name) and left.id == name else None
        doubling = step.value.op in {"<<", "*"}
    if not isinstance(value, Number) or value.value not in {1, 2}:
        return None
    return Halving(loop, name, _start(loop, name), function, doubling)


def _start(loop: Loop, name: str) -> Expr | None:
    for part in walk(loop.init) if loop.init is not None else ():
        if isinstance(part, Declare) and part.name == name:
            return part.init
        if isinstance(part, Assign) and isinstance(part.target, Name) and part.target.id == name:
            return part.value
    return None


def shuffle_in(expr: Expr) -> Call | None:
    """Return the down or crosswise shuffle in an expression."""
    for part in walk(expr):
        if isinstance(part, Call) and part.name in EXCHANGES:
            return part
    return None


def exchanged_value(call: Call) -> Expr | None:
    """Return what a shuffle exchanges."""
    index = 0 if call.base is not None or not call.name.endswith("_sync") else 1
    return call.args[index] if len(call.args) > index else None


def array_of(expr: Expr) -> str | None:
    """Return the array's name of `array[...]`."""
    while isinstance(expr, Subscript):
        expr = expr.base
        if isinstance(expr, Name):
            return expr.id
    return None
