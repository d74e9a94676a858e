"""Large pages for the fork server's memory: a fork copies an entry for each page, 40,000 small ones after torch's import.

Memory that a child writes to is copied in small pages, as usual.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

SIZE = 2 << 20
"""Bytes of a large page on x86-64 and on most of ARM; with another size the kernel refuses, and nothing changes."""
COLLAPSE = 25
"""MADV_COLLAPSE, since Linux 6.1; an older kernel refuses."""


def use_large_pages() -> None:
    """Move this process's written memory into large pages, as far as the kernel has some."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, length in _own_memory():
        advise(start, length, COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """Yield address and size of regions for large pages: this process's anonymous memory."""
    with open("/proc/self/maps") as maps:  # noqa: PTH123 - as light as can be
        regions = [line.split() for line in maps]
    for place, access, _, _, inode, *_ in regions:
        if access == "rw-p" and inode == "0":
            begin, end = (int(part, 16) for part in place.split("-"))
            first, beyond = -(-begin // SIZE) * SIZE, end // SIZE * SIZE
            if first < beyond:
                yield first, beyond - first
