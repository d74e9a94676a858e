"""Memory of a parent in large pages: a fork copies an entry for each page, and there are 40,000 small ones after torch's import.

What a child writes to is copied in small pages, as ever.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

SIZE = 2 << 20
"""Bytes of a large page on x86-64 and on most of ARM; where it is another, the kernel refuses, and nothing changes."""
COLLAPSE = 25
"""MADV_COLLAPSE, since Linux 6.1; an older kernel refuses."""


def use_large_pages() -> None:
    """Put what this process has written so far into large pages, as far as the kernel has some."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, length in _own_memory():
        advise(start, length, COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """Yield where large pages may lie, and how many bytes of them: in memory of this process's own, in no file's."""
    with open("/proc/self/maps") as maps:  # noqa: PTH123 - as light as can be
        regions = [line.split() for line in maps]
    for place, access, _, _, inode, *_ in regions:
        if access == "rw-p" and inode == "0":
            begin, end = (int(part, 16) for part in place.split("-"))
            first, beyond = -(-begin // SIZE) * SIZE, end // SIZE * SIZE
            if first < beyond:
                yield first, beyond - first
