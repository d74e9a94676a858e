"""NUM008's fix: GELU's exact form in the place of its tanh approximation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, Unit
from grader.source.analysis.host_code import resolve
from grader.source.code_edits import fix
from grader.source.cpp import Binary, Call, Expr, Name, Number, Subscript, walk
from grader.source.cuda_code import text
from grader.source.functions import Function

TANH = frozenset({"tanh", "tanhf", "__tanhf"})
CUBIC = 0.044715


def is_cubic(part: object) -> TypeGuard[Number]:
    """Whether this is the factor of the cube in GELU's tanh form."""
    return isinstance(part, Number) and abs(float(part.value) - CUBIC) < 1e-6


def exact_form(unit: Unit, function: Function) -> Iterator[Fix]:
    """Put erf in the place of each tanh of `c * (v + 0.044715 * v * v * v)`."""
    edits = []
    for part in walk(function.code):
        if isinstance(part, Call) and part.name in TANH and len(part.args) == 1:
            value = _value(function, part.args[0])
            if value is not None:
                words = text(value.node)
                words = words if isinstance(value, Name | Subscript) else f"({words})"
                exact = f"erff({words} * 0.70710678f)"
                edits.append(unit.edit(part.node.start_byte, part.node.end_byte, exact))
    if edits:
        yield from fix("take GELU's exact form, with erf", edits)


def _value(function: Function, argument: Expr) -> Expr | None:
    """Return v of `c * (v + 0.044715 * v * v * v)` or of `c * v * (1 + 0.044715 * v * v)`."""
    sums = (part for part in _parts(function, argument) if isinstance(part, Binary))
    for one in (part for part in sums if part.op == "+"):
        for value, cube in ((one.left, one.right), (one.right, one.left)):
            if any(is_cubic(part) for part in _parts(function, cube)):
                return _factor(function, cube) if isinstance(value, Number) else value
    return None


def _factor(function: Function, product: Expr) -> Expr | None:
    """Return what is multiplied with the constant: the value, or the value of which it is a power."""
    whole = resolve(function, product)
    if isinstance(whole, Binary) and whole.op == "*":
        return _factor(function, whole.left) or _factor(function, whole.right)
    if isinstance(whole, Call) and whole.name in {"pow", "powf"} and whole.args:
        return whole.args[0]
    return None if isinstance(whole, Number) else product


def _parts(function: Function, expr: Expr) -> Iterator[object]:
    """Yield an expression's parts, those of the variables in it included."""
    for part in walk(expr):
        yield part
        whole = resolve(function, part) if isinstance(part, Name) else part
        if whole is not part:
            yield from walk(whole)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the exact form where the finding is about the factor of the cube."""
    for unit in source.cuda:
        for function in unit.functions:
            cubic = (part for part in walk(function.code) if is_cubic(part))
            if any(unit.place(part.node) == finding.place for part in cubic):
                yield from exact_form(unit, function)


FIX = FixMaker(codes=("NUM008",), propose=propose)
