"""Values of a function's source, each with the registers that hold it, and its kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from grader.records.changes import KernelValue
from grader.simulator.changes.change import spare
from grader.simulator.changes.register_kinds import (
    Path,
    RegisterKinds,
    base,
    is_layout,
    leaves,
    split,
)
from grader.simulator.ptx.code import Code, Function, Instruction, Operand

_OWN = 2
"""Hidden arguments that the block compiler (Triton) adds to a kernel."""
Key = tuple[object, ...]
_PASSED: Key = ("passed",)
_SHIFTED = frozenset({"add", "sub", "ld", "st", "or"})
"""Instructions whose constants distinguish copies of an unrolled loop."""


@dataclass(frozen=True)
class Value:
    """Registers that hold one value of the source, in the order of the code: one for each copy of an unrolled loop."""

    key: Key
    kind: str
    """`float`, `int`, `wide` (64 bits), `address` or `truth`."""
    registers: tuple[int, ...]
    first: int
    """The position at which the first of them is set."""
    line: int
    name: KernelValue
    unread: tuple[Instruction, ...] = ()
    """Instruction that loads an argument which the code never reads into a spare register."""

    @property
    def simple(self) -> bool:
        """Whether it is an argument or an index of the launch."""
        return self.name.origin != "line"

    @property
    def argument(self) -> int | None:
        """Return its index among the kernel's arguments."""
        return self.name.number if self.name.origin == "argument" else None


def _variable(load: Instruction) -> int:
    """Return the number of the variable that an instruction loads; -1 for other instructions."""
    source = load.operands[-1]
    base_of = source.items[0] if source.items else source
    return base_of.items[0].value if base_of.kind == "var" else -1


class Values(RegisterKinds):
    """The values of one function."""

    def __init__(self, code: Code, function: Function) -> None:
        super().__init__(function)
        self._variables = code.variables
        self.callers = code.callers
        self.of_blocks = code.of_blocks
        self.lines = [code.places[i.location][1] if i.opcode else 0 for i in function.instructions]
        self._inlined = [i.opcode and code.places[i.location] != code.callers[i.location] for i in function.instructions]  # fmt: skip

    def set_at(self, register: int) -> list[int]:
        """Return the positions that set a register."""
        return [at for at, _ in self._set.get(register, ())]

    @property
    def _depth(self) -> int:
        """Depth to which values are distinguished: elements of a block have addresses of many forms."""
        return 1 if self.of_blocks else 2

    def key(self, register: int, depth: int) -> Key:
        """Return a key that is equal for all registers of one value of the source."""
        places = self._set.get(register, [])
        if len(places) == 1:
            return self._key_of_definition(*places[0], depth)
        if not self.of_blocks or depth < 1 or not places:
            return ("several", 0 if self.of_blocks else register)
        return (
            "several",
            frozenset(self._key_of_definition(at, path, depth - 1) for at, path in places),
        )

    def _key_of_definition(self, at: int, path: Path, depth: int) -> Key:
        """Return a key of a register's definition; a thread's elements of one block are equal."""
        instruction = self.function.instructions[at]
        which = path[:1] if self.of_blocks else path
        return (self.lines[at], instruction.opcode, which, *self._operands(at, depth - 1))

    def _operands(self, at: int, depth: int) -> Iterator[object]:
        instruction = self.function.instructions[at]
        operands, gives = split(instruction)
        if depth < 0:
            return
        for operand in operands[gives:]:
            for _, leaf in leaves(operand, ()):
                if leaf.kind in ("reg", "not"):
                    yield (
                        _PASSED if self._is_passed(at, leaf.value) else self.key(leaf.value, depth)
                    )
                elif leaf.kind != "int" or base(instruction) not in _SHIFTED:
                    yield leaf

    def _is_passed(self, at: int, register: int) -> bool:
        """Whether a function that was put into its callers has a value from them: of each caller another one."""
        places = self._set.get(register, ()) if self._inlined[at] else ()
        return any(not self._inlined[made] for made, _ in places)

    def place_of(self, at: int) -> int:
        """Return the position that gives an instruction's line: for a constant, its first use."""
        instruction = self.function.instructions[at]
        if base(instruction) != "mov" or instruction.operands[-1].kind in ("reg", "special"):
            return at
        register = instruction.operands[0].value
        uses = (n for n in self._read_at.get(register, ()) if n > at and self.lines[n])
        return next(uses, at)

    def line_made(self, at: int, depth: int = 4) -> int:
        """Return the line that computed the value which an instruction copies."""
        source = self.function.instructions[at].operands[-1]
        places = self._set.get(source.value, []) if source.kind == "reg" else []
        if base(self.function.instructions[at]) != "mov" or not places or not depth:
            return self.lines[self.place_of(at) if self.of_blocks else at]
        return self.line_made(places[-1][0], depth - 1)

    @cached_property
    def _read_at(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for at, read in enumerate(self.read):
            for _, leaf in read:
                found[leaf.value].append(at)
        return found

    def is_of_source(self, at: int) -> bool:
        """Whether an instruction may have a counterpart in the source."""
        instruction = self.function.instructions[at]
        if not instruction.opcode or not self.lines[at]:
            return False
        if not self.of_blocks or not is_layout(instruction) or instruction.opcode.endswith(".pred"):
            return True
        return base(instruction) == "shl" and not self._spread & set(self._registers_of(at))

    def _registers_of(self, at: int) -> Iterator[int]:
        return (leaf.value for _, leaf in self.read[at] if leaf.kind == "reg")

    @cached_property
    def _spread(self) -> frozenset[int]:
        """Return the registers that differ between threads, which distribute a block over them."""
        found: set[int] = set()
        for _ in range(2):
            for at, instruction in enumerate(self.function.instructions):
                names = {leaf.name for _, leaf in self.read[at] if leaf.kind == "special"}
                own = any(name.startswith(("%tid", "%laneid")) for name in names)
                if own or any(r in found for r in self._registers_of(at)):
                    found |= {r.value for r in instruction.operands[:1] if r.kind == "reg"}
        return frozenset(found)

    def site(self, at: int) -> Key:
        """Return a key that is equal for all instructions compiled from one place of the source."""
        instruction = self.function.instructions[at]
        return (self.lines[at], instruction.opcode, *self._operands(at, self._depth - 1))

    @property
    def float_arguments(self) -> frozenset[int]:
        """Return the numbers of the kernel's parameters that are read as floats of 32 bits."""
        found = (v.argument for v in self.all if v.kind == "float")
        return frozenset(n for n in found if n is not None)

    @cached_property
    def all(self) -> tuple[Value, ...]:
        """Return all values, in the order of the code."""
        grouped: dict[Key, list[int]] = defaultdict(list)
        for register in sorted(self._set, key=lambda r: self._set[r][0]):
            if self.kind(register):
                grouped[self.key(register, self._depth)].append(register)
        counts: dict[KernelValue, int] = defaultdict(int)
        found = []
        for key, registers in grouped.items():
            value = self._value(key, registers)
            counts[value.name] += 1
            nth = counts[value.name]
            name = replace(value.name, nth=nth)
            found.append(replace(value, name=name) if nth > 1 else value)
        return tuple(found)

    @cached_property
    def unread(self) -> tuple[Value, ...]:
        """Return the kernel's arguments that its code never reads, without Triton's hidden ones."""
        loads = [
            n for n, i in enumerate(self.function.instructions) if i.opcode.startswith("ld.param")
        ]
        read = {_variable(self.function.instructions[n]) for n in loads}
        mine = f"{self.function.name}_param_"
        named = [(n, name) for n, name in enumerate(self._variables) if name.startswith(mine)]
        ends = len(self._variables)
        if self.of_blocks:
            read_last = max((n for n, _ in named if n in read), default=0)
            ends = max(read_last, max((n for n, _ in named), default=0) - _OWN)
        of = ((n, int(name[len(mine) :])) for n, name in named if n not in read and n <= ends)
        values = (self._unread(*one, loads[0], kind) for one in of for kind in ("int", "address"))
        return tuple(values) if self.function.entry and loads else ()

    def _unread(self, variable: int, number: int, first: int, kind: str) -> Value:
        width, opcode = (32, "ld.param.u32") if kind == "int" else (64, "ld.param.u64")
        register = spare(self.function, width, 1)
        from_where = Operand(
            "mem", 0, items=(Operand("var", 0, items=(Operand("number", variable),)),)
        )
        load = Instruction(
            opcode, (register, from_where), 0, self.function.instructions[first].location
        )
        key = ("unread", variable, kind)
        name = KernelValue("argument", number)
        return Value(key, kind, (register.value,), first, 0, name, (load,))

    @cached_property
    def read_in(self) -> dict[Key, set[int]]:
        """Return the lines that read each value."""
        lines: dict[Key, set[int]] = defaultdict(set)
        for at, read in enumerate(self.read):
            for _, leaf in read:
                if leaf.kind == "reg" and (value := self.of.get(leaf.value)):
                    lines[value.key].add(self.lines[at])
        return lines

    @cached_property
    def named(self) -> frozenset[Key]:
        """Return the values with a name in the source: arguments, indices, values that other lines read or set."""
        lines = self.read_in
        return frozenset(
            v.key
            for v in self.all
            if v.simple or v.key[0] == "several" or len(lines[v.key] - {v.line}) > 0
        )

    def has_name(self, value: Value) -> bool:
        """Whether a value has a name in the source; others are parts of an expression."""
        return value.simple or (value.key in self.named and value.key[0] != "several")

    def name_of(self, value: Value) -> KernelValue:
        """Return which value it is, and whether the source has a name for it."""
        return value.name if self.has_name(value) else replace(value.name, named=False)

    @cached_property
    def of(self) -> dict[int, Value]:
        """Return the value of each register."""
        return {register: value for value in self.all for register in value.registers}

    def _value(self, key: Key, registers: list[int]) -> Value:
        at = self._set[registers[0]][0][0]
        kind = self.kind(registers[0])
        line = self.line_made(at) if self.of_blocks else self.lines[at]
        return Value(key, kind, tuple(registers), at, line, self._name(registers[0], line))

    def _name(self, register: int, line: int, depth: int = 3) -> KernelValue:
        places = self._set[register]
        if len(places) == 1 and depth:
            instruction = self.function.instructions[places[0][0]]
            source = instruction.operands[-1] if len(instruction.operands) == 2 else None
            if source and source.kind == "special":
                return KernelValue("index", register=source.name)
            if (
                source
                and instruction.opcode.startswith("ld.param")
                and source.items[0].kind == "var"
            ):
                number = self._variables[source.items[0].items[0].value].rpartition("_")[2]
                if number.isdigit():  # else what a called function gave back
                    return KernelValue("argument", int(number))
            if source and source.kind == "reg" and base(instruction) in ("cvt", "cvta", "mov"):
                return self._name(source.value, line, depth - 1)
        return KernelValue("line", line)
