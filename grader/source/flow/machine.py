"""Walks all threads of one block through a function, statement by statement, in step.

Integers are followed exactly, data from memory is not: a branch on data is taken both ways and
nothing that happens in it is held against the kernel. This is neither a compiler nor the simulator;
it needs no toolchain, takes about a millisecond, and is silent about what it doesn't understand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.source.flow import memory
from grader.source.flow.memory import Clock, Region
from grader.source.flow.trace import Access, Event, StopWalkError, Walk
from grader.source.flow.tree import (
    Block,
    Declare,
    Evaluate,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Node,
    Opaque,
    Program,
    Return,
    Stmt,
)
from grader.source.flow.values import Mask, Value, blend, every, merge, some, spread, truth, unknown

STEP_LIMIT = 2500
CALL_DEPTH = 8


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
    scopes: list[dict[str, Box]]
    types: dict[str, str] = field(default_factory=dict)
    result: Value | None = None
    doubt: int = 0
    """Set by a `return` that may or may not have happened."""


@dataclass(slots=True)
class LoopFrame:
    """One run of a loop."""

    node: Node
    broken: Mask
    continued: Mask
    iteration: int = 0
    doubt: int = 0


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
        self.clock = Clock(0, np.zeros((threads + 31) // 32, np.int64))
        self.frames: list[Frame] = []
        self.loops: list[LoopFrame] = []
        self.calls: list[Node] = []
        self.doubt = 0
        """0: certain; 1: under a condition on data, the same for all threads; 2: not the same."""
        self.doubt_node: Node = None
        self.branch: list[Node] = []
        self.order = 0
        self.nodes: list[Node] = []
        self.node_index: dict[int, int] = {}
        self.seen: set[tuple[Any, ...]] = set()
        self.initialised = 0
        self.return_node: Node = None
        self.own = np.zeros((threads, self.words), np.uint64)
        self.own[self.ids, self.ids >> 6] = np.uint64(1) << (self.ids & 63).astype(np.uint64)
        self.full = np.bitwise_or.reduce(self.own, axis=0)

    # --- what was seen -----------------------------------------------------------------------

    def number_of(self, node: Node) -> int:
        """Return a small number for a node, to keep in arrays."""
        index = self.node_index.get(node.id)
        if index is None:
            index = self.node_index[node.id] = len(self.nodes)
            self.nodes.append(node)
        return index

    def emit(self, kind: str, node: Node, **details: Any) -> None:
        """Record an event once for each place."""
        other = details.get("other")
        key = (
            kind,
            node.id,
            other.id if other is not None else 0,
            self.calls[0].id if self.calls else 0,
            bool(details.get("data", {}).get("same_warp")),
        )
        if key in self.seen:
            return
        self.seen.add(key)
        details.setdefault("sure", self.doubt == 0)
        call = self.calls[0] if self.calls else None
        self.walk.events.append(Event(kind, node, call, **details))

    def reporter(self, node: Node, region: Region) -> Any:
        """Return the callback that the shadow memory reports conflicts to."""

        def report(kind: str, cells: Any, threads: Any, other: int, same_warp: bool) -> None:
            if self.doubt or region.escaped:
                return
            self.emit(
                kind,
                node,
                other=self.nodes[other] if other >= 0 else None,
                region=region,
                cell=int(cells[0]),
                thread=int(threads[0]),
                count=len(cells),
                data={
                    "same_warp": same_warp,
                    "cells": np.unique(cells),
                    "threads": np.unique(threads),
                    "exited": bool(not every(self.alive)),
                    "active": int(self.mask.sum()),
                    "written": 0 if region.shadow is None else int((region.shadow.state > 0).sum()),
                },
            )

        return report

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
        for scope in reversed(self.frames[-1].scopes):
            box = scope.get(name)
            if box is not None:
                return box
        return None

    def define(self, name: str, value: Value, type_: str = "?") -> None:
        """Declare a variable in the innermost scope."""
        self.frames[-1].scopes[-1][name] = Box(value, type_)

    def store(self, box: Box, value: Value) -> None:
        """Assign to a variable, in the active threads."""
        if box.type not in {"?", value.type}:
            value = Value(
                value.number,
                box.type,
                value.varies,
                value.parts,
                value.reduced,
                value.pointer,
                value.thing,
                value.loaded,
            )
            if box.type in "iul" and isinstance(value.number, float):
                value.number = int(value.number)
        if self.doubt:
            box.value = merge(box.value, value, self.doubt == 2)
        elif every(self.mask):
            box.value = value
        else:
            box.value = blend(box.value, value, self.mask)

    # --- barriers ----------------------------------------------------------------------------

    def barrier(self, node: Node) -> None:
        """Let the block meet at `__syncthreads()`."""
        self.walk.barriers += 1
        here = self.mask
        if self.doubt == 2:
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
        self.clock.epoch += 1

    def warp_barrier(self) -> None:
        """Let the active threads' warps meet."""
        self.clock.warps[np.unique(self.ids[self.mask] >> 5)] += 1

    def merge_doubt(self, saved: int) -> None:
        """Leave a construct: certain again, unless a jump in it may have happened."""
        pending = self.frames[-1].doubt if self.frames else 0
        for loop in self.loops:
            pending = max(pending, loop.doubt)
        self.doubt = max(saved, pending)


class Statements(State):
    """Control flow."""

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression; defined by `expressions.Machine`."""
        raise NotImplementedError

    def declare(self, stmt: Declare) -> None:
        """Declare a variable; defined by `expressions.Machine`."""
        raise NotImplementedError

    def skip_ahead(self, loop: Loop, frame: LoopFrame, grew: bool) -> None:
        """Jump to a loop's last turn; defined by `loops`."""
        raise NotImplementedError

    def havoc(self, loop: Loop) -> None:
        """Forget what a loop's body assigns; defined by `loops`."""
        raise NotImplementedError

    def run(self, stmt: Stmt) -> None:
        """Execute one statement in the active threads."""
        self.walk.steps += 1
        if self.walk.steps > STEP_LIMIT:
            self.walk.stop_node = stmt.node
            raise StopWalkError("too long")
        match stmt:
            case Evaluate():
                self.eval(stmt.expr)
            case Declare():
                self.declare(stmt)
            case Block():
                self.run_block(stmt)
            case If():
                self.run_if(stmt)
            case Loop():
                self.run_loop(stmt)
            case Return():
                self.run_return(stmt)
            case Jump():
                self.run_jump(stmt)
            case Opaque():
                self.walk.stop_node = stmt.node
                raise StopWalkError(stmt.reason)

    def run_block(self, stmt: Block) -> None:
        """Run statements in order in a scope of their own."""
        scopes = self.frames[-1].scopes
        scopes.append({})
        for part in stmt.body:
            if not some(self.mask):
                break
            self.run(part)
        scopes.pop()

    def run_if(self, stmt: If) -> None:
        """Run the branches, each with the threads that take it."""
        test = self.eval(stmt.test)
        held = truth(test)
        if isinstance(held, bool):
            branch = stmt.then if held else stmt.orelse
            if branch is not None:
                self.run(branch)
            return
        if held is None:
            self.run_both(stmt, 1 if test.uniform else 2)
            return
        before = self.mask
        self.branch.append(stmt.test.node)
        after = []
        for mask, branch in ((before & held, stmt.then), (before & ~held, stmt.orelse)):
            self.mask = mask
            if branch is not None and some(mask):
                self.run(branch)
            after.append(self.mask)
        self.mask = after[0] | after[1]
        self.branch.pop()

    def run_both(self, stmt: If, level: int) -> None:
        """Run both branches of a condition on data, without certainty."""
        saved, node = self.doubt, self.doubt_node
        for branch in (stmt.then, stmt.orelse):
            if branch is not None:
                if level >= saved:
                    self.doubt_node = stmt.test.node
                self.doubt = max(saved, level)
                self.run(branch)
        self.merge_doubt(saved)
        self.doubt_node = node if self.doubt == saved else self.doubt_node

    def run_return(self, stmt: Return) -> None:
        """Take the active threads out of the function."""
        frame = self.frames[-1]
        if stmt.value is not None:
            value = self.eval(stmt.value)
            if frame.result is None:
                frame.result = value
            elif self.doubt:
                frame.result = merge(frame.result, value, self.doubt == 2)
            else:
                frame.result = blend(frame.result, value, self.mask)
        if self.doubt:
            frame.doubt = max(frame.doubt, self.doubt)
            return
        if len(self.frames) == 1:
            self.alive = self.alive & ~self.mask
            self.return_node = self.branch[-1] if self.branch else stmt.node
        self.mask = np.zeros_like(self.mask)

    def run_jump(self, stmt: Jump) -> None:
        """Take the active threads out of the loop, or of this turn of it."""
        if not self.loops:
            return
        loop = self.loops[-1]
        if self.doubt:
            loop.doubt = max(loop.doubt, self.doubt)
            return
        if stmt.kind == "break":
            loop.broken |= self.mask
        else:
            loop.continued |= self.mask
        self.mask = np.zeros_like(self.mask)

    def run_loop(self, stmt: Loop) -> None:
        """Run a loop; long ones only at their beginning and their end."""
        scopes = self.frames[-1].scopes
        scopes.append({})
        if stmt.init is not None:
            for part in stmt.init.body if isinstance(stmt.init, Block) else (stmt.init,):
                self.run(part)
        saved = self.doubt
        frame = LoopFrame(stmt.node, np.zeros_like(self.mask), np.zeros_like(self.mask))
        self.loops.append(frame)
        branches = len(self.branch)
        left = self._turns(stmt, frame)
        del self.branch[branches:]
        self.loops.pop()
        self.mask = left | frame.broken
        self.merge_doubt(saved)
        scopes.pop()

    def _turns(self, stmt: Loop, frame: LoopFrame) -> Mask:
        """Run the turns of a loop; return the threads that left it by its test."""
        left = np.zeros_like(self.mask)
        while True:
            if stmt.test is not None and (stmt.kind != "do" or frame.iteration > 0):
                test = self.eval(stmt.test)
                held = truth(test)
                if held is None:
                    return left | self._unknown_turns(stmt, 1 if test.uniform else 2)
                if isinstance(held, np.ndarray):
                    left = left | (self.mask & ~held)
                    if (
                        len(left)
                        and some(left)
                        and (not self.branch or self.branch[-1] != stmt.test.node)
                    ):
                        self.branch.append(stmt.test.node)
                    self.mask = self.mask & held
                elif not held:
                    return left | self.mask
                if not some(self.mask):
                    return left
            before = self.initialised
            self.run(stmt.body)
            self.mask = self.mask | frame.continued
            frame.continued = np.zeros_like(self.mask)
            if not some(self.mask):
                return left
            if stmt.step is not None:
                self.eval(stmt.step)
            frame.iteration += 1
            if frame.iteration >= 2:
                self.skip_ahead(stmt, frame, self.initialised > before)

    def _unknown_turns(self, stmt: Loop, level: int) -> Mask:
        """Run a loop of unknown length once, without certainty."""
        saved, node = self.doubt, self.doubt_node
        self.doubt = max(saved, level)
        self.doubt_node = stmt.test.node if stmt.test is not None else stmt.node
        entry = self.mask
        self.run(stmt.body)
        if stmt.step is not None:
            self.eval(stmt.step)
        self.havoc(stmt)
        self.doubt, self.doubt_node = saved, node
        return entry


def forget(value: Value) -> Value:
    """Return a value of which only the dependences are kept."""
    out = unknown(value)
    out.thing = value.thing
    out.pointer = value.pointer
    if out.pointer is not None and out.pointer.region.space == "global":
        out.pointer = memory_pointer_forgotten(out.pointer)
    return out


def memory_pointer_forgotten(pointer: Any) -> Any:
    """Return the pointer with an unknown offset into the same region."""
    return type(pointer)(pointer.region, None, True, pointer.scale, pointer.depth, pointer.type)


__all__ = ["Box", "Frame", "LoopFrame", "State", "Statements", "forget", "memory"]
