"""NUM009: an integer division that is always 0 where a fraction is meant."""

from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.source.cpp import Binary, Cast, Declare, Expr, Name, Number, walk
from grader.source.functions import Function
from grader.source.nodes import one_line
from grader.source.scalar_types import type_letter

INTEGERS, REAL = frozenset("iul"), frozenset("fd")
"""Letters of types that hold whole numbers, and of those that hold real ones."""


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for integer `1 / n` as a factor of a real number."""
    for unit in source.cuda:
        for function in unit.functions:
            for part in _in_real(function) if function.runs != "host" else ():
                start, end = part.left.node.start_byte, part.left.node.end_byte
                yield RULE.finding(
                    unit.place(part.node),
                    f"`{one_line(part.node, 40)}` divides two integers: it is 0 for every divisor "
                    "above 1, and so is what it is multiplied with",
                    fixes=fix("divide as float", [unit.edit(start, end, "1.0f")]),
                )


def _in_real(function: Function) -> Iterator[Binary]:
    """Yield `1 / n` where it is a factor of, or the start of, a real number."""
    parts = list(walk(function.code))
    types = {p.name: type_letter(p.kind) for p in function.parameters if not p.is_pointer}
    plain = (p for p in parts if isinstance(p, Declare) and not p.pointer and not p.dims)
    types |= {p.name: type_letter(p.type) for p in plain}
    for part in parts:
        if isinstance(part, Binary) and part.op == "*":
            for one, other in ((part.left, part.right), (part.right, part.left)):
                yield from _unit_fraction(one, types) if _is_real(other, types) else ()
        elif isinstance(part, Declare) and part.init is not None and type_letter(part.type) in REAL:
            yield from _unit_fraction(part.init, types)


def _unit_fraction(expr: Expr, types: dict[str, str]) -> Iterator[Binary]:
    match expr:
        case Binary(op="/", left=Number(value=int(one)), right=right) if one == 1:
            if _is_integer(right, types):
                yield expr


def _is_integer(expr: Expr, types: dict[str, str]) -> bool:
    if isinstance(expr, Cast):
        return type_letter(expr.type) in INTEGERS
    if isinstance(expr, Binary):
        return _is_integer(expr.left, types) and _is_integer(expr.right, types)
    return isinstance(expr, Name) and types.get(expr.id) in INTEGERS


def _is_real(expr: Expr, types: dict[str, str]) -> bool:
    """Whether a factor is a real number, judging by its names; indexed values count as data."""
    if isinstance(expr, Number):
        return isinstance(expr.value, float)
    if isinstance(expr, Name):
        return types.get(expr.id) in REAL
    return not _is_integer(expr, types)


RULE = rule_of(__file__, check)
