"""Two steps that follow each other, done in the other order: brackets that are missing, a scale that comes too late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.records.changes import EarlierStep
from grader.simulator.changes.change import Change, Edits, spare
from grader.simulator.changes.forms import operation
from grader.simulator.changes.register_kinds import base
from grader.simulator.changes.sites import Sites
from grader.simulator.ptx.code import Instruction, Operand

DEEP = 3
"""Steps that another one may be moved before."""
_ONE = frozenset(("sqrt", "rsqrt", "rcp", "abs", "neg", "ex2", "lg2"))
_TWO = frozenset(("add", "sub", "mul", "div", "max", "min", "rem", "shl"))
_SUMS, _PRODUCTS = frozenset(("add", "sub")), frozenset(("mul", "div"))
_TYPES = ("f32", "s32", "u32", "b32")
_PRIOR = 1


@dataclass(frozen=True)
class _Path:
    """Which operand of each step leads on to the step before it, from the last step on."""

    steps: tuple[int, ...]
    """Positions of the steps that are done again: the later one is moved before all of them."""
    operands: tuple[int, ...]
    """Of each of these, which operand the moved step takes or leads to."""
    both: bool = False
    """Whether it takes both operands of the first of them."""


class ExchangedSteps(Sites):
    """Changes of a step that takes what another one made: it is done before that one, with one of its operands or both."""

    def changes(self) -> Iterator[Change]:
        """Yield changes of each place of the source."""
        told: set[object] = set()
        for at, instruction in enumerate(self._code):
            movable = base(instruction) in _ONE | _TWO and self._is_step(instruction)
            site = self._values.site(at) if movable else None
            if site is None or site in told or not self._values.is_of_source(at):
                continue
            told.add(site)
            places = [n for n, _ in enumerate(self._code) if self._values.site(n) == site]
            yield from self._of_places(places)

    def _is_step(self, instruction: Instruction) -> bool:
        name = base(instruction)
        arity = 1 if name in _ONE else 2 if name in _TWO else 3 if name == "fma" else 0
        known = instruction.opcode.rpartition(".")[2] in _TYPES and not instruction.guard
        return bool(arity) and known and len(instruction.operands) == arity + 1

    def _of_places(self, places: list[int]) -> Iterator[Change]:
        for side in range(1, len(self._code[places[0]].operands)):
            for path in self._paths(places[0], side):
                made = [self._move_step(at, side, path) for at in places]
                if all(made):
                    edits: Edits = tuple((at, one) for at, one in zip(places, made, strict=True))
                    yield self._named_change(places[0], path, edits)

    def _named_change(self, at: int, path: _Path, edits: Edits) -> Change:
        moved, first = (operation(self._code[n].opcode) for n in (at, path.steps[-1]))
        first = replace(first, name="add") if first.name == "fma" else first  # a product stays one
        prior = min(_PRIOR + len(path.steps) - 1, 3)
        return self._change(at, EarlierStep(moved, first, path.operands, path.both), edits, prior)

    def _paths(self, at: int, side: int) -> Iterator[_Path]:
        """Yield the ways back from one operand of a step through the steps that made it."""
        begin: tuple[tuple[int, ...], tuple[int, ...], int | None] = (), (), self._made_by(at, side)
        waiting = [begin]
        while waiting:
            steps, operands, here = waiting.pop(0)
            if here is None or len(steps) == DEEP:
                continue
            count = len(self._code[here].operands) - 1
            for n in range(1, count + 1):
                path = _Path((*steps, here), (*operands, n))
                if not self._is_same(at, path):
                    yield path
                waiting.append((path.steps, path.operands, self._made_by(here, n)))
            if count == 2 and len(self._code[at].operands) == 2:
                yield _Path((*steps, here), (*operands, 1), both=True)

    def _is_same(self, at: int, path: _Path) -> bool:
        """Whether the order of the steps is nothing to their result, or a factor is moved to the other one of a product."""
        moved, *names = (base(self._code[one]) for one in (at, *path.steps))
        other = names[-1] == "fma" and path.operands[-1] == 2 and moved in _PRODUCTS
        return other or any({moved, *names} <= one for one in (_SUMS, _PRODUCTS, {"max"}, {"min"}))

    def _made_by(self, at: int, side: int) -> int | None:
        """Return the only step that makes an operand, where it is one of those that can be exchanged."""
        operand = self._code[at].operands[side]
        set_at = self._values.set_at(operand.value) if operand.kind == "reg" else []
        if len(set_at) != 1 or set_at[0] >= at or not self._is_step(self._code[set_at[0]]):
            return None
        alike = self._code[set_at[0]].opcode.rpartition(".")[2] == self._code[at].opcode.rpartition(".")[2]  # fmt: skip
        return set_at[0] if alike else None

    def _move_step(self, at: int, side: int, path: _Path) -> tuple[Instruction, ...]:
        """Return a step and those before it in their new order; nothing where a copy of the place is made otherwise."""
        steps = self._alike(at, side, path)
        if steps is None:
            return ()
        own, first = self._code[at], self._code[steps[-1]]
        new = [spare(self._values.function, 32, n) for n in (0, 1)]
        sides = (1, 2) if path.both else (path.operands[-1],)
        made = [
            _into(_with_side(own, side, first.operands[n]), into, own.location)
            for n, into in zip(sides, new, strict=False)
        ]
        again = first
        for n, into in zip(sides, new, strict=False):
            again = _with_side(again, n, into)
        result = own.operands[0]
        for step, operand in zip(reversed(steps[:-1]), reversed(path.operands[:-1]), strict=True):
            made.append(_into(again, new[0], own.location))
            again = _with_side(self._code[step], operand, new[0])
        return (*made, _into(again, result, own.location))

    def _alike(self, at: int, side: int, path: _Path) -> tuple[int, ...] | None:
        """Return the steps of one copy of a place that stand for those of the first."""
        found: list[int] = []
        here = self._made_by(at, side)
        for step, operand in zip(path.steps, path.operands, strict=True):
            if here is None or self._code[here].opcode != self._code[step].opcode:
                return None
            found.append(here)
            here = self._made_by(here, operand)
        return tuple(found)


def _with_side(instruction: Instruction, side: int, operand: Operand) -> Instruction:
    operands = instruction.operands
    return replace(instruction, operands=(*operands[:side], operand, *operands[side + 1 :]))


def _into(instruction: Instruction, register: Operand, location: int) -> Instruction:
    return replace(instruction, operands=(register, *instruction.operands[1:]), location=location)
