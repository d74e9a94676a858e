"""What a block of a Triton kernel holds in lanes that a mask leaves out, as far as the text tells it."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.source.analysis.triton import Access, Kernel


@dataclass(frozen=True, eq=False)
class Lane:
    """The value of one lane that a load's mask leaves out."""

    number: float | None
    """None where it depends on what the text doesn't tell, or on nothing at all (`unset`)."""
    unset: bool = False
    """Whether it comes from a load without `other`, which leaves it undefined."""
    load: Access | None = None
    """The masked load that it comes from; None where no mask is involved."""
    given: ast.expr | None = None
    """What gave it its number: the load, or a `tl.where` after it."""
    lost: ast.stmt | None = None
    """The statement that made a known value one that depends on something."""


PLAIN = Lane(None)
"""A value that no mask has a part in."""
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
COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = MappingProxyType(
    {
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
)
SAME = frozenset({"to", "cast", "expand_dims", "trans", "reshape", "broadcast_to", "view"})
FAR = 1e9
"""From here on a number is as good as infinity: no value of a task comes near it, and its exponential is 0."""
MASKED_FALSE = 2
"""Which argument of `tl.where` is taken where the condition is false."""


def lane_of(kernel: Kernel, value: ast.expr, line: int) -> Lane:
    """Return what a masked-off lane of a value holds at a line."""
    return _Reader(kernel).read(value, line)


def constant(value: ast.expr | None) -> float | None:
    """Return the number that an expression is, infinities included and what is as good as one; None for others."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return float(value.value) if value.value < FAR else math.inf
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = constant(value.operand)
        return None if inner is None else -inner
    if isinstance(value, ast.Call) and value.args and isinstance(value.args[0], ast.Constant):
        called = value.func.id if isinstance(value.func, ast.Name) else ""
        if called == "float":
            try:
                return float(str(value.args[0].value))
            except ValueError:
                return None
    return None


@dataclass(frozen=True, eq=False)
class _Reader:
    kernel: Kernel

    def read(self, value: ast.expr, line: int) -> Lane:
        number = constant(value)
        if number is not None:
            return Lane(number)
        if isinstance(value, ast.Name):
            return self._name(value.id, line)
        if isinstance(value, ast.BinOp):
            return self._binary(value, line)
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            inner = self.read(value.operand, line)
            return inner if inner.number is None else _with(inner, -inner.number)
        if isinstance(value, ast.Subscript):
            return self.read(value.value, line)
        return self._call(value, line) if isinstance(value, ast.Call) else PLAIN

    def _name(self, name: str, line: int) -> Lane:
        """Return what the last assignments before a line leave in a name."""
        result, found = PLAIN, False
        for node in self._statements(name, line):
            if isinstance(node, ast.AugAssign):
                value = self.read(node.value, node.lineno)
                result = _join_lanes(result, value, node.op) if found else value
            elif isinstance(node, ast.Assign):
                value = self.read(node.value, node.lineno)
                became = value.number is None and value.load is not None and not value.lost
                made = became and not _is_load(self.kernel, node.value)
                result = Lane(None, value.unset, value.load, lost=node) if made else value
                found = True
        return result

    def _statements(self, name: str, line: int) -> list[ast.Assign | ast.AugAssign]:
        """Return the last plain assignment of a name before a line, and what is added to it after that."""
        found: list[ast.Assign | ast.AugAssign] = []
        nodes = (n for n in ast.walk(self.kernel.node) if isinstance(n, ast.Assign | ast.AugAssign))
        for node in sorted(nodes, key=lambda one: one.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.lineno < line and any(
                isinstance(t, ast.Name) and t.id == name for t in targets
            ):
                found = [node] if isinstance(node, ast.Assign) else [*found, node]
        return found

    def _binary(self, value: ast.BinOp, line: int) -> Lane:
        return _join_lanes(self.read(value.left, line), self.read(value.right, line), value.op)

    def _call(self, value: ast.Call, line: int) -> Lane:
        name = self.kernel.language_name(value)
        if name == "load":
            return self._lane_loaded(value)
        if name == "zeros":
            return Lane(0.0)
        if name == "full" and len(value.args) > 1:
            return Lane(constant(value.args[1]))
        if name == "where" and len(value.args) > MASKED_FALSE:
            return self._lane_chosen(value, line)
        if name in UNARY and value.args:
            inner = self.read(value.args[0], line)
            return inner if inner.number is None else _with(inner, UNARY[name](inner.number))
        method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        if not name and method in SAME and isinstance(value.func, ast.Attribute):
            return self.read(value.func.value, line)
        if name in SAME and value.args:
            return self.read(value.args[0], line)
        if name in {"maximum", "minimum"} and len(value.args) > 1:
            return self._extreme(value, line, max if name == "maximum" else min)
        if name in {"sum", "max", "min", "argmax", "argmin", "cumsum"}:
            return PLAIN  # one value for all lanes, or looked at where it is called
        every = [self.read(one, line) for one in value.args]
        masked = next((one for one in every if one.load is not None), None)
        return Lane(None, masked.unset, masked.load) if masked else PLAIN

    def _lane_loaded(self, call: ast.Call) -> Lane:
        access = next((one for one in self.kernel.accesses if one.call is call), None)
        if access is None or access.mask is None:
            return PLAIN
        other = access.arguments.get("other")
        return Lane(constant(other), unset=other is None, load=access, given=call)

    def _lane_chosen(self, call: ast.Call, line: int) -> Lane:
        """Return what `tl.where` gives where its condition is a mask: its last argument."""
        yes, no = self.read(call.args[1], line), self.read(call.args[MASKED_FALSE], line)
        if yes.number is not None and yes.number == no.number:
            return yes if yes.load else no
        if yes.load is not None and yes.load.mask is not None:
            masks = self.kernel.names_behind(yes.load.mask)
            if masks & self.kernel.names_behind(call.args[0]) and _compares(
                self.kernel, call.args[0], masks
            ):
                return Lane(no.number, load=yes.load, given=call) if no.number is not None else no
        held = self._holds(call.args[0], line)
        if held is not None:
            return yes if held else no
        return Lane(None, yes.unset, yes.load or no.load)

    def _holds(self, condition: ast.expr, line: int) -> bool | None:
        """Return whether a comparison holds in the lane; None where that isn't told."""
        if not (isinstance(condition, ast.Compare) and len(condition.ops) == 1):
            return None
        one = self.read(condition.left, line).number
        two = self.read(condition.comparators[0], line).number
        if one is None or two is None:
            return None
        return (
            COMPARED[type(condition.ops[0])](one, two)
            if type(condition.ops[0]) in COMPARED
            else None
        )

    def _extreme(self, call: ast.Call, line: int, pick: Callable[[float, float], float]) -> Lane:
        one, two = (self.read(arg, line) for arg in call.args[:2])
        masked = one if one.load else two
        if one.number is not None and two.number is not None:
            return _with(masked, pick(one.number, two.number))
        return Lane(None, masked.unset, masked.load)


def _compares(kernel: Kernel, condition: ast.expr, masks: frozenset[str]) -> bool:
    """Whether a condition compares what the mask compares: a lane's index with a length."""
    if isinstance(condition, ast.Compare):
        return bool({n.id for n in ast.walk(condition) if isinstance(n, ast.Name)} & masks)
    if isinstance(condition, ast.Name):
        given = kernel.assigned.get(condition.id, ())
        return any(_compares(kernel, one, masks) for one in given if not isinstance(one, ast.Name))
    if isinstance(condition, ast.BinOp | ast.Subscript):
        parts = (
            [condition.left, condition.right]
            if isinstance(condition, ast.BinOp)
            else [condition.value]
        )
        return any(_compares(kernel, one, masks) for one in parts)
    return False


def _is_load(kernel: Kernel, value: ast.expr) -> bool:
    return kernel.language_name(value) == "load"


def _with(lane: Lane, number: float) -> Lane:
    return Lane(number, lane.unset, lane.load, lane.given, lane.lost)


def _join_lanes(one: Lane, two: Lane, op: ast.operator) -> Lane:
    masked = two if two.load and (not one.load or one.number == 0.0) else one
    if isinstance(op, ast.Mult) and 0.0 in (one.number, two.number):
        return _with(masked, 0.0)
    if isinstance(op, ast.Div) and one.number == 0.0:
        return _with(masked, 0.0)
    if isinstance(op, ast.Add | ast.Sub) and one.number is not None and math.isinf(one.number):
        return _with(masked, one.number)
    if one.number is not None and two.number is not None:
        return _with(masked, _count_lanes(one.number, two.number, op))
    return Lane(None, masked.unset, masked.load, lost=masked.lost)


def _count_lanes(one: float, two: float, op: ast.operator) -> float:
    try:
        if isinstance(op, ast.Add):
            return one + two
        if isinstance(op, ast.Sub):
            return one - two
        if isinstance(op, ast.Mult):
            return one * two
        return one / two if isinstance(op, ast.Div) else math.nan
    except (ZeroDivisionError, OverflowError):
        return math.nan
