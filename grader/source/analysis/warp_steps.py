"""Warp reductions of a kernel and the use of their results: warps that are not combined, a total in one lane only."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from grader.source import Function, Unit, cpp
from grader.source.analysis.kernel_accesses import ATOMIC, accesses
from grader.source.analysis.reduction_steps import EXCHANGES
from grader.source.constants import fold
from grader.source.definitions import definitions
from grader.source.divergence import depends_on_thread
from grader.source.nodes import around, descendants, names_in, text
from grader.source.statements import enclosing_loops, simple_statement, statement

DEEP = 3
"""Most calls between a kernel and the helper with an exchange."""
OTHER_NUMBERS = re.compile(r"threadIdx\.y|meta_group_rank|warpSize")
"""Other expressions of a warp's index in the block."""


@dataclass(frozen=True, eq=False)
class WarpStep:
    """A place of a kernel where a value is reduced over a warp."""

    unit: Unit
    kernel: Function
    exchange: Node
    call: Node | None
    """The kernel's call of the helper with the exchange."""
    value: str
    """The reduced variable."""

    @property
    def where(self) -> Node:
        """The call of the helper, or the loop around the exchange."""
        return self.call or next(enclosing_loops(self.exchange), self.exchange)

    @property
    def statement(self) -> Node:
        """The loop, or the statement of the call, directly in a block."""
        return statement(self.where)

    @property
    def words(self) -> str:
        """The operation of each step of the reduction."""
        return text(simple_statement(self.exchange)) + text(next(enclosing_loops(self.exchange), None))  # fmt: skip

    @property
    def in_one_lane(self) -> bool:
        """Whether only the first lane has the total afterwards."""
        return "down" in text(self.exchange.child_by_field_name("function"))


def warp_steps(unit: Unit, kernel: Function) -> tuple[WarpStep, ...]:
    """Return the places where a kernel's warps reduce, in the order of the text."""
    found = []
    for call in _calls(kernel):
        helper = unit.function_named(call.name)
        inner = list(_exchanges(unit, helper)) if helper is not None else []
        own = call.node if call.name in EXCHANGES else None
        value = _reduced_value(call.node, in_helper=bool(inner)) if inner or own else None
        if value:
            exchange = inner[-1] if inner else call.node
            found.append(WarpStep(unit, kernel, exchange, call.node if inner else None, value))
    return tuple(found)


def _calls(function: Function) -> Iterator[cpp.Call]:
    return (part for part in cpp.walk(function.code) if isinstance(part, cpp.Call))


def _exchanges(unit: Unit, function: Function, depth: int = 0) -> Iterator[Node]:
    """Yield the exchanges of a helper, and of those that it calls."""
    for call in _calls(function) if function.runs == "device" and depth < DEEP else ():
        helper = unit.function_named(call.name)
        if call.name in EXCHANGES:
            yield call.node
        elif helper is not None:
            yield from _exchanges(unit, helper, depth + 1)


def _reduced_value(call: Node, *, in_helper: bool) -> str:
    """Return the variable that a shuffle, or a call of a helper that shuffles, reduces."""
    if in_helper:
        outer = call.parent
        name = {"assignment_expression": "left", "init_declarator": "declarator"}
        field = name.get(outer.type, "") if outer is not None else ""
        return text(outer.child_by_field_name(field)) if outer is not None and field else ""
    arguments = call.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    value = given[1 if len(given) > 2 else 0] if given else None
    return text(value) if value is not None and value.type == "identifier" else ""


def is_unjoined(steps: Sequence[WarpStep]) -> bool:
    """Whether the warps of a block reduce one row, and nothing combines their results."""
    return bool(steps) and not (_joins(steps[0]) or _has_a_row_each(steps[0]))


def _joins(step: WarpStep) -> bool:
    """Whether the parts are combined in an atomic, or in a shared array that is both stored and read."""
    called = (step.unit.function_named(call.name) for call in _calls(step.kernel))
    helpers = [one for one in called if one is not None and one.runs == "device"]
    inner = [step.unit.function_named(c.name) for one in helpers for c in _calls(one)]
    own = {one.name for one in step.kernel.parameters}
    for function in (step.kernel, *helpers, *filter(None, inner)):
        parts = cpp.walk(function.code)
        stored = [p.target for p in parts if isinstance(p, cpp.Assign) and p.op == "="]
        read = [p for p in parts if isinstance(p, cpp.Subscript) and p not in stored]
        both = {_array(one) for one in stored} & {_array(one) for one in read} - {""}
        atomic = any(call.name.startswith(ATOMIC) for call in _calls(function))
        if atomic or both - (own if function is step.kernel else set()):
            return True
    return False


def _array(expr: cpp.Expr) -> str:
    """Return the array's name of `array[...]`."""
    while isinstance(expr, cpp.Subscript):
        expr = expr.base
        if isinstance(expr, cpp.Name):
            return expr.id
    return ""


def _has_a_row_each(step: WarpStep) -> bool:
    """Whether the index of an access contains the warp's index."""
    names = set[str]().union(*(names_in(one.node) for one in accesses(step.kernel)))
    made = [one for one in definitions(step.kernel.node) if one.is_variable]
    before = set[str]()
    while names != before:
        before = set(names)
        names |= {name for one in made if one.name in before for name in one.used}
    values = [one.value for one in made if one.name in names]
    return any(
        _numbers_warps(step.unit, n) for n in (*values, *(a.node for a in accesses(step.kernel)))
    )


def _numbers_warps(unit: Unit, node: Node) -> bool:
    """Whether an expression divides by the 32 threads of a warp."""
    for one in descendants(node, "binary_expression"):
        operator, by = text(one.child_by_field_name("operator")), one.child_by_field_name("right")
        if (operator, fold(unit, by) if operator in {"/", ">>"} else 0) in {("/", 32), (">>", 5)}:
            return True
    return bool(OTHER_NUMBERS.search(text(node)))


def place_of_own_total(step: WarpStep) -> Node | None:
    """Return the place where every thread uses its own copy of a total that only the first lane has."""
    uses = descendants(step.kernel.node, "identifier") if step.in_one_lane else ()
    made = {one.node.start_byte: one for one in definitions(step.kernel.node)}
    for use in uses:
        if text(use) != step.value or use.start_byte < step.statement.end_byte:
            continue
        own = simple_statement(use)
        first = made.get(own.start_byte)
        anew = first is not None and first.replaces and step.value not in first.used
        if "shfl" in text(own) or (anew and first is not None and first.name == step.value):
            return None
        if not any(map(_keeps_away, around(use))):
            return None if _has_left(step, use) else use
    return None


def _keeps_away(node: Node) -> bool:
    condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
    return condition is not None and depends_on_thread(condition)


def _has_left(step: WarpStep, use: Node) -> bool:
    """Whether other threads have returned before a use."""
    ends = descendants(step.kernel.node, "return_statement")
    return any(
        one.start_byte < use.start_byte and any(map(_keeps_away, around(one))) for one in ends
    )
