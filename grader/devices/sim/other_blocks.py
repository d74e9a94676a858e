"""A correct program at full size, away from its first block: blocks and rows that chance picks.

A program can be right in the blocks that a look is known to take, and leave the others out or have
them compute something cheaper. So some blocks anywhere in the grid run, and neighbours where the
inputs' rows are put this time: what they store there is compared, and how much all of them store
says whether so many blocks can write the whole result. Where the blocks are not laid out along the
rows, or where one alone writes a large part of the result, this shows nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from grader.records import JsonValue, Launch

BLOCKS = 96
"""Blocks that run; a sixth of them are neighbours (`chosen` in residents.cpp)."""
LEAST = 4 * BLOCKS
"""Blocks of a grid of which some are worth picking."""
FEW_BLOCKS = 1024
"""Blocks up to which all of a grid may run, where the first stores so little that so many can't write the result."""
SECONDS = 3.0
"""Processor time of them together."""
MOST_STORED = 4 << 20
"""Bytes that one block may store; one that writes all over the result touches too much memory."""
SHORT = 0.75
"""Part of the result below which what is stored is too little: chance moves it by some hundredths."""


@dataclass(frozen=True)
class Place:
    """Where the rows go, and which blocks run."""

    at: int
    """The first of the rows."""
    settings: Mapping[str, JsonValue]
    """Of the simulator."""


def place(launch: Launch, stored: int, rows: int, whole: int, seed: int) -> Place | None:
    """Return where to look, or None where it shows nothing.

    `launch` is the program's only one, whose first block stored so many bytes; `rows` of `whole`
    rows hold values.
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
    """Return the settings with which all blocks of a small grid run, where they seem to write too little; nothing where not.

    `first` are the bytes that the first block stored, `result` those of the result.
    """
    blocks = prod(launch.grid)
    if blocks > FEW_BLOCKS or first * blocks >= SHORT * result:
        return {}
    return {"max_blocks": blocks, "check_uninitialised": 0}


def shortfall(launch: Launch, first: int, stored: int, result: int) -> str:
    """Say that a grid can't write the whole result; "" where it may.

    `first` are the bytes that the first block stored, `stored` those of all the `BLOCKS` that ran,
    `result` those of the result. A grid that is larger than need be has blocks with nothing to do.
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
