"""Declarations of variables: space, alignment, size, initialiser."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from .program import SPACES, Relocation, Variable

_BYTES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16, "texref": 8, "samplerref": 8, "surfref": 8,
}  # fmt: skip
_DECLARATION = re.compile(r"([\w$%]+)\s*((?:\[\s*\d*\s*\]\s*)*)(?:=\s*(.*))?$", re.DOTALL)
_ATOM = re.compile(
    r"^(?:(0[xX][0-9a-fA-F]+|\d+)\()?(?:generic\()?([A-Za-z_$%][\w$]*)\)?([+-]\d+)?\)?([+-]\d+)?$"
)
_LARGEST = 1 << 34


def number(text: str) -> int:
    """Return the 64-bit pattern of an integer or floating literal; raise ValueError otherwise."""
    head = text[:2]
    if head in ("0f", "0F"):
        return int(f"0x{text[2:]}", 0) & 0xFFFFFFFF
    if head in ("0d", "0D"):
        return int(f"0x{text[2:]}", 0) & 0xFFFFFFFFFFFFFFFF
    sign, digits = (-1, text[1:].strip()) if text.startswith("-") else (1, text.lstrip("+"))
    digits = digits.rstrip("uU")
    if head in ("0x", "0X") or digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16) & 0xFFFFFFFFFFFFFFFF
    if digits.isdigit():
        base = 8 if len(digits) > 1 and digits[0] == "0" else 10
        return sign * int(digits, base) & 0xFFFFFFFFFFFFFFFF
    if digits[:2] in ("0b", "0B"):
        return sign * int(digits, 0) & 0xFFFFFFFFFFFFFFFF
    pattern: int = struct.unpack("<Q", struct.pack("<d", sign * float(digits)))[0]
    return pattern


def declared_variables(words: str, text: str, function: int) -> Iterator[Variable]:
    """Yield the variables of one declaration.

    `words` are the leading dotted words (`.shared .align 4 .b8`), `text` the rest.
    """
    align, lanes, space, kind, external = 0, 1, "global", "b8", False
    parts = words.split()
    for place, part in enumerate(parts):
        word = part[1:]
        if word in _BYTES:
            kind = word
        elif word in SPACES:
            space = word
        elif word in ("v2", "v4", "v8"):
            lanes = int(word[1])
        elif word == "align":
            align = int(parts[place + 1])
        elif word == "extern":
            external = True
    unit = _BYTES[kind]
    for piece in _split_values(text):
        match = _DECLARATION.match(piece.strip())
        if match is None:
            raise ValueError(f"not a declaration: {piece.strip()[:80]}")
        name, dimensions, initial = match.groups()
        size = unit * lanes
        for extent in re.findall(r"\[\s*(\d*)\s*\]", dimensions):
            size *= int(extent or 0)
        data, relocations = _initial(initial, unit) if initial else (b"", ())
        size = max(size, len(data))
        if size > _LARGEST:
            raise ValueError(f"{name} is too large")
        yield Variable(
            name, SPACES[space], max(align, 1) if align else unit * lanes, size, function, data,
            relocations, external,
        )  # fmt: skip


def _split_values(text: str) -> list[str]:
    """Split at the commas outside of braces."""
    if "{" not in text:
        return text.split(",")
    pieces, depth, start = [], 0, 0
    for match in re.finditer(r"[{},]", text):
        mark = match.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
        elif depth == 0:
            pieces.append(text[start : match.start()])
            start = match.end()
    return [*pieces, text[start:]]


def _initial(text: str, unit: int) -> tuple[bytes, tuple[Relocation, ...]]:
    data = bytearray()
    relocations = []
    for raw in text.replace("{", " ").replace("}", " ").split(","):
        atom = raw.strip()
        if not atom:
            continue
        try:
            value = number(atom)
        except ValueError:
            relocations.append(_relocation(atom, len(data), unit))
            value = 0
        if unit == 4 and "." in atom:
            value = struct.unpack("<I", struct.pack("<f", float(atom)))[0]
        data += (value & ((1 << 8 * unit) - 1)).to_bytes(unit, "little")
    return bytes(data), tuple(relocations)


def _relocation(atom: str, offset: int, unit: int) -> Relocation:
    match = _ATOM.match(atom.replace(" ", ""))
    if match is None:
        raise ValueError(f"not an initialiser: {atom[:80]}")
    mask, symbol, first, second = match.groups()
    shift = 0
    if mask:
        pattern = int(mask, 0)
        shift = (pattern & -pattern).bit_length() - 1 if pattern else 0
    return Relocation(offset, unit, symbol, int(first or 0) + int(second or 0), shift)
