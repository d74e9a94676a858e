"""A correct program at full size, in randomly chosen blocks and rows away from the first block.

A program could be right only in the blocks that a predictable check runs, and skip or cheapen the others. So some
random blocks of the grid run, and adjacent ones where the inputs' rows are put this time: their stores are compared,
and the total of stored bytes shows whether the grid can write the whole result. Where the blocks are not laid out along
the rows, or where one block writes a large part of the result, this is inconclusive.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from grader.records import JsonValue, Launch

BLOCKS = 96
"""Number of blocks that run; a sixth of them are adjacent (`chosen` in residents.cpp)."""
LEAST = 4 * BLOCKS
"""Least number of blocks in a grid for a random choice."""
FEW_BLOCKS = 1024
"""Most blocks of a grid to run completely, where the first stores too little for all of them to write the result."""
SECONDS = 3.0
"""Most CPU time of all blocks together."""
MOST_STORED = 4 << 20
"""Most bytes stored by one block; a block that writes all over the result touches too much memory."""
SHORT = 0.75
"""Share of the result below which too little is stored; the random choice changes it by a few percent."""


@dataclass(frozen=True)
class Place:
    """Position of the rows, and the blocks that run."""

    at: int
    """Index of the first row."""
    settings: Mapping[str, JsonValue]
    """Settings of the simulator."""


def place(launch: Launch, stored: int, rows: int, whole: int, seed: int) -> Place | None:
    """Return the place to check, or None where a check would be inconclusive.

    `launch` is the program's only one, whose first block stored `stored` bytes; `rows` of `whole` rows have values.
    """
    if prod(launch.grid) < LEAST or not 0 < stored <= MOST_STORED:
        return None
    chance = random.Random(seed)  # noqa: S311 - the seed is secret
    centre = chance.randrange(whole)
    settings: dict[str, JsonValue] = {
        "max_blocks": BLOCKS,
        "block_seed": chance.getrandbits(62) + 1,
        "block_at": int(1e6 * (centre + 0.5) / whole),
        "seconds": SECONDS,
        "check_uninitialised": 0,  # most rows hold nothing
    }
    return Place(max(0, min(centre - rows // 2, whole - rows)), settings)


def run_all(launch: Launch, first: int, result: int) -> Mapping[str, JsonValue]:
    """Return the settings to run all blocks of a small grid, where they seem to write too little; else none.

    `first` are the bytes that the first block stored, `result` those of the result.
    """
    blocks = prod(launch.grid)
    if blocks > FEW_BLOCKS or first * blocks >= SHORT * result:
        return {}
    return {"max_blocks": blocks, "check_uninitialised": 0}


def shortfall(launch: Launch, first: int, stored: int, result: int) -> str:
    """Return a sentence that a grid can't write the whole result; "" where it may.

    `first` are the bytes that the first block stored, `stored` those of all the `BLOCKS` that ran,
    `result` those of the result. A grid that is larger than necessary has idle blocks.
    """
    blocks = prod(launch.grid)
    expected = stored / BLOCKS * blocks
    exact = first * blocks <= 1.05 * result
    if expected >= SHORT * result or not exact:
        return ""
    share = 100 * expected / result
    return (
        f"{launch.kernel} writes about {share:.0f}% of the result: {BLOCKS} of its {blocks} blocks "
        f"stored {stored} bytes together, and nothing else writes there"
    )
