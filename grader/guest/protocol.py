"""Frames between host and guest: a closed JSON header and raw bytes, everything length-checked.

Layout, little-endian: magic (4 bytes), sequence number (u32), header length (u32), body length
(u64), header (a JSON object in UTF-8 with exactly the keys of its kind), body. The receiving side believes nothing: any
violation is a `ProtocolError`, which on the host becomes a verdict.

Imported by both sides; the standard library only.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.guest.kinds import BIG, ITEM_SIZES, KINDS, MAX_BODIES

# Bound now, since generated code that shares the process may replace them.
_write, _readv = os.write, os.readv
MAGIC = b"KGF1"
PREFIX = struct.Struct("<4sIIQ")
MAX_HEADER = 1 << 16
MAX_BODY = 16 << 30
CHUNK = 1 << 20


class ProtocolError(Exception):
    """The other side sent an invalid frame."""


@dataclass(frozen=True)
class Frame:
    """A message: kind, header values, and raw bytes."""

    kind: str
    header: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | bytearray | memoryview = b""


def element_count(shape: list[int]) -> int:
    """Return the number of elements; raises ProtocolError beyond what any machine could hold."""
    if math.prod(max(size, 1) for size in shape) > BIG:
        raise ProtocolError("a tensor of more elements than fit into any memory")
    return math.prod(shape)


def check_prefix(magic: bytes, sequence: int, due: int, header_length: int) -> None:
    """Raise ProtocolError unless a frame begins here with the expected sequence number."""
    if magic != MAGIC:
        raise ProtocolError("bytes that begin no frame")
    if sequence != due & 0xFFFFFFFF:
        raise ProtocolError(f"frame {sequence} where {due} was due")
    if header_length > MAX_HEADER:
        raise ProtocolError(f"a header of {header_length} bytes")


def check_body(kind: str, header: Mapping[str, Any], size: int) -> None:
    """Raise ProtocolError unless a body of `size` bytes fits its kind (and a tensor's header)."""
    if kind in {"tensor", "output"}:
        check_tensor(header, size)
    elif size > MAX_BODIES.get(kind, 0):
        raise ProtocolError(f"a {kind} frame with a body of {size} bytes")


def check_tensor(header: Mapping[str, Any], size: int) -> None:
    """Raise ProtocolError unless `size` matches the header's dtype and shape."""
    if len(header["shape"]) != len(header["strides"]):
        raise ProtocolError("a tensor with another number of strides than dimensions")
    wanted = element_count(header["shape"]) * ITEM_SIZES[header["dtype"]]
    if wanted != size:
        raise ProtocolError(f"a tensor of {size} bytes where its header says {wanted}")


def encode(frame: Frame, sequence: int) -> bytes:
    """Return prefix and header of a frame; the body follows unchanged."""
    header = json.dumps({"kind": frame.kind, **frame.header}, allow_nan=False).encode()
    if len(header) > MAX_HEADER:
        raise ProtocolError(f"a header of {len(header)} bytes")
    return PREFIX.pack(MAGIC, sequence & 0xFFFFFFFF, len(header), len(frame.body)) + header


def decode_header(text: bytes) -> tuple[str, dict[str, Any]]:
    """Return kind and values of a header; raises ProtocolError for anything but a known one."""
    try:
        header = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a header that is no JSON: {str(error)[:200]}") from None
    if not isinstance(header, dict):
        raise ProtocolError("a header that is no object")
    kind = header.pop("kind", None)
    checks = KINDS.get(kind) if isinstance(kind, str) else None
    if checks is None:
        raise ProtocolError(f"a frame of unknown kind {str(kind)[:40]!r}")
    if header.keys() != checks.keys():
        raise ProtocolError(f"a {kind} frame with other keys than its own")
    for key, check in checks.items():
        if not check(header[key]):
            raise ProtocolError(f"a {kind} frame whose {key} is out of bounds")
    return str(kind), header


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ProtocolError("a header that names a key twice")
    return result


def _no_constant(name: str) -> None:
    raise ProtocolError(f"a header that holds {name}")


@dataclass(frozen=True)
class _Begun:
    """A frame whose header has been read; `body` and `end` are offsets in the buffer."""

    kind: str
    header: dict[str, Any]
    body: int
    end: int


class Decoder:
    """Splits a stream of bytes into frames; holds at most one incomplete frame.

    `limit` is the most bytes in total; beyond it `feed` raises ProtocolError.
    """

    def __init__(self, limit: int = MAX_BODY) -> None:
        self.limit = limit
        self._buffer = bytearray()
        self._begun: _Begun | None = None
        self._sequence = 0
        self._spent = 0

    def feed(self, data: bytes | memoryview) -> Iterator[Frame]:
        """Yield each frame that these bytes complete; raises ProtocolError at the first bad one."""
        self._buffer += data
        while begun := self._begun or self._begin():
            self._begun = begun
            if len(self._buffer) < begun.end:
                return
            body = bytes(memoryview(self._buffer)[begun.body : begun.end])
            del self._buffer[: begun.end]
            self._begun = None
            self._sequence += 1
            self._spent += begun.end
            yield Frame(begun.kind, begun.header, body)

    def _begin(self) -> _Begun | None:
        """Check prefix and header as soon as they are complete, before any of the body is kept."""
        if len(self._buffer) < PREFIX.size:
            return None
        magic, sequence, header_length, body_length = PREFIX.unpack_from(self._buffer)
        check_prefix(magic, sequence, self._sequence, header_length)
        if self._spent + body_length > self.limit:
            raise ProtocolError(f"more than the {self.limit} bytes allowed in all")
        body = PREFIX.size + header_length
        if len(self._buffer) < body:
            return None
        kind, header = decode_header(bytes(self._buffer[PREFIX.size : body]))
        check_body(kind, header, body_length)
        return _Begun(kind, header, body, body + body_length)


class Channel:
    """The guest's end: blocking frames over two file descriptors."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._sent = 0
        self._received = 0

    def receive(self, *kinds: str) -> Frame:
        """Return the next frame; raises ProtocolError if it is none of `kinds`, or at the end."""
        prefix = self._read_bytes(PREFIX.size)
        magic, sequence, header_length, body_length = PREFIX.unpack(prefix)
        check_prefix(magic, sequence, self._received, header_length)
        kind, header = decode_header(bytes(self._read_bytes(header_length)))
        if kind not in kinds:
            raise ProtocolError(f"a {kind} frame where {' or '.join(kinds)} was due")
        check_body(kind, header, body_length)
        body = self._read_bytes(body_length)
        self._received += 1
        return Frame(kind, header, body)

    def send(self, kind: str, body: bytes | bytearray | memoryview = b"", **header: object) -> None:
        """Write one complete frame."""
        frame = Frame(kind, header, body)
        self._write(encode(frame, self._sent))
        self._write(body)
        self._sent += 1

    def _read_bytes(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        filled = 0
        while filled < size:
            count = _readv(self._reader, [view[filled : filled + CHUNK]])
            if count == 0:
                raise ProtocolError("the other side has closed the channel")
            filled += count
        return data

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data)
        while view:
            view = view[_write(self._writer, view[:CHUNK]) :]
