"""Backward slices of a function's addresses and conditions, which decide the elements it reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from grader.simulator.changes.register_kinds import base, leaves, split
from grader.simulator.changes.values import Values
from grader.simulator.ptx.code import Instruction

_ACCESSES = frozenset({"ld", "st", "atom", "red", "cp"})


class Reach:
    """Positions of one function's code, as bits, that a value depends on."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._code = values.function.instructions
        self._behind: dict[int, int] = {}

    def behind(self, registers: Iterable[int]) -> int:
        """Return all positions that these registers depend on."""
        found, open_ones, known = 0, list(registers), set()
        while open_ones:
            register = open_ones.pop()
            if register in known:
                continue
            known.add(register)
            for at in self._values.set_at(register):
                found |= 1 << at
                open_ones += self.read_at(at)
        return found

    def behind_one(self, register: int) -> int:
        """Return all positions that one register depends on."""
        if register not in self._behind:
            self._behind[register] = self.behind([register])
        return self._behind[register]

    def read_by(self, instruction: Instruction) -> Iterator[int]:
        """Yield the registers that an instruction reads."""
        operands, gives = split(instruction)
        for n, operand in enumerate(operands):
            if n >= gives or operand.kind == "mem":
                yield from (leaf.value for _, leaf in leaves(operand, ()) if leaf.kind == "reg")

    def read_at(self, at: int) -> Iterator[int]:
        """Yield the registers that the instruction at a position reads."""
        yield from (leaf.value for _, leaf in self._values.read[at] if leaf.kind in ("reg", "not"))
        if self._code[at].guard:
            yield self._code[at].guard // 2 - 1

    @cached_property
    def conditions(self) -> int:
        """Return the positions that branches depend on."""
        jumps = (i.guard // 2 - 1 for i in self._code if i.guard and base(i) == "bra")
        return self.behind(jumps)

    @cached_property
    def shared(self) -> int:
        """Return the positions that addresses in shared memory depend on."""
        inside = (i for i in self._code if ".shared" in i.opcode and base(i) in _ACCESSES)
        return self.behind(r for one in inside for r in _address(one))

    @cached_property
    def of_arguments(self) -> dict[int, int]:
        """Return, for each address argument, the positions that its accesses depend on, and their own."""
        found: dict[int, int] = {}
        for at, behind in self._accesses.items():
            for argument in self._pointers_behind(behind):
                found[argument] = found.get(argument, 0) | behind | 1 << at
        return found

    @cached_property
    def accesses(self) -> dict[int, int]:
        """Return, for each address argument, the positions of its accesses."""
        found: dict[int, int] = {}
        for at, behind in self._accesses.items():
            for argument in self._pointers_behind(behind):
                found[argument] = found.get(argument, 0) | 1 << at
        return found

    @cached_property
    def _accesses(self) -> dict[int, int]:
        """Return the positions of global accesses, and those that their addresses and conditions depend on."""
        guards = {at: [i.guard // 2 - 1] if i.guard else [] for at, i in enumerate(self._code)}
        found = (at for at, i in enumerate(self._code) if _is_global(i))
        return {at: self.behind([*_address(self._code[at]), *guards[at]]) for at in found}

    def _pointers_behind(self, behind: int) -> Iterator[int]:
        return (argument for argument, loaded in self._pointers.items() if behind & loaded)

    @cached_property
    def _pointers(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for value in self._values.all:
            if value.kind == "address" and value.argument is not None:
                found[value.argument] = found.get(value.argument, 0) | 1 << value.first
        return found


def _is_global(instruction: Instruction) -> bool:
    elsewhere = (".param", ".shared", ".local", ".const")
    inside = any(word in instruction.opcode for word in elsewhere)
    return base(instruction) in _ACCESSES and (not inside or ".global" in instruction.opcode)


def _address(instruction: Instruction) -> Iterator[int]:
    for operand in instruction.operands:
        if operand.kind == "mem":
            yield from (leaf.value for _, leaf in leaves(operand, ()) if leaf.kind == "reg")
