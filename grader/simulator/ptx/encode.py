"""A program to the bytes that the interpreter loads.

Everything is little-endian 32-bit words after the header; strings are a length in bytes and the
bytes, padded to a word. The loader checks every number and refuses an invalid blob.
"""

from __future__ import annotations

import struct
import sys
from array import array

from .program import Function, Program, Variable

MAGIC = b"KGSIM\x00\x00\x02"


class _Writer:
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def words(self, *values: int) -> None:
        self._parts.append(struct.pack(f"<{len(values)}I", *(v & 0xFFFFFFFF for v in values)))

    def text(self, value: str | bytes) -> None:
        data = value.encode("utf-8", "replace") if isinstance(value, str) else value
        self.words(len(data))
        self._parts.append(data + bytes(-len(data) % 4))

    def array(self, values: array[int]) -> None:
        self.words(len(values))
        if sys.byteorder != "little":
            values = values[:]
            values.byteswap()
        self._parts.append(values.tobytes())

    def bytes(self) -> bytes:
        body = b"".join(self._parts)
        return MAGIC + struct.pack("<Q", len(body) + 16) + body


def encode(program: Program) -> bytes:
    """Return the blob of a program."""
    out = _Writer()
    out.words(program.of_blocks)
    out.words(len(program.strings))
    for string in program.strings:
        out.text(string)
    out.array(array("Q", program.constants))
    out.words(len(program.files))
    for name in program.files:
        out.text(name)
    out.words(len(program.locations))
    for location in program.locations:
        flat = [word for frame in location.frames for word in frame]
        out.words(len(location.frames), location.own, *flat)
    functions = {function.name: index for index, function in enumerate(program.functions)}
    variables = {v.name: i for i, v in enumerate(program.variables) if v.function < 0}
    out.words(len(program.variables))
    for variable in program.variables:
        _variable(out, variable, variables, functions)
    out.words(len(program.functions))
    for function in program.functions:
        _function(out, function)
    return out.bytes()


def _variable(
    out: _Writer, variable: Variable, variables: dict[str, int], functions: dict[str, int]
) -> None:
    out.text(variable.name)
    out.words(variable.space, variable.align, variable.size, variable.size >> 32)
    out.words(variable.function, variable.external)
    out.text(variable.data)
    out.words(len(variable.relocations))
    for entry in variable.relocations:
        is_function = entry.symbol in functions
        target = (functions if is_function else variables).get(entry.symbol, -1)
        out.words(entry.offset, entry.width, is_function, target)
        out.words(entry.addend, entry.addend >> 32, entry.shift)


def _function(out: _Writer, function: Function) -> None:
    out.text(function.name)
    out.words(function.entry, function.defined, function.max_threads, *function.required)
    for formals in (function.returns, function.parameters):
        out.words(len(formals))
        for formal in formals:
            out.words(formal.variable, formal.offset, formal.size, formal.align)
    out.text(bytes(function.registers))
    out.words(function.labels, function.instructions)
    out.array(function.code)
