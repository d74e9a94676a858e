"""Operators or conditions that may be missing around a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from grader.records.changes import OneMoreStep, Operation
from grader.simulator.changes.change import Change, spare
from grader.simulator.changes.forms import (
    FILLERS,
    FLOAT_OPERATORS,
    HALVES,
    INT_OPERATORS,
    NO_FACTOR,
    SELDOM,
    SUBJECT,
    WIDE_OPERATORS,
    Step,
    around_float,
    operation,
    show_constant,
)
from grader.simulator.changes.register_kinds import base
from grader.simulator.changes.sites import MOST_FACTORS, Site, Sites, leaf_of, with_operand
from grader.simulator.changes.values import Value
from grader.simulator.ptx.code import Instruction, Operand

MOST_SIZES = 4
"""Most sizes and indices to build offsets from."""


class Around(Sites):
    """Changes of single values of a function."""

    def changes(self) -> Iterator[Change]:
        """Yield changes of a value by one more operator, the latest places first."""
        for value, places in sorted(self._uses(), key=lambda use: -use[1][0][0]):
            if value.kind == "float" and base(self._code[places[0][0]]) == "mov":
                yield from self._scale(value, places)
                yield from self._around_with_others(value, places)
                yield from self._scaled_by_sizes(value, places)
            elif value.kind == "float":
                yield from self._around_float(value, places)
                yield from self._where(value, places)
            elif value.kind == "int" and base(self._code[places[0][0]]) != "mov":
                yield from self._around_int(value, places)
            elif value.kind == "wide" and not self._is_address(places[0][0]):
                yield from self._around_wide(value, places)

    def made_changes(self) -> Iterator[Change]:
        """Yield changes of a value that several lines read, by a step where it is computed."""
        for value in self._values.all:
            lines = self._values.read_in[value.key] - {value.line}
            made = [at for register in value.registers for at in self._values.set_at(register)]
            whole = len(made) == len(value.registers) and self._values.is_of_source(made[0])
            if value.kind == "float" and not value.simple and whole and len(lines) > 1:
                yield from self._steps_where_made(value, made)

    def _steps_where_made(self, value: Value, places: list[int]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        for done, steps in around_float(f32):
            yield self._with_step(value, places, done, steps)
        for other in self._sizes([(places[0], ())]):
            for done, steps in self._scalings(other):
                yield self._with_step(value, places, done, steps)

    def _with_step(self, value: Value, places: list[int], done: Operation, steps: Sequence[Step]) -> Change:  # fmt: skip
        """Return the change that applies steps to a value right after its computation."""
        edits = []
        for register, at in zip(value.registers, places, strict=True):
            old = self._code[at]
            made = [self._step(value, register, old, step) for step in steps]
            kept = Instruction("mov.f32", (Operand("reg", register), made[-1].operands[0]), 0, old.location)  # fmt: skip
            edits.append((at, (old, *made, kept)))
        added = OneMoreStep(replace(value.name, named=False), done)
        return self._change(places[0], added, tuple(edits), self._prior_of(value, added))

    def _is_address(self, at: int) -> bool:
        """Whether an instruction computes or copies an address, in bytes."""
        name, result = base(self._code[at]), self._code[at].operands[:1]
        of = result[0].value if result and result[0].kind == "reg" else -1
        return name in ("mov", "shl", "cvta") or (of >= 0 and self._values.kind(of) == "address")

    def _around_float(self, value: Value, places: list[Site]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        for done, steps in around_float(f32):
            yield self._wrap(value, places, done, steps)
        yield from self._scale(value, places)
        yield from self._around_with_others(value, places)
        yield from self._scaled_by_sizes(value, places)

    def _scale(self, value: Value, places: list[Site]) -> Iterator[Change]:
        """Yield changes of a value by a factor that is a number."""
        f32 = spare(self._values.function, 32)
        own = (bits for bits in self._own[:MOST_FACTORS] if bits not in NO_FACTOR)
        for bits in dict.fromkeys((*HALVES, *own)):
            number = Operand("f32", bits)
            scaled: Step = ("mul.f32", (f32, SUBJECT, number))
            yield self._wrap(
                value, places, Operation("mul", "f32", show_constant(number)), (scaled,)
            )

    def _where(self, value: Value, places: list[Site]) -> Iterator[Change]:
        """Yield changes that mask a value by a condition or its negation."""
        f32 = spare(self._values.function, 32)
        for truth in self._conditions_before(places):
            for bits in FILLERS:
                filler = Operand("f32", bits)
                for word, sides in (("if", (SUBJECT, filler)), ("unless", (filler, SUBJECT))):
                    steps: tuple[Step, ...] = (("selp.f32", (f32, *sides, truth)),)
                    done = Operation(word, "f32", show_constant(filler), (truth.name,))
                    yield self._wrap(value, places, done, steps)

    def _around_with_others(self, value: Value, places: list[Site]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        near = [one for one in self._siblings(value, places) if not one.unread][:MOST_FACTORS]
        for other in (*near, *(one for one in self._values.unread if one.kind == "int")):
            for opcode in FLOAT_OPERATORS[:4]:
                steps = ((opcode, (f32, SUBJECT, other)),)
                done = operation(opcode, values=(self._values.name_of(other),))
                yield self._wrap(value, places, done, steps, other)

    def _scaled_by_sizes(self, value: Value, places: list[Site]) -> Iterator[Change]:
        for other in self._sizes(places):
            for done, steps in self._scalings(other):
                yield self._wrap(value, places, done, steps)

    def _sizes(self, places: list[Site]) -> list[Value]:
        """Return the whole numbers by which a float could be scaled."""
        counts = [v for v in self._values.all if v.kind == "wide" and v.argument is not None]
        known = (*self._ints(places), *counts[:MOST_SIZES])
        return [one for one in known if not one.name.register.startswith(("%tid", "%ctaid"))]

    def _scalings(self, size: Value) -> Iterator[tuple[Operation, tuple[Step, ...]]]:
        f32, temporary = (spare(self._values.function, 32, n) for n in (0, 1))
        count: Step = (f"cvt.rn.f32.s{64 if size.kind == 'wide' else 32}", (temporary, size))
        for opcode in ("mul.f32", "div.rn.f32"):
            yield (
                operation(opcode, values=(size.name,)),
                (count, (opcode, (f32, SUBJECT, temporary))),
            )

    def _around_int(self, value: Value, places: list[Site]) -> Iterator[Change]:
        s32 = spare(self._values.function, 32)
        for number in (1, -1):
            steps: tuple[Step, ...] = (("add.s32", (s32, SUBJECT, Operand("int", number))),)
            yield self._wrap(value, places, Operation("add", "int", str(number)), steps)
        for other in self._ints(places):
            for opcode in INT_OPERATORS[:5]:
                steps = ((opcode, (s32, SUBJECT, other)),)
                yield self._wrap(value, places, operation(opcode, values=(other.name,)), steps)
        yield from self._offset(value, places)

    def _offset(self, value: Value, places: list[Site]) -> Iterator[Change]:
        """Yield changes of an index by another index times a size, such as a row's offset."""
        s32, ints = spare(self._values.function, 32), self._ints(places)
        sizes = [one for one in ints if one.argument is not None][:MOST_SIZES]
        indices = [one for one in ints if one.argument is None][:MOST_SIZES]
        for index, size in product(indices, sizes):
            steps: tuple[Step, ...] = (("mad.lo.s32", (s32, index, size, SUBJECT)),)
            done = operation("mad.lo.s32", values=(index.name, size.name))
            yield self._wrap(value, places, done, steps)

    def _around_wide(self, value: Value, places: list[Site]) -> Iterator[Change]:
        s64, temporary = (spare(self._values.function, 64, n) for n in (0, 1))
        for number in (1, -1):
            steps: tuple[Step, ...] = (("add.s64", (s64, SUBJECT, Operand("int", number))),)
            yield self._wrap(value, places, Operation("add", "int", str(number)), steps)
        for other in self._ints(places):
            widened: Step = ("cvt.s64.s32", (temporary, other))
            for opcode in WIDE_OPERATORS[:5]:
                steps = (widened, (opcode, (s64, SUBJECT, temporary)))
                yield self._wrap(value, places, operation(opcode, values=(other.name,)), steps)

    def _copy(self, value: Value, other: Value, register: int) -> int:
        nth = value.registers.index(register) if register in value.registers else 0
        return other.registers[nth * len(other.registers) // len(value.registers)]

    def _wrap(
        self,
        value: Value,
        places: list[Site],
        done: Operation,
        steps: Sequence[Step],
        other: Value | None = None,
    ) -> Change:
        """Return the change that applies steps to a value."""
        edits: dict[int, tuple[Instruction, ...]] = {}
        for at, path in places:
            *before, old = edits.get(at, (self._code[at],))
            register = leaf_of(self._code[at], path).value
            made = [self._step(value, register, old, step) for step in steps]
            made = [*(other.unread if other else ()), *made]
            edits[at] = (*(before or made), with_operand(old, path, made[-1].operands[0]))
        changed = tuple((at, edits[at]) for at in sorted(edits))
        added = OneMoreStep(self._values.name_of(value), done)
        prior = 0 if other and other.unread else self._prior_of(value, added)
        return self._change(places[0][0], added, changed, prior, other)

    def _prior_of(self, value: Value, added: OneMoreStep) -> int:
        """Return the prior of a missing step: a value of another line is likelier than a size, and so on."""
        done, line = added.after, added.takes_another_line
        seldom = done.name in SELDOM or (
            done.name in ("sub", "div")
            if done.is_whole
            else done.name in ("add", "sub") and not line
        )
        blocks = self._values.of_blocks and value.kind != "float"
        return min(1 + line + seldom + blocks, 3)

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
