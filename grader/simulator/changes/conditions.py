"""Changes with one more condition: a comparison may need a second one beside it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from grader.records.changes import Operation, SecondCondition
from grader.simulator.changes.change import Change, Edits, spare
from grader.simulator.changes.register_kinds import base
from grader.simulator.changes.sites import Sites
from grader.simulator.changes.values import Value
from grader.simulator.ptx.code import Instruction, Operand

MOST = 6
"""Most values tried on each side."""
_MORE = (("and.pred", "lt"), ("or.pred", "ge"))
"""Conjunctions of the conditions: `and` for one that admits, `or` for one that excludes."""
_PRIOR = 2


class Conditions(Sites):
    """Changes of integer comparisons by a second comparison."""

    def changes(self) -> Iterator[Change]:
        """Yield changes of each comparison."""
        told: set[object] = set()
        for at, instruction in enumerate(self._code):
            site = self._values.site(at)
            if self._compares(instruction) and self._values.lines[at] and site not in told:
                told.add(site)
                places = [n for n, _ in enumerate(self._code) if self._values.site(n) == site]
                yield from self._second_conditions(places)

    def _compares(self, instruction: Instruction) -> bool:
        result = instruction.operands[:1]
        alone = bool(result) and result[0].kind == "reg"
        return alone and base(instruction) == "setp" and instruction.opcode.endswith(("s32", "u32"))

    def _second_conditions(self, places: list[int]) -> Iterator[Change]:
        for left, right in product(self._near(places[0]), repeat=2):
            if left.key != right.key and not (left.simple and right.argument is None):
                for joined, compared in _MORE:
                    yield self._join_conditions(places, left, right, joined, compared)

    def _near(self, at: int) -> list[Value]:
        """Return the named integers before a place, those of the nearest lines first."""
        line = self._values.lines[at]
        found = [
            one
            for one in self._values.all
            if one.kind == "int" and one.first < at and one.key in self._values.named
        ]
        return sorted(found, key=lambda one: (self._distance(one, line), -one.first))[:MOST]

    def _join_conditions(
        self, places: list[int], left: Value, right: Value, joined: str, compared: str
    ) -> Change:
        edits: Edits = tuple(
            (at, self._with_second(at, left, right, joined, compared, n, len(places)))
            for n, at in enumerate(places)
        )
        told = self._values.name_of
        second = SecondCondition(told(left), Operation(compared, "s32", values=(told(right),)))
        return self._change(places[0], second, edits, _PRIOR, right)

    def _with_second(
        self, at: int, left: Value, right: Value, joined: str, compared: str, n: int, of: int
    ) -> tuple[Instruction, ...]:
        """Return a comparison and the second one, joined in its result."""
        old, second = self._code[at], spare(self._values.function, 1)
        sides = (Operand("reg", v.registers[n * len(v.registers) // of]) for v in (left, right))
        more = Instruction(f"setp.{compared}.s32", (second, *sides), 0, old.location)
        result = old.operands[0]
        both = Instruction(joined, (result, result, second), 0, old.location)
        return (old, more, both)
