"""What walking a block of threads through a kernel showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.source.flow.memory import Region
from grader.source.flow.program import Function
from grader.source.flow.tree import LaunchCall, Node
from grader.source.flow.values import Mask, Value


class StopWalkError(Exception):
    """The walk can't go on: out of budget, or past something that isn't understood."""


@dataclass(slots=True)
class Event:
    """Something that must not happen, or a step of a reduction, at a place of the kernel."""

    kind: str
    node: Node
    call: Node = None
    """The outermost call in the kernel when `node` is in a helper function."""
    other: Node = None
    """The second access of a race, the branch that keeps threads away, the `return`."""
    region: Region | None = None
    sure: bool = True
    """False under a condition on data, which may or may not hold."""
    cell: int = 0
    thread: int = 0
    count: int = 0
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Access:
    """One access to global memory by the active threads of the block."""

    kind: str
    """`load`, `store`, `atomic`."""
    region: Region
    node: Node
    call: Node
    offsets: npt.NDArray[np.int64] | None
    """Element offset in each thread; None when not known."""
    mask: Mask
    sure: bool
    loops: tuple[tuple[int, int], ...]
    """Node id and iteration of the loops around it, outermost first."""
    scale: int = 1
    uniform: bool = False
    value: Value | None = None
    order: int = 0
    wide: bool = True
    """Whether the index was computed in 64 bits."""


@dataclass(slots=True)
class Launch:
    """A kernel launch as the host code makes it for one set of sizes."""

    call: LaunchCall
    host: Function
    kernel: str
    grid: tuple[int | None, int | None, int | None]
    block: tuple[int | None, int | None, int | None]
    shared: int | None
    arguments: tuple[Value, ...]
    template: tuple[str, ...]
    sure: bool
    """False in a branch of the host code whose condition isn't known."""

    @property
    def threads(self) -> int | None:
        """Threads a block."""
        x, y, z = self.block
        return None if x is None or y is None or z is None else x * y * z


@dataclass(slots=True)
class Walk:
    """One block of one launch, walked through."""

    kernel: Function
    launch: Launch
    block_index: tuple[int, int, int]
    events: list[Event] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    exchanges: list[tuple[int, Node, Node, str]] = field(default_factory=list)
    """Shuffles: order, place, the call in the kernel that leads to it, and the kind."""
    vectors: list[tuple[Node, Any, int]] = field(default_factory=list)
    """Casts to vector types: place, pointer, and elements of the pointer's type in one vector."""
    stopped: str = ""
    """Why the walk ended before the kernel did."""
    steps: int = 0
    barriers: int = 0

    @property
    def threads(self) -> int:
        """Threads in the block."""
        return self.launch.threads or 0
