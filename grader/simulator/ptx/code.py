"""A program of the interpreter read back: the instructions of its functions, and new ones as words.

The bytes come from a guest and are untrusted: invalid indices raise ValueError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .encode import MAGIC
from .program import LABEL_MARK, Token


@dataclass(frozen=True)
class Operand:
    """One operand of an instruction."""

    kind: str
    """`reg`, `not`, `int`, `f32`, `f64`, `special`, `var`, `mem`, `vec`, `pair`, `func`, `label`, `targets` or `sink`."""
    value: int = 0
    """The register, variable, function or label; a constant's bits; an address's offset."""
    name: str = ""
    """A special register's."""
    items: tuple[Operand, ...] = ()
    """The parts of a vector or pair; the base of an address; the variable, of whose address `value` is the rest."""


_NUMBERS = {Token.INT: "int", Token.F32: "f32", Token.F64: "f64"}
_NAMED = {Token.REG: "reg", Token.FUNC: "func", Token.LABEL: "label", Token.NOT: "not"}
_TOKENS = {name: token for token, name in (*_NUMBERS.items(), *_NAMED.items())}


@dataclass(frozen=True)
class Instruction:
    """One instruction, or a label: then without an opcode."""

    opcode: str
    operands: tuple[Operand, ...] = ()
    guard: int = 0
    """0: none; else a predicate register's number plus one, twice, plus one where it is negated."""
    location: int = 0


@dataclass(frozen=True)
class Function:
    """The code of one function of a program."""

    number: int
    name: str
    entry: bool
    registers: bytes
    """The width of each register in bits, 1 for a predicate."""
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Code:
    """The code of a program's functions, and the tables that it indexes."""

    strings: tuple[str, ...]
    constants: tuple[int, ...]
    places: tuple[tuple[str, int], ...]
    """The file and line of each location, in the submission's own file; without one: line 0."""
    variables: tuple[str, ...]
    of_blocks: bool
    """As `Program.of_blocks`."""
    functions: tuple[Function, ...]
    callers: tuple[tuple[str, int], ...] = ()
    """Place of each location's outermost call, which differs where a function was inlined."""


def read_code(blob: bytes) -> Code:
    """Return the program that `encode` packed.

    Raises:
        ValueError: the bytes are invalid.

    """
    try:
        return _read(_Words(blob))
    except (IndexError, struct.error, RecursionError, OverflowError) as error:
        raise ValueError(f"no program: {error}") from error


class _Words:
    def __init__(self, blob: bytes) -> None:
        if blob[:8] != MAGIC:
            raise ValueError("no program")
        self._blob, self._at = blob, 16

    def word(self) -> int:
        (value,) = struct.unpack_from("<I", self._blob, self._at)
        self._at += 4
        return int(value)

    def words(self, count: int) -> list[int]:
        return [self.word() for _ in range(count)]

    def data(self) -> bytes:
        size = self.word()
        found = self._blob[self._at : self._at + size]
        self._at += size + -size % 4
        return found

    def text(self) -> str:
        return self.data().decode("utf-8", "replace")

    def array(self, kind: str) -> list[int]:
        count = self.word()
        found = struct.unpack_from(f"<{count}{kind}", self._blob, self._at)
        self._at += struct.calcsize(f"<{count}{kind}")
        return list(found)


def _read(words: _Words) -> Code:
    of_blocks = bool(words.word())
    strings = tuple(words.text() for _ in range(words.word()))
    constants = tuple(words.array("Q"))
    files = [words.text() for _ in range(words.word())]
    both = [_place(words, files) for _ in range(words.word())]
    places, callers = (tuple(one[n] for one in both) for n in (0, 1))
    variables = tuple(_variable(words) for _ in range(words.word()))
    reader = _Reader(strings, constants)
    functions = tuple(_function(words, n, reader) for n in range(words.word()))
    return Code(strings, constants, places, variables, of_blocks, functions, callers)


def _place(words: _Words, files: list[str]) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return a location's place in the submission's own file, and that of its outermost call."""
    count, own = words.words(2)
    numbers = words.words(2 * count)
    frames = list(zip(numbers[::2], numbers[1::2], strict=True))
    if own >= count:
        return ("", 0), ("", 0)
    outer = next(one for one in reversed(frames) if one[0] == frames[own][0])
    inner, call = ((files[number], line) for number, line in (frames[own], outer))
    return inner, call


def _variable(words: _Words) -> str:
    name = words.text()
    words.words(6)
    words.data()
    words.words(7 * words.word())
    return name


def _function(words: _Words, number: int, reader: _Reader) -> Function:
    name = words.text()
    entry = bool(words.words(6)[0])
    for _ in range(2):
        words.words(4 * words.word())
    registers = words.data()
    words.words(2)
    return Function(number, name, entry, registers, tuple(reader.instructions(words.array("I"))))


class _Reader:
    """Reads operand words."""

    def __init__(self, strings: tuple[str, ...], constants: tuple[int, ...]) -> None:
        self._strings, self._constants = strings, constants
        self._code: list[int] = []
        self._at = 0

    def instructions(self, code: list[int]) -> Iterator[Instruction]:
        self._code, self._at = code, 0
        while self._at < len(code):
            opcode = self._next()
            if opcode == LABEL_MARK:
                yield Instruction("", (Operand("label", self._next()),))
                continue
            guard, location, count = self._next(), self._next(), self._next()
            operands = tuple(self._operand() for _ in range(count))
            yield Instruction(self._strings[opcode], operands, guard, location)

    def _next(self) -> int:
        self._at += 1
        return self._code[self._at - 1]

    def _operand(self) -> Operand:
        word = self._next()
        kind, value = Token(word >> 28), word & 0xFFFFFFF
        if kind in _NUMBERS:
            return Operand(_NUMBERS[kind], self._constants[value])
        if kind in _NAMED:
            return Operand(_NAMED[kind], value)
        if kind == Token.SPECIAL:
            return Operand("special", name=self._strings[value])
        if kind == Token.VAR:
            return Operand("var", self._constants[self._next()], items=(Operand("number", value),))
        if kind == Token.MEM:
            base = self._operand()
            return Operand("mem", self._constants[self._next()], items=(base,))
        if kind == Token.SINK:
            return Operand("sink")
        if kind == Token.TARGETS:
            labels = tuple(Operand("label", self._next()) for _ in range(value))
            return Operand("targets", items=labels)
        count = 2 if kind == Token.PAIR else value
        name = "pair" if kind == Token.PAIR else "vec"
        return Operand(name, items=tuple(self._operand() for _ in range(count)))


class Pool:
    """The tables of a program, extended for changed instructions."""

    def __init__(self, code: Code) -> None:
        self._strings = {text: n for n, text in reversed(list(enumerate(code.strings)))}
        self._constants = {value: n for n, value in reversed(list(enumerate(code.constants)))}
        self._known = len(code.strings), len(code.constants)
        self._twice = self._known[0] - len(self._strings), self._known[1] - len(self._constants)

    @property
    def strings(self) -> list[str]:
        """Return the added strings."""
        return [text for text, n in self._strings.items() if n >= self._known[0]]

    @property
    def constants(self) -> list[int]:
        """Return the added constants."""
        return [value for value, n in self._constants.items() if n >= self._known[1]]

    def words(self, instruction: Instruction) -> list[int]:
        """Return an instruction as words of code."""
        if not instruction.opcode:
            return [LABEL_MARK, instruction.operands[0].value]
        head = [self._string(instruction.opcode), instruction.guard, instruction.location]
        operands = [word for one in instruction.operands for word in self._operand(one)]
        return [*head, len(instruction.operands), *operands]

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + self._twice[0])

    def _constant(self, value: int) -> int:
        value &= 0xFFFFFFFFFFFFFFFF
        return self._constants.setdefault(value, len(self._constants) + self._twice[1])

    def _operand(self, operand: Operand) -> list[int]:
        kind, value, parts = operand.kind, operand.value, operand.items
        inner = [word for one in parts for word in self._operand(one)] if kind != "var" else []
        if kind in _NUMBERS.values():
            return [_TOKENS[kind] << 28 | self._constant(value)]
        if kind in _TOKENS:
            return [_TOKENS[kind] << 28 | value]
        if kind == "special":
            return [Token.SPECIAL << 28 | self._string(operand.name)]
        if kind == "var":
            return [Token.VAR << 28 | parts[0].value, self._constant(value)]
        if kind == "mem":
            return [Token.MEM << 28, *inner, self._constant(value)]
        if kind == "targets":
            return [Token.TARGETS << 28 | len(parts), *(one.value for one in parts)]
        if kind == "sink":
            return [Token.SINK << 28]
        return [Token.PAIR << 28 if kind == "pair" else Token.VEC << 28 | len(parts), *inner]
