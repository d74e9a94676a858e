"""The loops of reductions in a kernel's text: halving trees and shuffles."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.source import cpp
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

    loop: cpp.Loop
    counter: str
    start: cpp.Expr | None
    function: Function
    doubling: bool


def halving_loops(unit: Unit) -> Iterator[Halving]:
    """Yield the loops over powers of two in device code."""
    for function in unit.functions:
        if function.runs == "host":
            continue
        for part in cpp.walk(function.code):
            if isinstance(part, cpp.Loop):
                found = _halving_loop(part, function)
                if found is not None:
                    yield found


def _halving_loop(loop: cpp.Loop, function: Function) -> Halving | None:
    step = loop.step
    if not isinstance(step, cpp.Assign) or not isinstance(step.target, cpp.Name):
        return None
    name = step.target.id
    doubling = step.op in {"<<=", "*="}
    value: cpp.Expr | None = step.value if step.op in {">>=", "/=", "<<=", "*="} else None
    if (
        step.op == "="
        and isinstance(step.value, cpp.Binary)
        and step.value.op in {">>", "/", "<<", "*"}
    ):
        left = step.value.left
        value = step.value.right if isinstance(left, cpp.Name) and left.id == name else None
        doubling = step.value.op in {"<<", "*"}
    if not isinstance(value, cpp.Number) or value.value not in {1, 2}:
        return None
    return Halving(loop, name, _start(loop, name), function, doubling)


def _start(loop: cpp.Loop, name: str) -> cpp.Expr | None:
    for part in cpp.walk(loop.init) if loop.init is not None else ():
        if isinstance(part, cpp.Declare) and part.name == name:
            return part.init
        if (
            isinstance(part, cpp.Assign)
            and isinstance(part.target, cpp.Name)
            and part.target.id == name
        ):
            return part.value
    return None


def shuffle_in(expr: cpp.Expr) -> cpp.Call | None:
    """Return the down or crosswise shuffle in an expression."""
    for part in cpp.walk(expr):
        if isinstance(part, cpp.Call) and part.name in EXCHANGES:
            return part
    return None


def exchanged_value(call: cpp.Call) -> cpp.Expr | None:
    """Return what a shuffle exchanges."""
    index = 0 if call.base is not None or not call.name.endswith("_sync") else 1
    return call.args[index] if len(call.args) > index else None
