"""The kernel of a group of operations: its operands, the values of its elements and rows, its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.repair.compose.graph import Node, Ref, UncoveredError
from grader.repair.compose.groups import REDUCED, Group, Grouping, per_row
from grader.repair.compose.pointwise import FORMULAS, c_number

NAMED = ("other", "input", "exponent", "mask", "value")
"""Operands that are given by name."""


@dataclass(frozen=True)
class Value:
    """A value of the kernel: an operand, a formula's, or a reduction's."""

    name: str
    """Its name in the kernel."""
    words: str = ""
    """Its C++ expression; for a reduction the reduced expression, for an operand nothing."""
    uses: tuple[str, ...] = ()
    """Names of the values that it depends on."""
    step: int = 0
    """Number of successive reductions before it is known."""
    per_row: bool = False
    """Whether there is one for each row, not for each element."""
    reduction: str = ""
    """The operation that reduces a row."""

    @property
    def text(self) -> str:
        """The statement of a formula."""
        return f"const float {self.name} = {self.words};"


@dataclass
class Fused:
    """A group's kernel under construction."""

    grouping: Grouping
    group: Group
    operands: list[Ref] = field(default_factory=list)
    numbers: list[Ref] = field(default_factory=list)
    """Numbers that are known at run time alone."""
    values: dict[str, Value] = field(default_factory=dict)
    """By name, each after all that it is made of."""
    names: dict[str, str] = field(default_factory=dict)
    """Name of each node's value in the kernel."""

    def __post_init__(self) -> None:
        for node in self.group.nodes:
            self._add(node)
        if not self.operands:
            raise UncoveredError("an elementwise operation without a tensor")

    @property
    def operations(self) -> list[str]:
        """Its operations, in order."""
        return [node.op for node in self.group.nodes]

    def results(self) -> list[Node]:
        """Return the members that the kernel returns."""
        return self.grouping.results(self.group)

    def value(self, node: Node) -> Value:
        """Return the value of a member."""
        return self.values[self.names[node.name]]

    def _add(self, node: Node) -> None:
        uses: list[str] = []
        reduction = node.op if node.op in REDUCED else ""
        if reduction:
            words = self._operand(Ref(node.inputs[0]), uses)
        else:
            count, formula = FORMULAS[node.op]
            named = (node.kwargs[key] for key in node.kwargs if key in NAMED)
            given = [*node.args, *named][:count]
            if len(given) < count:
                raise UncoveredError(f"{node.op}: an operand is missing")
            words = formula(node, [self._operand(value, uses) for value in given])
        made = (
            one.name
            for one in self.values.values()
            if (one.words, one.reduction) == (words, reduction)
        )
        self.names[node.name] = next(made, "") or self._keep(node, words, uses, reduction)

    def _keep(self, node: Node, words: str, uses: list[str], reduction: str) -> str:
        """Keep a value that is new, and return its name."""
        name = f"{'row' if reduction else 'after'}_{node.op}"
        times = 1 + sum(other == name or other.startswith(f"{name}_") for other in self.values)
        name = f"{name}_{times}" if times > 1 else name
        step = max((self.values[use].step for use in uses), default=0) + bool(reduction)
        row = self.group.reduces and per_row(node.shape)
        self.values[name] = Value(name, words, tuple(uses), step, row, reduction)
        return name

    def _operand(self, value: Any, uses: list[str]) -> str:
        if isinstance(value, bool | int | float):
            return c_number(value) if float(value) >= 0 else f"({c_number(value)})"
        if not isinstance(value, Ref):
            raise UncoveredError("an operand is neither tensor nor number")
        if value.name not in self.names:
            producer = self.grouping.graph.node(value.name)
            if producer.op == "tensor":
                return self._operand(producer.args[0], uses)
            if producer.shape is None:
                return self._number(value)
            name = f"v{len(self.operands)}"
            self.operands.append(value)
            row = self.group.reduces and per_row(producer.shape)
            self.values[name] = Value(name, per_row=row)
            self.names[value.name] = name
        uses.append(self.names[value.name])
        return uses[-1]

    def _number(self, value: Ref) -> str:
        if value not in self.numbers:
            self.numbers.append(value)
        return f"number{self.numbers.index(value)}"
