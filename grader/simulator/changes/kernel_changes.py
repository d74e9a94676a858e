"""The changes of a function: of comparisons, operators, constants, operands and conditions, and of single values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, permutations
from typing import Final

from grader.records.changes import (
    FixedGuard,
    OtherComparison,
    OtherConstant,
    OtherDivisor,
    OtherOperand,
    OtherOperator,
    Settled,
)
from grader.simulator.changes.around import Around
from grader.simulator.changes.carried import carried_changes
from grader.simulator.changes.change import Change, Edits, spare
from grader.simulator.changes.conditions import Conditions
from grader.simulator.changes.everywhere import changes_everywhere
from grader.simulator.changes.exchanged_steps import ExchangedSteps
from grader.simulator.changes.forms import (
    NUMBERS,
    PLAIN,
    Form,
    are_akin,
    float_bits,
    operation,
    other_forms,
    other_opcodes,
    show_constant,
)
from grader.simulator.changes.register_kinds import base, split
from grader.simulator.changes.sites import (
    MOST_FACTORS,
    Site,
    Sites,
    constants_of,
    leaf_of,
    with_operand,
)
from grader.simulator.changes.together import changes_together
from grader.simulator.changes.values import Value, Values
from grader.simulator.ptx.code import Code, Function, Instruction, Operand

MOST_SIBLINGS = 10
"""Most values tried in place of another."""
LIKELY = 3
"""Number of siblings that are likelier than the others."""
MOST_SIZES = 6
"""Most sizes to build quotients from."""
NO_NUMBERS = frozenset({"bar", "shfl", "ld", "st", "cvt"})
"""Instructions whose integer operands are modes."""
SIDES: Final[tuple[Settled, Settled]] = ("always the first", "always the second")
NESTED = 2
"""Largest prior of both for combining two changes."""


def changes_of(
    program: int, code: Code, function: Function, numbers: Sequence[float] = ()
) -> Iterator[Change]:
    """Yield the changes of a function; `numbers` are the task's, beside the usual ones."""
    values = Values(code, function)
    changed = _Changed(program, values, code.places, (*NUMBERS, *numbers))
    around = Around(program, values, code.places)
    carried = carried_changes(program, values, code.places)
    conditions = Conditions(program, values, code.places)
    known: dict[Edits, Change] = {}
    ways = (
        changed.instructions(),
        changed.operands(),
        around.changes(),
        around.made_changes(),
        conditions.changes(),
        ExchangedSteps(program, values, code.places).changes(),
    )
    for change in chain(carried, *ways):
        if change.edits not in known:
            known[change.edits] = change
            yield change
    single = [*known.values()]
    yield from changes_everywhere(single)
    yield from changes_together(single, function.instructions, NESTED)


class _Changed(Sites):
    def __init__(
        self,
        program: int,
        values: Values,
        places: Sequence[tuple[str, int]],
        numbers: Sequence[float],
    ) -> None:
        super().__init__(program, values, places)
        self._numbers = tuple(dict.fromkeys((*map(float_bits, numbers), *self._own)))
        self._ints_there = constants_of(self._code, "int")[:MOST_FACTORS]

    # Changes of instructions.

    def instructions(self) -> Iterator[Change]:
        """Yield changes of opcodes, constants and conditions."""
        for places in self._places().values():
            yield from self._opcodes(places)
            yield from self._quotients(places)
            yield from self._constants(places)
            yield from self._conditions(places)

    def _places(self) -> dict[object, list[int]]:
        found: dict[object, list[int]] = defaultdict(list)
        for at, instruction in enumerate(self._code):
            if self._values.is_of_source(at) or base(instruction) == "mov":
                found[self._values.site(at), self._fills(instruction)].append(at)
        return found

    def _opcodes(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        own, compares = operation(first.opcode), base(first) == "setp"
        for opcode in other_opcodes(first):
            edits: Edits = tuple((at, (replace(self._code[at], opcode=opcode),)) for at in places)
            seldom = 0 if compares or are_akin(first.opcode, opcode) else 2
            other = (OtherComparison if compares else OtherOperator)(own, operation(opcode))
            yield self._change(places[0], other, edits, seldom)
        for part, form in other_forms(first, spare(self._values.function, 32)):
            edits = tuple((at, _form_of(self._code[at], form)) for at in places)
            prior = int(not first.opcode.endswith("f32"))
            yield self._change(places[0], OtherOperator(own, part), edits, prior)

    def _quotients(self, places: list[int]) -> Iterator[Change]:
        """Yield changes of an index's divisor to a quotient of two sizes, as for shared heads."""
        first, divisor = self._code[places[0]], spare(self._values.function, 32)
        if first.opcode not in ("div.s32", "rem.s32", "div.u32", "rem.u32"):
            return
        sizes = [one for one in self._ints([(places[0], ())]) if one.argument is not None]
        for left, right in permutations(sizes[:MOST_SIZES], 2):
            of = (Operand("reg", one.registers[0]) for one in (left, right))
            share = Instruction("div.s32", (divisor, *of), 0, first.location)
            names = left.name, right.name
            for opcode in ("div.s32", "rem.s32"):
                edits = tuple(
                    (at, (share, _divide_by(self._code[at], opcode, divisor))) for at in places
                )
                quotient = OtherDivisor(operation(first.opcode), operation(opcode, values=names))
                yield self._change(places[0], quotient, edits, 1)

    def _constants(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        operands, gives = split(first)
        for n, operand in enumerate(operands[gives:], gives):
            for bits in self._other_constants(first, operand):
                new = replace(operand, value=bits)
                edits = tuple((at, (with_operand(self._code[at], (n,), new),)) for at in places)
                prior = self._prior_of(operand, bits)
                other = OtherConstant(show_constant(operand), show_constant(new))
                yield self._change(places[0], other, edits, prior)
            if operand.kind == "int" and self._fills(first):
                yield from self._fillers(places, operand)

    def _fills(self, instruction: Instruction) -> bool:
        """Whether it moves the bits of a float into a register, as for the default of a masked load."""
        moves = base(instruction) == "mov" and instruction.operands[0].kind == "reg"
        return moves and self._values.kind(instruction.operands[0].value) == "float"

    def _fillers(self, places: list[int], operand: Operand) -> Iterator[Change]:
        before = Operand("f32", operand.value & 0xFFFFFFFF)
        for bits in sorted({*PLAIN, float_bits(float("-inf"))} - {before.value}):
            new = replace(operand, value=bits)
            edits = tuple((at, (with_operand(self._code[at], (1,), new),)) for at in places)
            other = OtherConstant(show_constant(before), show_constant(Operand("f32", bits)))
            yield self._change(places[0], other, edits)

    def _prior_of(self, operand: Operand, bits: int) -> int:
        """Return the prior of another number: those of a block compiler (Triton) are mostly its own."""
        if operand.kind != "f32":
            return 2 if self._values.of_blocks else 0
        return int(bits not in self._own and bits & 0x7FFFFFFF not in PLAIN)

    def _other_constants(self, instruction: Instruction, operand: Operand) -> Iterator[int]:
        if operand.kind == "f32":
            negated = operand.value ^ 0x80000000
            yield from (b for b in dict.fromkeys((negated, *self._numbers)) if b != operand.value)
        elif operand.kind == "int" and base(instruction) not in NO_NUMBERS:
            if self._fills(instruction):
                return
            value = operand.value - (1 << 64) * (operand.value >> 63)
            near = (value + 1, value - 1, 2 * value, value // 2, 0, 1, 32)
            for other in dict.fromkeys((*near, *self._ints_there)):
                if other != value:
                    yield other

    def _conditions(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        if first.guard:
            always = tuple((at, (replace(self._code[at], guard=0),)) for at in places)
            never: Edits = tuple((at, ()) for at in places)
            yield self._change(places[0], FixedGuard(base(first), "always"), always)
            yield self._change(places[0], FixedGuard(base(first), "never"), never)
        if base(first) == "selp":
            for n, side in enumerate(SIDES, 1):
                edits = tuple((at, (_move_operand(self._code[at], n),)) for at in places)
                yield self._change(places[0], FixedGuard("selp", side), edits)

    # Changes of operands.

    def operands(self) -> Iterator[Change]:
        """Yield changes of a value for another of its kind."""
        for value, places in self._uses():
            for n, other in enumerate(self._siblings(value, places)[:MOST_SIBLINGS]):
                edits = self._exchange_values(value, other, places)
                copied = base(self._code[places[0][0]]) == "mov"  # not an expression of the source
                seldom = n // LIKELY if not self._values.of_blocks else int(n >= LIKELY)
                prior = 2 if copied else min(seldom, 2)
                operand = OtherOperand(self._values.name_of(value), self._values.name_of(other))
                yield self._change(places[0][0], operand, edits, prior, other)

    def _exchange_values(self, value: Value, other: Value, places: list[Site]) -> Edits:
        """Return the edits that replace each copy of a value by the matching copy of another."""
        edits: dict[int, Instruction] = {}
        for at, path in places:
            old = edits.get(at, self._code[at])
            leaf = leaf_of(old, path)
            nth = value.registers.index(leaf.value) * len(other.registers) // len(value.registers)
            edits[at] = with_operand(old, path, replace(leaf, value=other.registers[nth]))
        changed: dict[int, tuple[Instruction, ...]] = {at: (new,) for at, new in edits.items()}
        if other.unread:
            changed[other.first] = (
                *other.unread,
                *changed.get(other.first, (self._code[other.first],)),
            )
        return tuple((at, changed[at]) for at in sorted(changed))


def _divide_by(instruction: Instruction, opcode: str, divisor: Operand) -> Instruction:
    return replace(instruction, opcode=opcode, operands=(*instruction.operands[:2], divisor))


def _form_of(instruction: Instruction, form: Form) -> tuple[Instruction, ...]:
    """Return an instruction in another form."""
    return tuple(
        replace(
            instruction,
            opcode=opcode or instruction.opcode,
            operands=tuple(instruction.operands[o] if isinstance(o, int) else o for o in operands),
        )
        for opcode, operands in form
    )


def _move_operand(instruction: Instruction, source: int) -> Instruction:
    operands = (instruction.operands[0], instruction.operands[source])
    return replace(
        instruction, opcode=f"mov.{instruction.opcode.rpartition('.')[2]}", operands=operands
    )
