"""Which other blocks are looked at, and what too little of them says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.devices.sim.other_blocks import BLOCKS, LEAST, place, shortfall
from grader.records import Launch

BLOCK = 1024
"""Bytes that a block of these stores."""


def launch(blocks: int) -> Launch:
    return Launch(kernel="k", grid=(blocks, 1, 1), block=(256, 1, 1), shared_bytes=0)


@given(st.integers(1, 32), st.integers(64, 1 << 30), st.integers(0, 1 << 62))
def test_rows_lie_inside_and_the_blocks_beside_them(rows: int, whole: int, seed: int) -> None:
    where = place(launch(LEAST), BLOCK, rows, whole, seed)
    assert where is not None
    assert 0 <= where.at <= whole - rows
    at = where.settings["block_at"]
    assert isinstance(at, int)
    assert where.at - 1 <= at * whole / 1e6 + whole / 1e6
    assert at * whole / 1e6 <= where.at + rows + 1
    assert where == place(launch(LEAST), BLOCK, rows, whole, seed)


def test_small_grids_and_blocks_that_write_everywhere_are_left_alone() -> None:
    assert place(launch(LEAST - 1), BLOCK, 1, 100, 1) is None
    assert place(launch(LEAST), 1 << 30, 1, 100, 1) is None
    assert place(launch(LEAST), 0, 1, 100, 1) is None


def test_a_grid_that_fits_must_write_all() -> None:
    grid, whole = launch(1000), 1000 * BLOCK
    assert not shortfall(grid, BLOCK, BLOCKS * BLOCK, whole)
    assert "50% of the result" in shortfall(grid, BLOCK, BLOCKS * BLOCK // 2, whole)
    assert "50% of the result" in shortfall(launch(500), BLOCK, BLOCKS * BLOCK, whole)


def test_a_grid_that_is_larger_than_needed_has_idle_blocks() -> None:
    grid, whole = launch(4000), 1000 * BLOCK
    assert not shortfall(grid, BLOCK, BLOCKS * BLOCK // 8, whole)
