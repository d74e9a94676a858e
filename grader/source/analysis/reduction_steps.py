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
    """A loop whose counter is halved (or doubled) in each iteration."""

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
    match loop.step:
        case cpp.Assign(
            op=">>=" | "/=" | "<<=" | "*=" as op, target=cpp.Name(id=name), value=value
        ):
            pass
        case cpp.Assign(
            op="=",
            target=cpp.Name(id=name),
            value=cpp.Binary(op=">>" | "/" | "<<" | "*" as op, left=cpp.Name(id=same), right=value),
        ) if same == name:
            pass
        case _:
            return None
    if not isinstance(value, cpp.Number) or value.value not in {1, 2}:
        return None
    return Halving(loop, name, _start(loop, name), function, op[0] in "<*")


def _start(loop: cpp.Loop, name: str) -> cpp.Expr | None:
    for part in cpp.walk(loop.init) if loop.init is not None else ():
        match part:
            case cpp.Declare(name=found, init=value) if found == name:
                return value
            case cpp.Assign(target=cpp.Name(id=found), value=value) if found == name:
                return value
    return None


def shuffle_in(expr: cpp.Expr) -> cpp.Call | None:
    """Return the down or crosswise shuffle in an expression."""
    for part in cpp.walk(expr):
        if isinstance(part, cpp.Call) and part.name in EXCHANGES:
            return part
    return None


def exchanged_value(call: cpp.Call) -> cpp.Expr | None:
    """Return the value that a shuffle exchanges."""
    index = 0 if call.base is not None or not call.name.endswith("_sync") else 1
    return call.args[index] if len(call.args) > index else None
