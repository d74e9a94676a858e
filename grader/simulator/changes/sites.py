"""Places of a function where the source may be wrong, and the alternatives there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.records.changes import Changed
from grader.simulator.changes.change import Change, Edits
from grader.simulator.changes.register_kinds import Path, base
from grader.simulator.changes.values import Value, Values
from grader.simulator.ptx.code import Instruction, Operand

MOST_FACTORS = 8
MOST_INTS = 12
MOST_CONDITIONS = 4
Site = tuple[int, Path]
"""A use of a value: the instruction's position, and the operand's place in it."""


class Sites:
    """A function's places for changes."""

    def __init__(self, program: int, values: Values, places: Sequence[tuple[str, int]]) -> None:
        self._program, self._values, self._places_of = program, values, places
        self._code = values.function.instructions
        self._own = constants_of(self._code, "f32")

    def _change(
        self,
        at: int,
        changed: Changed,
        edits: Edits,
        prior: int = 0,
        other: Value | None = None,
    ) -> Change:
        """Return a change at a position; `other` is the value that it brings there."""
        function = self._values.function.number
        # A value missing in an inlined function can only come from its call.
        given = other is not None and other.argument is not None
        places_of = self._values.callers if given else self._places_of
        file, line = places_of[self._code[self._values.place_of(at)].location]
        return Change(file, line, changed, self._program, function, edits, prior)

    def _uses(self) -> Iterator[tuple[Value, list[Site]]]:
        """Yield the uses of a value on a line: all together, each place alone, and each of the places that say the same."""
        lines: dict[object, list[Site]] = defaultdict(list)
        sites: dict[object, list[Site]] = defaultdict(list)
        single: dict[object, list[Site]] = defaultdict(list)
        said: Counter[object] = Counter()
        for at, read in enumerate(self._values.read):
            text = (self._values.lines[at], self._code[at].opcode, self._code[at].operands[1:])
            said[text] += 1
            for path, leaf in read:
                value = self._values.of.get(leaf.value) if leaf.kind == "reg" else None
                if value and self._is_of_source(at, value) and value.kind != "truth":
                    lines[self._values.lines[at], value.key].append((at, path))
                    sites[self._values.site(at), path, value.key].append((at, path))
                    single[self._values.site(at), path, value.key, said[text]].append((at, path))
        known = set()
        for places in (*lines.values(), *sites.values(), *single.values()):
            if tuple(places) not in known:
                known.add(tuple(places))
                at, path = places[0]
                yield self._values.of[leaf_of(self._code[at], path).value], places

    def _is_of_source(self, at: int, value: Value) -> bool:
        """Whether an operand is from the source; instructions that distribute a block over threads read no arguments."""
        argument = value.argument is not None and bool(self._values.lines[at])
        return argument or self._values.is_of_source(at)

    def _siblings(self, value: Value, places: list[Site]) -> list[Value]:
        """Return values that could replace one, the likeliest first."""
        line, last = self._values.lines[places[0][0]], places[-1][0]
        found = [v for v in self._values.all if v.kind == value.kind and v.key != value.key]
        found = [
            v for v in found if v.first < last and (v.line == line or v.key in self._values.named)
        ]
        found += [v for v in self._values.unread if v.kind == value.kind]
        return sorted(found, key=lambda v: (*self._unlike(value, v, line), -v.first))

    def _unlike(self, value: Value, other: Value, line: int) -> tuple[bool, int, bool]:
        """Return the prior of confusing two values: adjacent arguments are exchanged most often."""
        if other.unread:
            return False, 0, False
        beside = None not in (value.argument, other.argument)
        follows = beside and abs((value.argument or 0) - (other.argument or 0)) == 1
        return not follows, self._distance(other, line), not other.simple

    def _distance(self, value: Value, line: int) -> int:
        """Return the distance from a line to the nearest one that reads or sets a value."""
        lines = self._values.read_in.get(value.key, set()) | (
            {value.line} if not value.simple else set()
        )
        return min((abs(line - one) for one in lines if one), default=1000)

    def _conditions_before(self, places: list[Site]) -> list[Value]:
        """Return the conditions that are known at a place, those of the nearest lines first."""
        line, last = self._values.lines[places[0][0]], places[0][0]
        found = [v for v in self._values.all if v.kind == "truth" and v.first < last and v.line]
        return sorted(found, key=lambda v: (abs(v.line - line), -v.first))[:MOST_CONDITIONS]

    def _ints(self, places: list[Site]) -> list[Value]:
        last = places[-1][0]
        found = [
            v
            for v in self._values.all
            if v.kind == "int" and v.first < last and v.key in self._values.named
        ]
        found.sort(key=lambda v: (not v.simple, -v.line))
        return list({replace(v.name, nth=1) if v.simple else v.name: v for v in found}.values())[
            :MOST_INTS
        ]


def leaf_of(instruction: Instruction, path: Path) -> Operand:
    """Return the operand at a place of an instruction."""
    operand = instruction.operands[path[0]]
    for n in path[1:]:
        operand = operand.items[n]
    return operand


def with_operand(instruction: Instruction, path: Path, new: Operand) -> Instruction:
    """Return an instruction with another operand at a place."""
    operands = instruction.operands
    changed = _replace_leaf(operands[path[0]], path[1:], new)
    return replace(instruction, operands=(*operands[: path[0]], changed, *operands[path[0] + 1 :]))


def _replace_leaf(operand: Operand, path: Path, new: Operand) -> Operand:
    if not path:
        return new
    n = path[0]
    inner = _replace_leaf(operand.items[n], path[1:], new)
    return replace(operand, items=(*operand.items[:n], inner, *operand.items[n + 1 :]))


def constants_of(code: Sequence[Instruction], kind: str) -> list[int]:
    """Return the constants of a kind that a function's code has, in the order of the code."""
    found = (
        o.value
        for i in code
        if base(i) not in ("shfl", "bar")
        for o in i.operands
        if o.kind == kind
    )
    return list(dict.fromkeys(found))
