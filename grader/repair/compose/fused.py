"""The kernel of a group of operations: its operands, the statements of its elements and rows, its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.repair.compose.graph import Node, Ref, UncoveredError
from grader.repair.compose.groups import REDUCED, Group, Grouping, per_row
from grader.repair.compose.pointwise import FORMULAS, c_number

BLANKS = {"sum": "0.0f", "mean": "0.0f", "amax": "-INFINITY", "amin": "INFINITY"}
"""What a row's reduction begins with."""


@dataclass(frozen=True)
class Line:
    """A value of the kernel."""

    node: Node
    name: str
    """What the kernel calls it."""
    words: str
    """The C++ expression that gives it; of a reduction, what is reduced."""
    uses: tuple[str, ...]
    """Names of the members that it is made of."""
    step: int
    """How many reductions, one after the other, come before it is known."""

    @property
    def text(self) -> str:
        """The statement."""
        return f"const float {self.name} = {self.words};"


@dataclass(frozen=True)
class Pass:
    """One way through a row: what is known of it before, what each element gives, what is reduced of that."""

    row: tuple[str, ...]
    element: tuple[str, ...]
    reductions: tuple[tuple[str, str, str, str], ...] = ()
    """Name, operation, first value and the reduced expression of each."""


@dataclass
class Fused:
    """A group's kernel in the making."""

    grouping: Grouping
    group: Group
    operands: list[Ref] = field(default_factory=list)
    numbers: list[Ref] = field(default_factory=list)
    """Numbers that are known at run time alone."""
    lines: dict[str, Line] = field(default_factory=dict)
    """Of each member by the node's name, in order."""

    def __post_init__(self) -> None:
        for node in self.group.nodes:
            self._add(node)
        if not self.operands:
            raise UncoveredError("an elementwise operation without a tensor")

    @property
    def operations(self) -> list[str]:
        """What it does, in order."""
        return [line.node.op for line in self.lines.values()]

    def passes(self) -> list[Pass]:
        """Return the ways through a row: each reduction needs one, the results need the last."""
        reduced = [line for line in self.lines.values() if line.node.op in REDUCED]
        last = max((line.step for line in reduced), default=0)
        found = [self._pass(k, [one for one in reduced if one.step == k + 1]) for k in range(last)]
        results = self._elements([self.lines[node.name] for node in self.results()])
        return [*found, Pass(self._row(last), results)]

    def results(self) -> list[Node]:
        """Return the members that the kernel returns."""
        return self.grouping.results(self.group)

    def is_per_row(self, node: Node) -> bool:
        """Whether a value is one for each row here."""
        return self.group.reduces and per_row(node.shape)

    def _pass(self, step: int, ends: list[Line]) -> Pass:
        reductions = ((one.name, one.node.op, BLANKS[one.node.op], one.words) for one in ends)
        return Pass(self._row(step), self._elements(ends), tuple(reductions))

    def _row(self, step: int) -> tuple[str, ...]:
        """Return the statements of rows' values that are known after so many reductions."""
        lines = (one for one in self.lines.values() if one.node.op not in REDUCED)
        return tuple(one.text for one in lines if one.step == step and self.is_per_row(one.node))

    def _elements(self, ends: list[Line]) -> tuple[str, ...]:
        """Return the statements of elements' values that lead to some lines."""
        found: set[str] = set()
        waiting = [name for end in ends for name in (end.node.name, *end.uses)]
        while waiting:
            name = waiting.pop()
            if name not in found and not self.is_per_row(self.lines[name].node):
                found.add(name)
                waiting += self.lines[name].uses
        return tuple(line.text for name, line in self.lines.items() if name in found)

    def _add(self, node: Node) -> None:
        uses: list[str] = []
        if node.op in REDUCED:
            words = self._operand(Ref(node.inputs[0]), uses)
        else:
            count, formula = FORMULAS[node.op]
            named = ("other", "input", "exponent", "mask", "value")
            given = [*node.args, *(node.kwargs[key] for key in node.kwargs if key in named)][:count]
            if len(given) < count:
                raise UncoveredError(f"{node.op}: an operand is missing")
            words = formula(node, [self._operand(value, uses) for value in given])
        times = sum(op == node.op for op in self.operations) + 1
        name = f"{'row' if node.op in REDUCED else 'after'}_{node.op}{f'_{times}' if times > 1 else ''}"
        before = max((self.lines[use].step for use in uses), default=0)
        step = before + (node.op in REDUCED)
        self.lines[node.name] = Line(node, name, words, tuple(uses), step)

    def _operand(self, value: Any, uses: list[str]) -> str:
        if isinstance(value, bool | int | float):
            return c_number(value) if float(value) >= 0 else f"({c_number(value)})"
        if not isinstance(value, Ref):
            raise UncoveredError("an operand is neither tensor nor number")
        if value.name in self.lines:
            uses.append(value.name)
            return self.lines[value.name].name
        producer = self.grouping.graph.node(value.name)
        if producer.op == "tensor":
            return self._operand(producer.args[0], uses)
        known, name = (self.numbers, "number") if producer.shape is None else (self.operands, "v")
        if value not in known:
            known.append(value)
        return f"{name}{known.index(value)}"
