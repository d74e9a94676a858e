"""Memory of a parent of guests in large pages."""

from __future__ import annotations

import mmap

from grader.guest.large_pages import SIZE, _own_memory, use_large_pages


def test_what_is_in_memory_stays_and_files_are_left_alone() -> None:
    held = mmap.mmap(-1, 3 * SIZE, mmap.MAP_PRIVATE)
    held.write(b"grader" * 1000)
    places = dict(_own_memory())
    assert places
    assert all(
        start % SIZE == 0 and length % SIZE == 0 < length for start, length in places.items()
    )
    use_large_pages()
    assert held[:6000] == b"grader" * 1000
