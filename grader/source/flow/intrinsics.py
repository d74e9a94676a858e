"""CUDA's built-in names: thread indices, barriers, shuffles, atomics, cooperative groups, cub."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.source.flow.access import Accesses
from grader.source.flow.lowering import parse_expression
from grader.source.flow.state import Box
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import Call, Declare, Expr, Function, Lambda, Member, Name, Node
from grader.source.flow.values import (
    Bits,
    Pointer,
    Value,
    binary,
    join,
    some,
    spread,
    truth,
    unknown,
)

SHUFFLES = {
    "__shfl_sync": "idx",
    "__shfl_down_sync": "down",
    "__shfl_up_sync": "up",
    "__shfl_xor_sync": "xor",
    "__shfl": "idx",
    "__shfl_down": "down",
    "__shfl_up": "up",
    "__shfl_xor": "xor",
    "WARP_SHFL_DOWN": "down",
    "WARP_SHFL_XOR": "xor",
}
VOTES = {
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__reduce_add_sync",
    "__reduce_max_sync",
    "__reduce_min_sync",
    "__match_any_sync",
}
ATOMICS = {
    "atomicAdd",
    "atomicMax",
    "atomicMin",
    "atomicSub",
    "atomicExch",
    "atomicCAS",
    "atomicOr",
    "atomicAnd",
    "atomicXor",
    "atomicInc",
    "atomicDec",
    "atomicAdd_block",
    "gpuAtomicAdd",
    "atomicAdd_system",
    "atomicMaxFloat",
}
LOADS = {"__ldg", "__ldcg", "__ldcs", "__ldca", "__ldlu", "__ldcv"}
STORES = {"__stcs", "__stcg", "__stwb", "__stwt"}
QUIET = {
    "printf",
    "assert",
    "__threadfence",
    "__threadfence_block",
    "__nanosleep",
    "__assert_fail",
    "__threadfence_system",
    "__builtin_assume",
    "__prefetch_global_l1",
    "static_assert",
}
INTEGER = {
    "min": np.minimum,
    "max": np.maximum,
    "std::min": np.minimum,
    "std::max": np.maximum,
    "umin": np.minimum,
    "umax": np.maximum,
}


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: the block, the grid, or tiles of `size` threads."""

    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Cub:
    """A cub block or warp primitive bound to its storage."""

    scope: str


class Intrinsics(Accesses):
    """What CUDA gives a kernel."""

    block_shape: tuple[int, int, int]
    grid_shape: tuple[int | None, int | None, int | None]
    block_index: tuple[int, int, int]

    def call_function(self, function: Function, args: list[Value], call: Call) -> Value:
        """Run a helper function; defined by `expressions.Machine`."""
        raise NotImplementedError

    def call_lambda(self, item: Lambda, args: list[Value], call: Call) -> Value:
        """Run a lambda; defined by `expressions.Machine`."""
        raise NotImplementedError

    # --- indices -----------------------------------------------------------------------------

    def member(self, expr: Member) -> Value:
        """Return `base.name`."""
        if isinstance(expr.base, Name) and self.find(expr.base.id) is None:
            index = self.builtin(expr.base.id, expr.name)
            if index is not None:
                return index
        base = self.eval(expr.base)
        return unknown(base)

    def builtin(self, name: str, axis: str) -> Value | None:
        """Return `threadIdx.x` and its like."""
        if axis not in "xyz" or name not in {"threadIdx", "blockIdx", "blockDim", "gridDim"}:
            return None
        k = "xyz".index(axis)
        if name == "blockDim":
            return Value(self.block_shape[k], "u", False)
        if name == "gridDim":
            return Value(self.grid_shape[k], "u", False)
        if name == "blockIdx":
            return Value(self.block_index[k], "u", False)
        x, y, _ = self.block_shape
        if self.block_shape[k] == 1:
            return Value(0, "u", False)
        numbers = (self.ids % x, self.ids // x % y, self.ids // (x * y))[k]
        return Value(numbers, "u", False)

    def eval_text(self, text: str) -> Value:
        """Evaluate a piece of text, such as a template argument."""
        expr = parse_expression(text)
        return Value(None, varies=False) if expr is None else self.eval(expr)

    def construct(self, kind: str, stmt: Declare) -> Value | None:
        """Return the object that a declaration makes, for the types that are known."""
        if "thread_block_tile" in kind or kind.endswith("thread_block"):
            return None if stmt.init is not None else Value(None, varies=False)
        return None

    # --- calls -------------------------------------------------------------------------------

    def call(self, expr: Call) -> Value:
        """Evaluate a call."""
        if expr.base is not None:
            return self.method(expr)
        name = expr.name
        if name in {
            "__syncthreads",
            "__syncthreads_or",
            "__syncthreads_and",
            "__syncthreads_count",
        }:
            args = [self.eval(a) for a in expr.args]
            self.barrier(expr.node)
            out = unknown(*args)
            out.varies = False
            return out
        if name in SHUFFLES:
            return self._shuffle_call(expr)
        if name in VOTES:
            return self._vote(expr)
        if name in {"__syncwarp", "__activemask"}:
            self.warp_barrier()
            return Value(None, varies=True)
        if name in ATOMICS:
            return self._atomic(expr)
        if name in QUIET:
            for arg in expr.args:
                self.eval(arg)
            return Value(None, varies=False)
        return self._named_call(expr)

    def _named_call(self, expr: Call) -> Value:
        name = expr.name
        box = self.find(expr.qualified)
        if box is not None and isinstance(box.value.thing, Lambda):
            return self.call_lambda(box.value.thing, [self.eval(a) for a in expr.args], expr)
        function = self.program.named(name)
        if function is not None and function.kind != "global":
            return self.call_function(function, [self.eval(a) for a in expr.args], expr)
        macro = self.program.macros.get(name)
        if macro is not None:
            return self._macro(expr)
        if name in LOADS and expr.args:
            value = self.eval(expr.args[0])
            return self.load(value.pointer, expr.node)
        if name in STORES and len(expr.args) == 2:
            target, value = (self.eval(a) for a in expr.args)
            self.put(target.pointer, value, expr.node)
            return Value()
        made = self._group_call(expr)
        return made if made is not None else self._library(expr)

    def _macro(self, expr: Call) -> Value:
        macro = self.program.macros[expr.name]
        if (
            macro.expr is None
            or macro.parameters is None
            or len(macro.parameters) != len(expr.args)
        ):
            self.walk.stop_node = expr.node
            raise StopWalkError("a macro")
        if len(self.calls) > 20:
            return Value(None)
        scope = {p: Box(self.eval(a)) for p, a in zip(macro.parameters, expr.args, strict=True)}
        self.frames[-1].scopes.append(scope)
        self.calls.append(expr.node)
        try:
            return self.eval(macro.expr)
        finally:
            self.calls.pop()
            self.frames[-1].scopes.pop()

    def _library(self, expr: Call) -> Value:
        """Evaluate a function that the text doesn't define: mathematics, or not known."""
        args = [self.eval(a) for a in expr.args]
        if expr.name in INTEGER and len(args) == 2 and args[0].known and args[1].known:
            fold: Any = INTEGER[expr.name]
            number = fold(args[0].number, args[1].number)
            uniform = np.ndim(number) == 0
            plain = number.item() if uniform else number
            return Value(plain, args[0].type, False)
        if len(args) <= 2 and all(isinstance(a.number, int | float) for a in args) and args:
            number = _math(expr.name, [a.number for a in args])
            if number is not None:
                return Value(number, "d", False)
        if any(a.pointer is not None for a in args):
            for arg in args:
                self.escape(arg)
            out = unknown(*args)
            out.varies = True
            return out
        letter = _math_type(expr.name, args)
        return unknown(*args, type_=letter) if args else Value(None, varies=True)

    # --- warps -------------------------------------------------------------------------------

    def _shuffle_call(self, expr: Call) -> Value:
        args = [self.eval(a) for a in expr.args]
        synced = expr.name.endswith("_sync")
        if synced and args:
            self.check_mask(expr.node, args[0])
            args = args[1:]
        if len(args) < 2:
            return unknown(*args)
        width = args[2].scalar if len(args) > 2 else 32
        return self.shuffle(SHUFFLES[expr.name], args[0], args[1], width or 32, expr.node)

    def shuffle(self, kind: str, value: Value, by: Value, width: int, node: Node) -> Value:
        """Exchange a value inside the warps; follow whose data each thread then holds."""
        self.warp_barrier()
        self.order += 1
        self.walk.exchanges.append((self.order, node, self.calls[0] if self.calls else None, kind))
        if by.number is None or isinstance(by.number, float):
            out = unknown(value, by)
            out.varies, out.reduced = True, self.order
            if value.parts is not None:
                out.parts = self._warp_union(value.parts)
            return out
        lane = self.ids % width
        base = self.ids - lane
        other = {
            "down": lane + by.number,
            "up": lane - by.number,
            "xor": lane ^ np.asarray(by.number),
            "idx": spread(by.number, self.threads) % width,
        }[kind]
        source = np.where((other >= 0) & (other < width), base + other, self.ids)
        source = np.where(source < self.threads, source, self.ids)
        parts = (
            None if value.parts is None else np.broadcast_to(value.parts, self.own.shape)[source]
        )
        number = value.number[source] if isinstance(value.number, np.ndarray) else value.number
        uniform = kind == "idx" and self.threads <= 32 and not isinstance(by.number, np.ndarray)
        varies = not (uniform or value.uniform)
        out = Value(number, value.type, varies, parts, self.order, loaded=value.loaded)
        return self.settled(out) if kind == "idx" else out

    def _warp_union(self, parts: Bits) -> Bits:
        rows = np.broadcast_to(parts, self.own.shape).copy()
        for start in range(0, self.threads, 32):
            rows[start : start + 32] = np.bitwise_or.reduce(rows[start : start + 32], axis=0)
        return rows

    def check_mask(self, node: Node, mask: Value) -> None:
        """Report lanes that a shuffle's mask names and that are not there."""
        number = mask.scalar
        if number is None or self.doubt == 1:
            return
        if self.doubt == 2:
            self.emit(
                "shuffle-mask", node, other=self.doubt_node, sure=False, data={"mask": number}
            )
            return
        named = ((number >> (self.ids & 31)) & 1).astype(np.bool_)
        warps = np.unique(self.ids[self.mask] >> 5)
        here = np.isin(self.ids >> 5, warps)
        absent = here & named & ~self.mask
        if some(absent):
            gone = bool((absent & ~self.alive).sum() == absent.sum())
            warp = int(self.ids[absent][0] >> 5)
            active = int((self.mask & (self.ids >> 5 == warp)).sum())
            self.emit(
                "shuffle-mask",
                node,
                other=self.branch[-1] if self.branch else self.return_node,
                sure=True,
                thread=int(self.ids[absent][0]),
                count=int(absent.sum()),
                data={"mask": number, "exited": gone, "warp": warp, "active": active},
            )
        elif self.threads % 32 and number & 0xFFFFFFFF == 0xFFFFFFFF and self.mask[-1]:
            self.emit("shuffle-tail", node, sure=True, count=32 - self.threads % 32)

    def _vote(self, expr: Call) -> Value:
        args = [self.eval(a) for a in expr.args]
        if args:
            self.check_mask(expr.node, args[0])
        self.warp_barrier()
        out = unknown(*args[1:])
        out.varies = True
        if expr.name.startswith("__reduce") and out.parts is not None:
            out.parts, out.reduced = self._warp_union(out.parts), self.order
        return out

    # --- atomics -----------------------------------------------------------------------------

    def _atomic(self, expr: Call) -> Value:
        args = [self.eval(a) for a in expr.args]
        pointer = args[0].pointer if args else None
        value = unknown(*args[1:])
        if pointer is not None:
            if expr.name in {"atomicExch", "atomicCAS"} and pointer.region.space == "shared":
                self.escape(args[0])
            self.put(pointer, value, expr.node, atomic=True)
        return Value(None, varies=True, loaded=True)

    # --- cooperative groups and cub ----------------------------------------------------------

    def _group_call(self, expr: Call) -> Value | None:
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
        if group.kind == "tile" and group.size <= 32:
            self.warp_barrier()
        else:
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

    def method(self, expr: Call) -> Value:
        """Evaluate a call of a method."""
        base = self._method_base(expr.base)
        if isinstance(base.thing, Group):
            return self._group_method(base.thing, expr)
        if isinstance(base.thing, Lambda) and expr.name == "operator()":
            return self.call_lambda(base.thing, [self.eval(a) for a in expr.args], expr)
        args = [self.eval(a) for a in expr.args]
        if expr.name in {"Sum", "Reduce", "Max", "Min"} and args:
            return self._cub(expr, args[0])
        for arg in args:
            self.escape(arg)
        self.escape(base)
        return unknown(*args) if args else Value()

    def _method_base(self, expr: Expr | None) -> Value:
        if isinstance(expr, Call) and ("Reduce" in expr.name or "Scan" in expr.name):
            for arg in expr.args:
                self.escape(self.eval(arg))
            return Value(None, varies=False, thing=Cub(expr.name))
        return self.eval(expr) if expr is not None else Value()

    def _cub(self, expr: Call, value: Value) -> Value:
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

    def _group_method(self, group: Group, expr: Call) -> Value:
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


def _math(name: str, numbers: list[Any]) -> float | int | None:
    """Return a mathematical function of known numbers."""
    functions: dict[str, Any] = {
        "ceil": math.ceil,
        "ceilf": math.ceil,
        "floor": math.floor,
        "floorf": math.floor,
        "sqrt": math.sqrt,
        "log2": math.log2,
        "log2f": math.log2,
        "pow": math.pow,
        "abs": abs,
        "exp2": lambda v: 2.0**v,
        "round": round,
        "sqrtf": math.sqrt,
    }
    try:
        return functions[name](*numbers) if name in functions else None
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None


def _math_type(name: str, args: list[Value]) -> str | None:
    if name.endswith("f") or name.startswith("__"):
        return "f"
    kinds = {a.type for a in args}
    return "d" if "d" in kinds else "f" if "f" in kinds else None


__all__ = ["Cub", "Group", "Intrinsics", "Pointer", "binary", "join", "truth"]
