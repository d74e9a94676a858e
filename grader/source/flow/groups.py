"""Cooperative groups and cub's reductions: which threads meet, and who then holds the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import Call, Name, Node
from grader.source.flow.values import Value, unknown
from grader.source.flow.warps import Warps


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: the block, the grid, or tiles of `size` threads."""

    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Cub:
    """A cub block or warp primitive bound to its storage."""

    scope: str


class Groups(Warps):
    """Calls of groups, and of cub's block and warp primitives."""

    def eval_text(self, text: str) -> Value:
        """Evaluate a piece of text; defined by `intrinsics.Intrinsics`."""
        raise NotImplementedError

    def group_call(self, expr: Call) -> Value | None:
        """Evaluate a call that makes a group or is one of its functions; None for any other."""
        name = expr.name
        if name == "this_thread_block":
            return Value(None, varies=False, thing=Group("block", self.threads))
        if name == "this_grid":
            return Value(None, varies=False, thing=Group("grid", self.threads))
        if name == "tiled_partition":
            size = self.eval_text(expr.template[0]).scalar if expr.template else None
            if size is None and len(expr.args) > 1:
                size = self.eval(expr.args[1]).scalar
            return Value(None, varies=False, thing=Group("tile", size or 32))
        if name == "coalesced_threads":
            raise StopWalkError("a group of the threads that happen to be active")
        if not expr.args:
            return None
        first = self.eval(expr.args[0]) if isinstance(expr.args[0], Name) else None
        group = first.thing if first is not None else None
        if not isinstance(group, Group):
            return None
        if name == "sync":
            self.group_sync(group, expr.node)
            return Value()
        if name in {"reduce", "inclusive_scan", "exclusive_scan"} and len(expr.args) > 1:
            return self.group_reduce(group, self.eval(expr.args[1]))
        return None

    def group_sync(self, group: Group, node: Node) -> None:
        """Let a group's threads meet."""
        if group.kind != "tile" or group.size > 32:
            self.barrier(node)
        if group.kind == "grid":
            self.emit("grid-sync", node)

    def group_reduce(self, group: Group, value: Value) -> Value:
        """Return what each thread of a group gets from a sum over it."""
        out = unknown(value)
        out.varies, out.reduced = True, self.order
        if value.parts is not None:
            rows = np.broadcast_to(value.parts, self.own.shape).copy()
            for start in range(0, self.threads, group.size):
                part = rows[start : start + group.size]
                rows[start : start + group.size] = np.bitwise_or.reduce(part, axis=0)
            out.parts = rows
        return out

    def cub_reduction(self, expr: Call, value: Value) -> Value:
        """Return cub's reduction: only the first thread of the block or warp has the result."""
        out = unknown(value)
        out.varies, out.reduced = True, self.order
        name = expr.base.name if isinstance(expr.base, Call) else ""
        kind = self.program.aliases.get(name, name)
        size = 32 if "Warp" in kind or "Warp" in name else self.threads
        if value.parts is not None:
            rows = self.own.copy()
            full = np.broadcast_to(value.parts, self.own.shape)
            for start in range(0, self.threads, size):
                rows[start] = np.bitwise_or.reduce(full[start : start + size], axis=0)
            out.parts = rows
        return out

    def group_method(self, group: Group, expr: Call) -> Value:
        """Evaluate a method of a group."""
        name = expr.name
        args = [self.eval(a) for a in expr.args]
        if name in {"sync", "arrive", "wait"}:
            self.group_sync(group, expr.node)
            return Value()
        if name == "thread_rank":
            return Value(self.ids % group.size, "u")
        if name in {"size", "num_threads"}:
            return Value(group.size if group.kind != "grid" else None, "u", False)
        if name == "meta_group_rank":
            return Value(self.ids // group.size, "u")
        if name == "meta_group_size":
            return Value((self.threads + group.size - 1) // group.size, "u", False)
        kinds = {"shfl": "idx", "shfl_down": "down", "shfl_up": "up", "shfl_xor": "xor"}
        if name in kinds and len(args) > 1:
            self.check_mask(expr.node, Value(0xFFFFFFFF if group.size >= 32 else None, "u", False))
            return self.shuffle(kinds[name], args[0], args[1], min(group.size, 32), expr.node)
        out = unknown(*args)
        out.varies = True
        return out
