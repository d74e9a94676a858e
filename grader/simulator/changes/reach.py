"""What decides which elements a function reads and writes: the way of addresses and conditions back through its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from grader.simulator.changes.values import Values, base, leaves
from grader.simulator.ptx.code import Instruction

_ACCESSES = frozenset({"ld", "st", "atom", "red", "cp"})


class Reach:
    """Positions of one function's code, as bits, from which something follows."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._code = values.function.instructions

    def behind(self, registers: Iterable[int]) -> int:
        """Return all positions that what is in these registers follows from."""
        found, open_ones, known = 0, list(registers), set()
        while open_ones:
            register = open_ones.pop()
            if register in known:
                continue
            known.add(register)
            for at in self._values.set_at(register):
                found |= 1 << at
                open_ones += self._read_at(at)
        return found

    def _read_at(self, at: int) -> Iterator[int]:
        yield from (leaf.value for _, leaf in self._values.read[at] if leaf.kind in ("reg", "not"))
        if self._code[at].guard:
            yield self._code[at].guard // 2 - 1

    @cached_property
    def conditions(self) -> int:
        """Return what decides which way the code goes."""
        jumps = (i.guard // 2 - 1 for i in self._code if i.guard and base(i) == "bra")
        return self.behind(jumps)

    @cached_property
    def shared(self) -> int:
        """Return what the addresses in shared memory follow from."""
        inside = (i for i in self._code if ".shared" in i.opcode and base(i) in _ACCESSES)
        return self.behind(r for one in inside for r in _address(one))

    @cached_property
    def of_arguments(self) -> dict[int, int]:
        """Return for each argument that is an address what the accesses by it follow from, and where they are."""
        found: dict[int, int] = {}
        for at, instruction in enumerate(self._code):
            if not _is_global(instruction):
                continue
            guard = [instruction.guard // 2 - 1] if instruction.guard else []
            behind = self.behind([*_address(instruction), *guard]) | 1 << at
            for argument, loaded in self._pointers.items():
                if behind & loaded:
                    found[argument] = found.get(argument, 0) | behind
        return found

    @cached_property
    def _pointers(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for value in self._values.all:
            if value.kind == "address" and value.argument is not None:
                found[value.argument] = found.get(value.argument, 0) | 1 << value.first
        return found


def _is_global(instruction: Instruction) -> bool:
    elsewhere = (".param", ".shared", ".local", ".const")
    return base(instruction) in _ACCESSES and not any(w in instruction.opcode for w in elsewhere)


def _address(instruction: Instruction) -> Iterator[int]:
    for operand in instruction.operands:
        if operand.kind == "mem":
            yield from (leaf.value for _, leaf in leaves(operand, ()) if leaf.kind == "reg")
