"""Values in the masked-off lanes of a Triton block, as far as the text determines them."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from grader.source.analysis.triton import Access, Kernel


@dataclass(frozen=True, eq=False)
class Lane:
    """The value of one lane that a load's mask leaves out."""

    number: float | None
    """None where it is unknown, or undefined (`unset`)."""
    unset: bool = False
    """Whether it comes from a load without `other`, which leaves it undefined."""
    load: Access | None = None
    """The masked load that it comes from; None where no mask is involved."""
    given: ast.expr | None = None
    """The call that set its value: the load, or a `tl.where` after it."""
    lost: ast.stmt | None = None
    """The statement that made a known value unknown."""


PLAIN = Lane(None)
"""A value without a mask."""
UNARY: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {
        "exp": lambda x: math.exp(x) if x < 700 else math.inf,
        "exp2": lambda x: math.exp2(x) if x < 1000 else math.inf,
        "abs": abs,
        "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
        "log": lambda x: math.log(x) if x > 0 else -math.inf,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    }
)
BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
        ast.Eq: operator.eq, ast.NotEq: operator.ne,
    }
)  # fmt: skip
SAME = frozenset({"to", "cast", "expand_dims", "trans", "reshape", "broadcast_to", "view"})
FAR = 1e9
"""Numbers of this size count as infinity: no task has such values, and their negative exponential is 0."""
ONE_FOR_ALL = frozenset({"sum", "max", "min", "argmax", "argmin", "cumsum"})
"""Functions that give all lanes one value, or are handled at their call."""


def lane_of(kernel: Kernel, value: ast.expr, line: int) -> Lane:
    """Return the value of a masked-off lane at a line."""
    return _Reader(kernel).read(value, line)


def constant(value: ast.expr | None) -> float | None:
    """Return the constant value of an expression, including infinities; None for others."""
    words = re.sub(r"^(-?)float\((.*)\)$", r"\1\2", ast.unparse(value)) if value is not None else ""
    try:
        number = float(re.sub("[\"']", "", words))
    except ValueError:
        return None
    return number if abs(number) < FAR else math.copysign(math.inf, number)


@dataclass(frozen=True, eq=False)
class _Reader:
    kernel: Kernel

    def read(self, value: ast.expr, line: int) -> Lane:
        number = constant(value)
        if number is not None:
            return Lane(number)
        match value:
            case ast.Name(id=name):
                return self._name(name, line)
            case ast.BinOp(left=left, op=op, right=right):
                return _join_lanes(self.read(left, line), self.read(right, line), op)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return _apply_function(operator.neg, self.read(inner, line))
            case ast.Subscript(value=inner):
                return self.read(inner, line)
            case ast.Call():
                return self._call(value, line)
        return PLAIN

    def _name(self, name: str, line: int) -> Lane:
        """Return the lane's value of a name after the last assignment before a line, and later additions."""
        result = PLAIN
        for node in self._statements(name, line):
            value = self.read(node.value, node.lineno)
            if isinstance(node, ast.AugAssign):
                result = _join_lanes(result, value, node.op)
                continue
            made = value.number is None and value.load is not None and not value.lost
            loads = self.kernel.language_name(node.value) == "load"
            result = Lane(None, value.unset, value.load, lost=node) if made and not loads else value
        return result

    def _statements(self, name: str, line: int) -> list[ast.Assign | ast.AugAssign]:
        found: list[ast.Assign | ast.AugAssign] = []
        nodes = (n for n in ast.walk(self.kernel.node) if isinstance(n, ast.Assign | ast.AugAssign))
        for node in sorted(nodes, key=lambda one: one.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.lineno < line and any(getattr(one, "id", "") == name for one in targets):
                found = [node] if isinstance(node, ast.Assign) else [*found, node]
        return found

    def _call(self, value: ast.Call, line: int) -> Lane:
        name = self.kernel.language_name(value)
        method = value.func if not name and isinstance(value.func, ast.Attribute) else None
        if method is not None and method.attr in SAME:
            return self.read(method.value, line)
        match name, value.args:
            case "load", _:
                return self._lane_loaded(value)
            case "zeros", _:
                return Lane(0.0)
            case "full", [_, filler, *_]:
                return Lane(constant(filler))
            case "where", [condition, yes, no, *_]:
                return self._lane_chosen(value, condition, self.read(yes, line), self.read(no, line), line)  # fmt: skip
            case _, [inner, *_] if name in SAME:
                return self.read(inner, line)
            case _, [inner, *_] if name in UNARY:
                return _apply_function(UNARY[name], self.read(inner, line))
        if name in ONE_FOR_ALL:
            return PLAIN
        every = [self.read(one, line) for one in value.args]
        masked = next((one for one in every if one.load is not None), PLAIN)
        numbers = [one.number for one in every[:2] if one.number is not None]
        if name in {"maximum", "minimum"} and len(numbers) > 1:
            return replace(masked, number=max(numbers) if name == "maximum" else min(numbers))
        return Lane(None, masked.unset, masked.load)

    def _lane_loaded(self, call: ast.Call) -> Lane:
        access = next((one for one in self.kernel.accesses if one.call is call), None)
        if access is None or access.mask is None:
            return PLAIN
        other = access.arguments.get("other")
        return Lane(constant(other), unset=other is None, load=access, given=call)

    def _lane_chosen(
        self, call: ast.Call, condition: ast.expr, yes: Lane, no: Lane, line: int
    ) -> Lane:
        """Return `tl.where`'s value in a lane where its condition is a mask: its last argument."""
        if yes.number is not None and yes.number == no.number:
            return yes if yes.load else no
        if yes.load is not None:
            parts = set(self.kernel.made_of(call.args[1]))
            loads = [one.mask for one in self.kernel.accesses if one.call in parts and one.mask]
            behind = (name for mask in loads for name in self.kernel.names_behind(mask))
            if _compares(self.kernel, condition, frozenset(behind)):
                return Lane(no.number, load=yes.load, given=call) if no.number is not None else no
        match condition:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in BINARY:
                one, two = self.read(left, line).number, self.read(right, line).number
                if one is not None and two is not None:
                    return yes if BINARY[type(op)](one, two) else no
        return Lane(None, yes.unset, yes.load or no.load)


def _compares(kernel: Kernel, condition: ast.expr, masks: frozenset[str]) -> bool:
    """Whether a condition compares a lane's index with a length, as the mask does."""
    match condition:
        case ast.Compare(ops=[ast.Eq()]):  # picks single lanes
            return True
        case ast.Compare():
            return bool({n.id for n in ast.walk(condition) if isinstance(n, ast.Name)} & masks)
        case ast.Name(id=name):
            given = kernel.assigned.get(name, ())
            return any(_compares(kernel, one, masks) for one in given if not isinstance(one, ast.Name))  # fmt: skip
        case ast.BinOp(left=left, right=right):
            return _compares(kernel, left, masks) or _compares(kernel, right, masks)
        case ast.Subscript(value=inner):
            return _compares(kernel, inner, masks)
    return False


def _apply_function(function: Callable[[float], float], lane: Lane) -> Lane:
    return lane if lane.number is None else replace(lane, number=function(lane.number))


def _join_lanes(one: Lane, two: Lane, op: ast.operator) -> Lane:
    masked = two if two.load and (not one.load or one.number == 0.0) else one
    if isinstance(op, ast.Mult) and math.isinf(two.number or 0.0):
        one, two = two, one
    known = one.number is not None and two.number is not None
    scaled = isinstance(op, ast.Mult | ast.Div) and not known  # by a positive number, as most are
    lasts = (scaled or isinstance(op, ast.Add | ast.Sub)) and math.isinf(one.number or 0.0)
    if lasts or (isinstance(op, ast.Div) and one.number == 0.0):
        return replace(masked, number=one.number)
    if isinstance(op, ast.Mult) and 0.0 in (one.number, two.number):
        return replace(masked, number=0.0)
    if not known:
        return Lane(None, masked.unset, masked.load, lost=masked.lost)
    try:
        number = BINARY[type(op)](one.number, two.number)
    except (KeyError, ArithmeticError):
        number = math.nan
    return replace(masked, number=number)
