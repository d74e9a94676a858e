"""The threads of a block while it is walked: who is active, what variables hold, what was seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from grader.source.flow.memory import Region
from grader.source.flow.program import Function, Program
from grader.source.flow.trace import Access, Event, Walk
from grader.source.flow.tree import Node
from grader.source.flow.values import Bits, Mask, Value, blend, divergence, every, merge, spread


class Box:
    """A variable: references share it."""

    __slots__ = ("type", "value")

    def __init__(self, value: Value, type_: str = "?") -> None:
        self.value = value
        self.type = type_


@dataclass(slots=True)
class Frame:
    """One call of a function."""

    function: Function | None
    entry: Mask
    names: dict[str, Box]
    """The variables in sight."""
    types: dict[str, str] = field(default_factory=dict)
    result: Value | None = None
    doubt: int = 0
    """Set by a `return` that may or may not have happened."""
    hidden: list[list[tuple[str, Box | None]]] = field(default_factory=list)
    """For each open scope what its names stood for outside."""

    def open(self) -> None:
        """Begin a scope."""
        self.hidden.append([])

    def close(self) -> None:
        """End the innermost scope: its names stand again for what they did outside."""
        for name, outside in reversed(self.hidden.pop()):
            if outside is None:
                del self.names[name]
            else:
                self.names[name] = outside

    def bind(self, name: str, box: Box) -> None:
        """Declare a name in the innermost scope."""
        if self.hidden:
            self.hidden[-1].append((name, self.names.get(name)))
        self.names[name] = box


@dataclass(slots=True)
class LoopFrame:
    """One run of a loop."""

    node: Node
    broken: Mask
    continued: Mask
    iteration: int = 0
    doubt: int = 0


def converted(value: Value, type_: str) -> Value:
    """Return a value as a variable of a type holds it."""
    if type_ in {"?", value.type}:
        return value
    number = value.number
    if type_ in "iul" and isinstance(number, float):
        number = int(number)
    return Value(
        number,
        type_,
        value.varies,
        value.parts,
        value.reduced,
        value.pointer,
        value.thing,
        value.loaded,
        value.like,
    )


class State:
    """The threads of a block: who is active, what variables hold, and what was seen so far."""

    def __init__(self, program: Program, walk: Walk, threads: int) -> None:
        self.program = program
        self.walk = walk
        self.threads = threads
        self.words = (threads + 63) // 64
        self.ids = np.arange(threads, dtype=np.int64)
        self.mask: Mask = np.ones(threads, np.bool_)
        self.alive: Mask = np.ones(threads, np.bool_)
        self.nobody: Mask = np.zeros(threads, np.bool_)
        """No thread; never written to, like every mask."""
        self.warp_of = self.ids >> 5
        self.frames: list[Frame] = []
        self.loops: list[LoopFrame] = []
        self.calls: list[Node] = []
        self.doubt = 0
        """0: certain; 1: under a condition on data, the same for all threads; 2: the same within each warp;
        3: not the same."""
        self.doubt_node: Node = None
        self.branch: list[Node] = []
        self.order = 0
        self.seen: set[tuple[Any, ...]] = set()
        self.initialised = 0
        self.epoch = 1
        self.places: dict[int, Node] = {}
        self.return_node: Node = None

    @cached_property
    def own(self) -> Bits:
        """A row a thread, with that thread's bit only."""
        rows = np.zeros((self.threads, self.words), np.uint64)
        rows[self.ids, self.ids >> 6] = np.uint64(1) << (self.ids & 63).astype(np.uint64)
        return rows

    @cached_property
    def full(self) -> Bits:
        """The row with every thread's bit."""
        row: Bits = np.bitwise_or.reduce(self.own, axis=0)
        return row

    # --- what was seen -----------------------------------------------------------------------

    def emit(self, kind: str, node: Node, **details: Any) -> None:
        """Record an event once for each place."""
        other = details.get("other")
        key = (
            kind,
            node.id,
            other.id if other is not None else 0,
            self.calls[0].id if self.calls else 0,
        )
        if key in self.seen:
            return
        self.seen.add(key)
        details.setdefault("sure", self.doubt == 0)
        call = self.calls[0] if self.calls else None
        self.walk.events.append(Event(kind, node, call, **details))

    def access(self, kind: str, region: Region, node: Node, offset: Value, **details: Any) -> None:
        """Record an access to global memory."""
        number = offset.number
        offsets = None if number is None else spread(number, self.threads)
        self.order += 1
        self.walk.accesses.append(
            Access(
                kind,
                region,
                node,
                self.calls[0] if self.calls else None,
                offsets,
                self.mask,
                self.doubt == 0,
                tuple((f.node.id, f.iteration) for f in self.loops),
                uniform=offset.uniform,
                order=self.order,
                wide=offset.type == "l",
                **details,
            )
        )

    # --- variables ---------------------------------------------------------------------------

    def find(self, name: str) -> Box | None:
        """Return the variable of that name in the current function."""
        return self.frames[-1].names.get(name)

    def define(self, name: str, value: Value, type_: str = "?") -> None:
        """Declare a variable in the innermost scope."""
        self.frames[-1].bind(name, Box(value, type_))

    def store(self, box: Box, value: Value) -> None:
        """Assign to a variable, in the active threads."""
        value = converted(value, box.type)
        if self.doubt:
            warps = self.doubt == 2 and max(divergence(box.value), divergence(value)) < 3
            box.value = merge(box.value, value, self.doubt > 1)
            if warps:
                box.value.like = self.warp_of
        elif every(self.mask):
            box.value = value
        else:
            box.value = blend(box.value, value, self.mask)

    # --- barriers ----------------------------------------------------------------------------

    def barrier(self, node: Node) -> None:
        """Let the block meet at `__syncthreads()`."""
        self.walk.barriers += 1
        here = self.mask
        if self.doubt > 1:
            self.emit("barrier-divergence", node, other=self.doubt_node, sure=False)
        elif not np.array_equal(here, self.alive):
            missing = self.alive & ~here
            self.emit(
                "barrier-divergence",
                node,
                other=self.branch[-1] if self.branch else None,
                sure=True,
                thread=int(np.argmax(missing)),
                count=int(missing.sum()),
                data={"here": int(here.sum())},
            )
        elif not every(self.alive):
            self.emit(
                "barrier-exited",
                node,
                other=self.return_node,
                sure=True,
                thread=int(np.argmin(self.alive)),
                count=int((~self.alive).sum()),
            )
        self.epoch += 1

    def merge_doubt(self, saved: int) -> None:
        """Leave a construct: certain again, unless a jump in it may have happened."""
        pending = self.frames[-1].doubt if self.frames else 0
        for loop in self.loops:
            pending = max(pending, loop.doubt)
        self.doubt = max(saved, pending)
