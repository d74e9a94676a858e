"""Cooperative groups, and the exchanges of a warp: who holds what afterwards."""

from __future__ import annotations

from dataclasses import dataclass

EXCHANGES = {
    "__shfl_sync": "xor",
    "__shfl_down_sync": "down",
    "__shfl_up_sync": "",
    "__shfl_xor_sync": "xor",
    "__shfl": "xor",
    "__shfl_down": "down",
    "__shfl_up": "",
    "__shfl_xor": "xor",
    "WARP_SHFL_DOWN": "down",
    "WARP_SHFL_XOR": "xor",
    "shfl": "xor",
    "shfl_down": "down",
    "shfl_up": "",
    "shfl_xor": "xor",
    "reduce": "xor",
}
"""Shuffles, and what `Value.exchanged` says of their results."""


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: the block, the grid, or tiles of `size` threads."""

    kind: str
    size: int


def made_group(name: str, threads: int, size: int) -> Group | None:
    """Return the group that a function makes, if it makes one."""
    kinds = {"this_thread_block": "block", "this_grid": "grid", "tiled_partition": "tile"}
    kind = kinds.get(name)
    return Group(kind, size if kind == "tile" else threads) if kind is not None else None


def number_of_group(group: Group, name: str, thread: int, threads: int) -> int | None:
    """Return what a group tells of itself, or of a thread in it."""
    if group.kind == "grid":
        return None
    if name in {"size", "num_threads"}:
        return group.size
    known = {
        "thread_rank": thread % group.size,
        "meta_group_rank": thread // group.size,
        "meta_group_size": -(-threads // group.size),
    }
    return known.get(name)
