"""Cooperative groups, and the exchanges of a warp: who holds what afterwards."""

from dataclasses import dataclass

EXCHANGES = {
    "__shfl_sync": "all",
    "__shfl_down_sync": "one",
    "__shfl_up_sync": "",
    "__shfl_xor_sync": "all",
    "__shfl": "all",
    "__shfl_down": "one",
    "__shfl_up": "",
    "__shfl_xor": "all",
    "WARP_SHFL_DOWN": "one",
    "WARP_SHFL_XOR": "all",
}
"""Exchanges by name, and who has the common result afterwards (`trace.Meeting.kind`)."""
OF_GROUPS = {
    "shfl": "all",
    "shfl_down": "one",
    "shfl_up": "",
    "shfl_xor": "all",
    "reduce": "all",
}
"""The same of a group's functions and methods."""


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
