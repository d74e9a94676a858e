"""Operands of instructions to words of code."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable

from .program import Function, Token
from .variables import number

_NUMBERED = re.compile(r"^(.*?)(\d+)$")
_ADDRESS = re.compile(r"^\[\s*([^\s+\]\-]+|-?\d+)\s*(?:\+?\s*([+-]?\s*[\w]+))?\s*\]$")
_SUM = re.compile(r"^([A-Za-z_$][\w$]*)\s*([+-])\s*(\d+)$")
_WIDTHS = {
    "pred": 1, "b8": 16, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16,
    "b32": 32, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32,
    "b64": 64, "u64": 64, "s64": 64, "f64": 64, "b128": 128,
}  # fmt: skip
_REGISTERS = re.compile(r"([\w$%]+)\s*(?:<\s*(\d+)\s*>)?")
_MOST_REGISTERS = 1 << 22


class Pool:
    """Interned strings and constants of a whole module."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.constants: dict[int, int] = {}

    def string(self, text: str) -> int:
        """Return the number of a string."""
        return self.strings.setdefault(text, len(self.strings))

    def constant(self, pattern: int) -> int:
        """Return the number of a 64-bit pattern."""
        return self.constants.setdefault(pattern, len(self.constants))


class Scope:
    """Names of one function: registers, variables and labels, in nested braces."""

    def __init__(self, function: Function, names: dict[str, tuple[int, ...]], pool: Pool) -> None:
        self._function = function
        self._pool = pool
        self._levels: list[dict[str, tuple[int, ...]]] = [names, {}]
        self._ranges: list[dict[str, tuple[int, int]]] = [{}, {}]
        self._known: dict[str, tuple[int, ...]] = {}
        self._labels: list[dict[str, int]] = [{}]
        self.labels = 0
        """Number of labels."""
        self.tables: dict[str, tuple[str, ...]] = {}

    def push(self, labels: Iterable[str] = ()) -> None:
        """Enter a brace, in which these labels stand."""
        self._levels.append({})
        self._ranges.append({})
        self._labels.append({})
        self.declare_labels(labels)

    def pop(self) -> None:
        """Leave a brace; what was declared inside is forgotten."""
        if len(self._levels) > 2:
            left = (self._levels.pop(), self._ranges.pop(), self._labels.pop())
            if any(left):
                self._known.clear()

    def declare(self, name: str, words: tuple[int, ...]) -> None:
        """Bind a name in the innermost brace."""
        self._levels[-1][name] = words
        self._known.clear()

    def declare_registers(self, kind: str, text: str) -> None:
        """Take `.reg`: names, or ranges such as `%r<99>`."""
        width = _WIDTHS[kind]
        registers = self._function.registers
        for name, count in _REGISTERS.findall(text):
            extent = int(count) if count else 1
            if len(registers) + extent > _MOST_REGISTERS:
                raise ValueError("too many registers")
            first = len(registers)
            registers.extend(bytes([width]) * extent)
            if count:
                self._ranges[-1][name] = (first, extent)
            else:
                self._levels[-1][name] = (Token.REG << 28 | first,)
        self._known.clear()

    def declare_labels(self, names: Iterable[str]) -> None:
        """Bind the labels of the innermost brace, whether already used or not."""
        for name in names:
            self._labels[-1][name] = self.labels
            self.labels += 1
            self._known.clear()

    def label(self, name: str) -> int:
        """Return the number of a label, whether already defined or not."""
        for level in reversed(self._labels):
            if name in level:
                return level[name]
        self._labels[0][name] = self.labels
        self.labels += 1
        return self.labels - 1

    def words(self, text: str) -> tuple[int, ...]:
        """Return the words of one operand; raise ValueError for one that can't be read."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._read_words(text)
        return known

    def emit(self, texts: list[str], code: array[int]) -> None:
        """Append operands to the code."""
        known = self._known
        for text in texts:
            words = known.get(text)
            if words is None:
                words = self.words(text)
            code.extend(words)

    def words_of_name(self, name: str) -> tuple[int, ...] | None:
        """Return the words of a declared name, or None."""
        for level in range(len(self._levels) - 1, -1, -1):
            words = self._levels[level].get(name)
            if words is not None:
                return words
            ranges = self._ranges[level]
            match = _NUMBERED.match(name) if ranges else None
            if match is not None:
                first, extent = ranges.get(match[1], (0, 0))
                if int(match[2]) < extent:
                    return (Token.REG << 28 | first + int(match[2]),)
        return None

    def _read_words(self, text: str) -> tuple[int, ...]:
        first = text[:1]
        if first == "[":
            return self._address(text)
        if first == "{":
            parts = [part.strip() for part in text.strip("{} ").split(",")]
            return (
                Token.VEC << 28 | len(parts),
                *(w for part in parts for w in self._read_words(part)),
            )
        if "|" in text:
            left, right = (part.strip() for part in text.split("|", 1))
            return (Token.PAIR << 28, *self._read_words(left), *self._read_words(right))
        if text == "_":
            return (Token.SINK << 28,)
        if first == "!":
            words = self._read_words(text[1:].strip())
            return (Token.NOT << 28 | words[0] & 0xFFFFFFF,)
        return self.words_of_name(text) or self._literal(text)

    def _literal(self, text: str) -> tuple[int, ...]:
        if text[:1] == "%":
            return (Token.SPECIAL << 28 | self._pool.string(text),)
        if text == "WARP_SZ":
            return (Token.INT << 28 | self._pool.constant(32),)
        total = _SUM.match(text)
        if total is not None:
            base = self.words_of_name(total[1])
            if base is not None and base[0] >> 28 == Token.VAR:
                return (base[0], self._pool.constant(number(total[2] + total[3])))
        if text[:1].isdigit() or text[:1] in "+-.":
            kind = Token.INT
            if text[:2] in ("0f", "0F"):
                kind = Token.F32
            elif text[:2] in ("0d", "0D") or ("." in text and text[:2] not in ("0x", "0X")):
                kind = Token.F64
            return (kind << 28 | self._pool.constant(number(text)),)
        if text[:1] in "$_" or any(text in level for level in self._labels):
            return (Token.LABEL << 28 | self.label(text),)
        raise ValueError(f"unknown name {text!r}")

    def _address(self, text: str) -> tuple[int, ...]:
        match = _ADDRESS.match(text)
        if match is None:
            raise ValueError(f"unknown address {text!r}")
        base = self._read_words(match[1])
        if base[0] >> 28 not in (Token.REG, Token.VAR, Token.INT):
            raise ValueError(f"unknown address {text!r}")
        offset = number(match[2].replace(" ", "")) if match[2] else 0
        return (Token.MEM << 28, *base, self._pool.constant(offset))
