"""The changes of a function: of comparisons, operators, constants, operands and conditions, and of single values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from grader.simulator.changes.carried import carried_changes
from grader.simulator.changes.change import Change, Edits, Kind, spare
from grader.simulator.changes.forms import (
    FLOAT_OPERATORS,
    HALVES,
    INT_OPERATORS,
    NUMBERS,
    PLAIN,
    SELDOM,
    SUBJECT,
    Form,
    Step,
    around_float,
    float_bits,
    other_forms,
    other_opcodes,
    shown,
)
from grader.simulator.changes.values import Path, Value, Values, base, split
from grader.simulator.ptx.code import Code, Function, Instruction, Operand

MOST_SIBLINGS = 10
"""Values that are tried in the place of another."""
MOST_FACTORS = 8
MOST_INTS = 12
LIKELY = 3
"""Siblings that are more often meant than the others."""
Site = tuple[int, Path]
"""Where a value is read: the instruction's position, and the operand's place in it."""


def changes_of(
    program: int, code: Code, function: Function, numbers: Sequence[float] = ()
) -> Iterator[Change]:
    """Yield the changes of a function; `numbers` are those that its task knows beside the usual ones."""
    values = Values(code, function)
    maker = _Maker(program, values, code.places, (*NUMBERS, *numbers))
    carried = carried_changes(program, values, code.places)
    known: set[Edits] = set()
    for change in chain(carried, maker.instructions(), maker.operands(), maker.around()):
        if change.edits not in known:
            known.add(change.edits)
            yield change


class _Maker:
    def __init__(
        self,
        program: int,
        values: Values,
        places: Sequence[tuple[str, int]],
        numbers: Sequence[float],
    ) -> None:
        self._program, self._values = program, values
        self._code = values.function.instructions
        self._own = _constants_of(self._code, "f32")
        self._numbers = tuple(dict.fromkeys((*map(float_bits, numbers), *self._own)))
        self._ints_there = _constants_of(self._code, "int")[:MOST_FACTORS]
        self._places_of = places

    def _change(
        self, at: int, kind: Kind, before: str, after: str, edits: Edits, prior: int = 0
    ) -> Change:
        function = self._values.function.number
        file, line = self._places_of[self._code[self._values.place_of(at)].location]
        return Change(file, line, kind, before, after, self._program, function, edits, prior)

    # Changes of instructions.

    def instructions(self) -> Iterator[Change]:
        """Yield changes of opcodes, constants and conditions."""
        for places in self._places().values():
            yield from self._opcodes(places)
            yield from self._constants(places)
            yield from self._conditions(places)

    def _places(self) -> dict[object, list[int]]:
        found: dict[object, list[int]] = defaultdict(list)
        for at, instruction in enumerate(self._code):
            if self._values.is_of_source(at) or base(instruction) == "mov":
                found[self._values.site(at)].append(at)
        return found

    def _opcodes(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        for opcode, kind in other_opcodes(first):
            edits: Edits = tuple((at, (replace(self._code[at], opcode=opcode),)) for at in places)
            yield self._change(places[0], kind, first.opcode, opcode, edits)
        for name, form in other_forms(first, spare(self._values.function, 32)):
            edits = tuple((at, _form_of(self._code[at], form)) for at in places)
            yield self._change(places[0], "operator", first.opcode, name, edits)

    def _constants(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        operands, gives = split(first)
        for n, operand in enumerate(operands[gives:], gives):
            for bits in self._other_constants(first, operand):
                new = replace(operand, value=bits)
                edits = tuple((at, (_with(self._code[at], (n,), new),)) for at in places)
                prior = self._prior_of(operand, bits)
                yield self._change(places[0], "constant", shown(operand), shown(new), edits, prior)

    def _prior_of(self, operand: Operand, bits: int) -> int:
        """Return how seldom a number should be another: those of a compiler of blocks are mostly its own."""
        if operand.kind != "f32":
            return 2 if self._values.of_blocks else 0
        return int(bits not in self._own and bits & 0x7FFFFFFF not in PLAIN)

    def _other_constants(self, instruction: Instruction, operand: Operand) -> Iterator[int]:
        if operand.kind == "f32":
            negated = operand.value ^ 0x80000000
            yield from (b for b in dict.fromkeys((negated, *self._numbers)) if b != operand.value)
        elif operand.kind == "int" and base(instruction) not in ("bar", "shfl", "ld", "st", "cvt"):
            value = operand.value - (1 << 64) * (operand.value >> 63)
            near = (value + 1, value - 1, 2 * value, value // 2, 0, 1, 32)
            for other in dict.fromkeys((*near, *self._ints_there)):
                if other != value:
                    yield other

    def _conditions(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        if first.guard:
            always = tuple((at, (replace(self._code[at], guard=0),)) for at in places)
            yield self._change(places[0], "guard", base(first), "always", always)
            yield self._change(
                places[0], "guard", base(first), "never", tuple((at, ()) for at in places)
            )
        if base(first) == "selp":
            for n in (1, 2):
                edits = tuple((at, (_moved(self._code[at], n),)) for at in places)
                yield self._change(places[0], "guard", "selp", f"always {n}", edits)

    # Changes of operands.

    def _uses(self) -> Iterator[tuple[Value, list[Site]]]:
        """Yield where a line reads a value: everywhere on it, and each place by itself."""
        lines: dict[object, list[Site]] = defaultdict(list)
        sites: dict[object, list[Site]] = defaultdict(list)
        for at, read in enumerate(self._values.read):
            for path, leaf in read:
                value = self._values.of.get(leaf.value) if leaf.kind == "reg" else None
                if value and self._is_of_source(at, value) and value.kind != "truth":
                    lines[self._values.lines[at], value.key].append((at, path))
                    sites[self._values.site(at), path, value.key].append((at, path))
        known = set()
        for places in (*lines.values(), *sites.values()):
            if tuple(places) not in known:
                known.add(tuple(places))
                at, path = places[0]
                yield self._values.of[_leaf(self._code[at], path).value], places

    def _is_of_source(self, at: int, value: Value) -> bool:
        """Whether the source could say what is read; what spreads a block over threads reads no arguments."""
        argument = value.argument is not None and bool(self._values.lines[at])
        return argument or self._values.is_of_source(at)

    def operands(self) -> Iterator[Change]:
        """Yield changes of a value for another of its kind."""
        for value, places in self._uses():
            for n, other in enumerate(self._siblings(value, places)[:MOST_SIBLINGS]):
                edits = self._exchanged(value, other, places)
                copied = base(self._code[places[0][0]]) == "mov"  # no expression of the source
                seldom = n // LIKELY if not self._values.of_blocks else int(n >= LIKELY)
                prior = 2 if copied else min(seldom, 2)
                names = self._values.title(value), self._values.title(other)
                yield self._change(places[0][0], "operand", *names, edits, prior)

    def _siblings(self, value: Value, places: list[Site]) -> list[Value]:
        """Return values that could stand in the place of one, the likeliest first."""
        line, last = self._values.lines[places[0][0]], places[-1][0]
        found = [v for v in self._values.all if v.kind == value.kind and v.key != value.key]
        found = [
            v for v in found if v.first < last and (v.line == line or v.key in self._values.named)
        ]
        found += [v for v in self._values.unread if v.kind == value.kind]
        return sorted(found, key=lambda v: (*self._unlike(value, v, line), -v.first))

    def _unlike(self, value: Value, other: Value, line: int) -> tuple[bool, int, bool]:
        """Return how seldom one stands for the other: arguments that follow each other are exchanged most often."""
        if other.unread:
            return False, 0, False
        beside = None not in (value.argument, other.argument)
        follows = beside and abs((value.argument or 0) - (other.argument or 0)) == 1
        return not follows, self._distance(other, line), not other.simple

    def _distance(self, value: Value, line: int) -> int:
        """Return how far from a line the nearest one stands that reads a value or sets it."""
        lines = self._values.read_in.get(value.key, set()) | (
            {value.line} if not value.simple else set()
        )
        return min((abs(line - one) for one in lines if one), default=1000)

    def _exchanged(self, value: Value, other: Value, places: list[Site]) -> Edits:
        """Return the edits that put each copy of another value in the place of its copy of this one."""
        edits: dict[int, Instruction] = {}
        for at, path in places:
            old = edits.get(at, self._code[at])
            leaf = _leaf(old, path)
            nth = value.registers.index(leaf.value) * len(other.registers) // len(value.registers)
            edits[at] = _with(old, path, replace(leaf, value=other.registers[nth]))
        changed: dict[int, tuple[Instruction, ...]] = {at: (new,) for at, new in edits.items()}
        if other.unread:
            changed[other.first] = (
                *other.unread,
                *changed.get(other.first, (self._code[other.first],)),
            )
        return tuple((at, changed[at]) for at in sorted(changed))

    # What could be missing around a value.

    def around(self) -> Iterator[Change]:
        """Yield changes of a value by one more operator, the latest places first."""
        for value, places in sorted(self._uses(), key=lambda use: -use[1][0][0]):
            if value.kind == "float" and base(self._code[places[0][0]]) == "mov":
                yield from self._around_with_others(value, places)
            elif value.kind == "float":
                yield from self._around_float(value, places)
            elif value.kind == "int" and base(self._code[places[0][0]]) != "mov":
                yield from self._around_int(value, places)

    def _around_float(self, value: Value, places: list[Site]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        for name, steps in around_float(f32):
            yield self._wrapped(value, places, name, steps)
        for bits in dict.fromkeys((*HALVES, *self._own[:MOST_FACTORS])):
            number = Operand("f32", bits)
            scaled: Step = ("mul.f32", (f32, SUBJECT, number))
            yield self._wrapped(value, places, f"mul {shown(number)}", (scaled,))
        yield from self._around_with_others(value, places)
        for other in self._ints(places):
            if not other.name.startswith(("%tid", "%ctaid")):
                yield from self._scaled(value, places, other)

    def _around_with_others(self, value: Value, places: list[Site]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        others = [one for one in self._siblings(value, places) if not one.unread]
        for other in others[:MOST_FACTORS]:
            for opcode in FLOAT_OPERATORS[:4]:
                steps = ((opcode, (f32, SUBJECT, other)),)
                title = self._values.title(other)
                yield self._wrapped(value, places, f"{opcode} {title}", steps)

    def _scaled(self, value: Value, places: list[Site], other: Value) -> Iterator[Change]:
        f32, temporary = (spare(self._values.function, 32, n) for n in (0, 1))
        for opcode in ("mul.f32", "div.rn.f32"):
            steps = (
                ("cvt.rn.f32.s32", (temporary, other)),
                (opcode, (f32, SUBJECT, temporary)),
            )
            yield self._wrapped(value, places, f"{opcode} {other.name}", steps)

    def _around_int(self, value: Value, places: list[Site]) -> Iterator[Change]:
        s32 = spare(self._values.function, 32)
        for number in (1, -1):
            steps: tuple[Step, ...] = (("add.s32", (s32, SUBJECT, Operand("int", number))),)
            yield self._wrapped(value, places, f"add {number}", steps)
        for other in self._ints(places):
            for opcode in INT_OPERATORS[:5]:
                steps = ((opcode, (s32, SUBJECT, other)),)
                yield self._wrapped(value, places, f"{opcode} {other.name}", steps)

    def _ints(self, places: list[Site]) -> list[Value]:
        last = places[-1][0]
        found = [
            v
            for v in self._values.all
            if v.kind == "int" and v.first < last and v.key in self._values.named
        ]
        found.sort(key=lambda v: (not v.simple, -v.line))
        return list({v.name.partition("#")[0] if v.simple else v.name: v for v in found}.values())[
            :MOST_INTS
        ]

    def _copy(self, value: Value, other: Value, register: int) -> int:
        nth = value.registers.index(register) if register in value.registers else 0
        return other.registers[nth * len(other.registers) // len(value.registers)]

    def _wrapped(
        self, value: Value, places: list[Site], name: str, steps: Sequence[Step]
    ) -> Change:
        """Return the change that puts what steps make of a value in its place."""
        edits: dict[int, tuple[Instruction, ...]] = {}
        for at, path in places:
            *before, old = edits.get(at, (self._code[at],))
            register = _leaf(self._code[at], path).value
            made = [self._step(value, register, old, step) for step in steps]
            edits[at] = (*(before or made), _with(old, path, made[-1].operands[0]))
        changed = tuple((at, edits[at]) for at in sorted(edits))
        prior = 1 + (" line" in name or name.startswith(SELDOM))
        prior += self._values.of_blocks and value.kind == "int"
        title = self._values.title(value)
        return self._change(places[0][0], "around", title, name, changed, prior)

    def _step(self, value: Value, register: int, like: Instruction, step: Step) -> Instruction:
        opcode, given = step
        operands = tuple(
            Operand("reg", self._copy(value, one, register))
            if isinstance(one, Value)
            else Operand("reg", register)
            if one is SUBJECT
            else one
            for one in given
        )
        return Instruction(opcode, operands, 0, like.location)


def _form_of(instruction: Instruction, form: Form) -> tuple[Instruction, ...]:
    """Return the instructions that an instruction becomes in another form."""
    return tuple(
        replace(
            instruction,
            opcode=opcode or instruction.opcode,
            operands=tuple(instruction.operands[o] if isinstance(o, int) else o for o in operands),
        )
        for opcode, operands in form
    )


def _leaf(instruction: Instruction, path: Path) -> Operand:
    operand = instruction.operands[path[0]]
    for n in path[1:]:
        operand = operand.items[n]
    return operand


def _with(instruction: Instruction, path: Path, new: Operand) -> Instruction:
    operands = instruction.operands
    changed = _replaced(operands[path[0]], path[1:], new)
    return replace(instruction, operands=(*operands[: path[0]], changed, *operands[path[0] + 1 :]))


def _replaced(operand: Operand, path: Path, new: Operand) -> Operand:
    if not path:
        return new
    n = path[0]
    inner = _replaced(operand.items[n], path[1:], new)
    return replace(operand, items=(*operand.items[:n], inner, *operand.items[n + 1 :]))


def _moved(instruction: Instruction, source: int) -> Instruction:
    operands = (instruction.operands[0], instruction.operands[source])
    return replace(
        instruction, opcode=f"mov.{instruction.opcode.rpartition('.')[2]}", operands=operands
    )


def _constants_of(code: Sequence[Instruction], kind: str) -> list[int]:
    """Return the constants of a kind that a function's code has, in the order of the code."""
    found = (
        o.value
        for i in code
        if base(i) not in ("shfl", "bar")
        for o in i.operands
        if o.kind == kind
    )
    return list(dict.fromkeys(found))
