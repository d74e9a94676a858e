"""Relays bytes between host and guest, and measures the guest's time for each frame.

A program of its own, by the standard library alone: in the host's process other threads hold the
interpreter for 5 ms at a time, and batches of 30 ms are timed. It checks none of the bytes; the host's decoder rejects
invalid frames.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from time import perf_counter

CHUNK = 1 << 20
BOARD = struct.Struct("<d")
"""Layout of the shared board: seconds from the host's last bytes to the end of the guest's last frame."""


class Frames:
    """Finds the ends of frames in a stream, by the lengths in their prefixes."""

    def __init__(self, layout: str) -> None:
        self._layout = struct.Struct(layout)
        self._prefix = b""
        self._left = 0

    def end_in(self, data: memoryview) -> bool:
        """Return whether these bytes hold the last one of a frame."""
        whole = False
        while data:
            if self._left:
                step = min(self._left, len(data))
                self._left -= step
                whole = whole or self._left == 0
            else:
                step = min(self._layout.size - len(self._prefix), len(data))
                self._prefix += bytes(data[:step])
                if len(self._prefix) == self._layout.size:
                    _, _, header, body = self._layout.unpack(self._prefix)
                    self._prefix, self._left = b"", header + body
            data = data[step:]
        return whole


class Relay:
    """Both directions, each in a thread that waits most of the time."""

    def __init__(self, board: int, layout: str) -> None:
        self._board = mmap.mmap(board, BOARD.size)
        self._frames = Frames(layout)
        self._sent = perf_counter()

    def orders(self, reader: int, writer: int) -> None:
        """Host to guest."""
        while data := os.read(reader, CHUNK):
            self._sent = perf_counter()
            _write(writer, data)
        os.close(writer)

    def answers(self, reader: int, writer: int) -> None:
        """Guest to host; the board is written before the host can see the frame."""
        while data := os.read(reader, CHUNK):
            took = perf_counter() - self._sent
            if self._frames.end_in(memoryview(data)):
                BOARD.pack_into(self._board, 0, took)
            _write(writer, data)
        os.close(writer)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def main(layout: str, *descriptors: str) -> None:
    """Relay until the guest's end is closed; a broken pipe is ignored, since no reader is left."""
    board, from_host, to_guest, from_guest, to_host = map(int, descriptors)
    relay = Relay(board, layout)
    threading.Thread(target=relay.orders, args=(from_host, to_guest), daemon=True).start()
    relay.answers(from_guest, to_host)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BrokenPipeError:
        os._exit(0)
