"""The records of a decoded PTX module."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum


class Token(IntEnum):
    """Kinds of operand words: the upper four bits; the lower 28 are the value."""

    REG = 0
    INT = 1
    F32 = 2
    F64 = 3
    VAR = 4
    FUNC = 5
    LABEL = 6
    SPECIAL = 7
    MEM = 8
    VEC = 9
    PAIR = 10
    SINK = 11
    NOT = 12
    TARGETS = 13


LABEL_MARK = 0xFFFFFFFF
"""In place of an opcode: the next word is the number of a label that stands here."""

SPACES = {"param": 0, "local": 1, "shared": 2, "global": 3, "const": 4, "entry": 5}
"""State spaces of variables as the blob numbers them; `entry` is a kernel's own parameter."""


@dataclass(frozen=True)
class Location:
    """A source position: frames from the innermost out, and which of them is the submission's."""

    frames: tuple[tuple[int, int], ...]
    """Pairs of file index and line."""
    own: int
    """Index into `frames` of the innermost one in the submission's own file; -1: none."""


@dataclass(frozen=True)
class Relocation:
    """An address inside an initialiser: `width` bytes of (symbol + addend) >> shift."""

    offset: int
    width: int
    symbol: str
    addend: int
    shift: int = 0


@dataclass(frozen=True)
class Variable:
    """A variable of any space; `function` is the index of its function, -1 for the module's."""

    name: str
    space: int
    align: int
    size: int
    function: int = -1
    data: bytes = b""
    relocations: tuple[Relocation, ...] = ()
    external: bool = False


@dataclass(frozen=True)
class Parameter:
    """A formal parameter or return value: its variable, and its place in the parameter block."""

    variable: int
    offset: int
    size: int
    align: int


@dataclass
class Function:
    """A kernel or device function; `code` is empty for a declaration."""

    name: str
    entry: bool
    defined: bool = False
    parameters: tuple[Parameter, ...] = ()
    returns: tuple[Parameter, ...] = ()
    registers: bytearray = field(default_factory=bytearray)
    """Width of each register in bits (1 for predicates)."""
    code: array[int] = field(default_factory=lambda: array("I"))
    labels: int = 0
    instructions: int = 0
    max_threads: int = 0
    required: tuple[int, int, int] = (0, 0, 0)


@dataclass
class Program:
    """A whole module, with the tables that the code's words index."""

    strings: list[str]
    constants: array[int]
    """Immediate values as 64-bit patterns."""
    files: list[str]
    locations: list[Location]
    variables: list[Variable]
    functions: list[Function]
    of_blocks: bool = False
    """Its source tells what a block does, step by step (Triton): that threads of one block keep to it is the compiler's
    part, and so is shared memory."""

    def kernels(self) -> list[Function]:
        """Return the entries, in the text's order."""
        return [function for function in self.functions if function.entry]
