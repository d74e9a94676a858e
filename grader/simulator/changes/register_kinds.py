"""The kind of each register of a function (float, integer, address, boolean), from the instructions that use it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from grader.simulator.ptx.code import Function, Instruction, Operand

Path = tuple[int, ...]
"""Position of an operand in an instruction: its index, and those inside vectors and addresses."""
_GIVES_NOTHING = frozenset(
    [
        "st",
        "bra",
        "bar",
        "barrier",
        "red",
        "ret",
        "exit",
        "membar",
        "fence",
        "call",
        "brx",
        "cp",
        "trap",
        "nanosleep",
        "prefetch",
        "pragma",
    ]
)
_LAYOUT = frozenset(
    [
        "and",
        "or",
        "xor",
        "shl",
        "shr",
        "bfi",
        "bfe",
        "prmt",
        "shfl",
        "bar",
        "mov",
        "lop3",
        "not",
        "vote",
        "elect",
    ]
)
_SHARED = ("ld.shared", "st.shared", "ld.param", "cvta")
_COPIES = frozenset({"mov", "selp", "shfl"})


def base(instruction: Instruction) -> str:
    """Return an opcode's first word."""
    return instruction.opcode.partition(".")[0]


def is_layout(instruction: Instruction) -> bool:
    """Whether an instruction distributes a block over threads (Triton), without a counterpart in the source."""
    return base(instruction) in _LAYOUT or instruction.opcode.startswith(_SHARED)


def split(instruction: Instruction) -> tuple[tuple[Operand, ...], int]:
    """Return the operands, and the number of them that the instruction sets."""
    gives = 0 if not instruction.operands or base(instruction) in _GIVES_NOTHING else 1
    return instruction.operands, gives


def leaves(operand: Operand, path: Path) -> Iterator[tuple[Path, Operand]]:
    """Yield the scalar operands, inside vectors and addresses too."""
    if not operand.items or operand.kind in ("var", "targets"):
        yield path, operand
    else:
        for n, item in enumerate(operand.items):
            yield from leaves(item, (*path, n))


class RegisterKinds:
    """The registers of one function, with the instructions that set and read them."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._set: dict[int, list[tuple[int, Path]]] = defaultdict(list)
        self.read: list[list[tuple[Path, Operand]]] = []
        for at, instruction in enumerate(function.instructions):
            self.read.append([])
            if instruction.opcode:
                self._note(at, instruction)

    def _note(self, at: int, instruction: Instruction) -> None:
        operands, gives = split(instruction)
        for n, operand in enumerate(operands):
            for path, leaf in leaves(operand, (n,)):
                if n < gives and operand.kind != "mem" and leaf.kind == "reg":
                    self._set[leaf.value].append((at, path))
                elif n >= gives or operand.kind == "mem":
                    self.read[at].append((path, leaf))

    @cached_property
    def _floats(self) -> frozenset[int]:
        """Return the registers that hold floats of 32 bits."""
        found: set[int] = set()
        for _ in range(3):
            for instruction in self.function.instructions:
                found |= self._floats_of(instruction, found)
        return frozenset(found)

    @cached_property
    def _addresses(self) -> frozenset[int]:
        """Return the registers that hold an address: an argument, or one at an offset from it."""
        found: set[int] = set()
        for _ in range(3):
            for instruction in self.function.instructions:
                operands, name = instruction.operands, base(instruction)
                of = [
                    leaf.value
                    for n in operands[1:]
                    for _, leaf in leaves(n, ())
                    if leaf.kind == "reg"
                ]
                loads = instruction.opcode in ("ld.param.u64", "ld.param.b64")
                argument = loads and operands[0].value in self._lead_to_memory
                if argument or (
                    name in ("cvta", "add", "mov", "sub") and any(r in found for r in of)
                ):
                    found.add(operands[0].value)
        return frozenset(found)

    @cached_property
    def _lead_to_memory(self) -> frozenset[int]:
        """Return the registers that addresses are computed from, or that are passed to another function."""
        found: set[int] = set()
        for _ in range(3):
            for at, instruction in enumerate(self.function.instructions):
                name, gives = base(instruction), instruction.operands[:1]
                into = name in ("add", "mov", "sub") and gives and gives[0].value in found
                used = into or name == "cvta" or instruction.opcode.startswith("st.param")
                found |= {leaf.value for path, leaf in self.read[at] if used or len(path) > 1}
        return frozenset(found)

    def _floats_of(self, instruction: Instruction, known: set[int]) -> set[int]:
        if not instruction.opcode:
            return set()
        words = instruction.opcode.split(".")
        operands, gives = split(instruction)
        if words[0] in _COPIES:
            of = [leaf.value for n in operands for _, leaf in leaves(n, ()) if leaf.kind == "reg"]
            of = [r for r in of if self.function.registers[r] == 32]
            return set(of) if "f32" in words or any(r in known for r in of[:3]) else set()
        sides = [operands[:gives], operands[gives:]]
        if words[0] == "cvt":
            sides = [side for side, word in zip(sides, words[-2:], strict=False) if word == "f32"]
        elif "f32" not in words:
            return set()
        return {
            leaf.value
            for side in sides
            for operand in side
            if operand.kind != "mem"
            for _, leaf in leaves(operand, ())
            if leaf.kind == "reg" and self.function.registers[leaf.value] == 32
        }

    def kind(self, register: int) -> str:
        """Return the kind of a register's values; empty for other widths."""
        width = self.function.registers[register]
        if width == 32:
            return "float" if register in self._floats else "int"
        if register in self._addresses:
            return "address"
        return {64: "wide", 1: "truth"}.get(width, "")
