"""Decoding of bytes to text, in any common encoding."""

from __future__ import annotations

import codecs
from typing import NamedTuple

MAX_BYTES = 64 * 1024 * 1024
"""Most bytes of one sample; the rest is cut, and a note says so."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_PROBE = 65_536


class Decoded(NamedTuple):
    """A text with plain line ends, and notes on how it was decoded."""

    text: str
    notes: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded:
    """Return the text of some bytes; binary data gives an empty text and a note. Never raises."""
    notes: list[str] = []
    if len(data) > MAX_BYTES:
        notes.append(f"cut after {MAX_BYTES // 1024 // 1024} MB")
        data = data[:MAX_BYTES]
    text, note = _decode_body(data)
    return Decoded(clean(text), (*notes, note) if note else tuple(notes))


def clean(text: str) -> str:
    """Return a text with plain line ends, without a byte order mark and without lone surrogates."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _decode_body(data: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            note = "" if encoding == "utf-8" else f"read as {encoding}"
            return data[len(mark) :].decode(encoding, "replace"), note
    if wide := _wide_encoding(data):
        return data.decode(wide, "replace"), f"read as {wide}"
    if _is_binary(data):
        return "", f"not text: {len(data)} bytes of binary data"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return _guess(data)


def wide_encoding(data: bytes) -> str:
    """Return the UTF-16 or UTF-32 encoding of the bytes, known by their byte order mark or their zeros; else ""."""
    for mark, encoding in _MARKS[1:]:
        if data.startswith(mark):
            return encoding
    return _wide_encoding(data)


def _wide_encoding(data: bytes) -> str:
    """Return the UTF-16 encoding of text without a byte order mark: every other byte is zero."""
    probe = data[:_PROBE]
    if len(probe) < 8 or b"\0" not in probe:
        return ""
    half = len(probe) // 2
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if probe[offset::2].count(0) > 0.8 * half and probe[1 - offset :: 2].count(0) < 0.1 * half:
            return encoding
    return ""


def _is_binary(data: bytes) -> bool:
    probe = data[:_PROBE]
    controls = len(probe) - len(probe.translate(None, _CONTROL))
    return controls > 0.02 * len(probe)


def _guess(data: bytes) -> tuple[str, str]:
    """Read almost-UTF-8 as UTF-8 with replacements, anything else as Windows-1252."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if broken <= sum(character > "\x7f" for character in text) - broken:
        return text, f"{broken} broken characters replaced"
    return data.decode("cp1252", "replace"), "read as Windows-1252"
