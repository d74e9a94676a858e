"""Cooperative groups: which threads meet, and what they exchange."""

from __future__ import annotations

from dataclasses import dataclass

from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import Call, Name, Node
from grader.source.flow.values import Value, joined, unknown
from grader.source.flow.warps import Warps


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: the block, the grid, or tiles of `size` threads."""

    kind: str
    size: int


class Groups(Warps):
    """Calls of groups."""

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
            return joined(self.eval(expr.args[1]))
        return None

    def group_sync(self, group: Group, node: Node) -> None:
        """Let a group's threads meet."""
        if group.kind != "tile" or group.size > 32:
            self.barrier(node)

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
