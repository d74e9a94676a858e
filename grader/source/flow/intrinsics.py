"""CUDA's built-in names: thread indices, barriers, exchanges, atomics, loads and stores by name, library functions."""

from dataclasses import replace
from typing import Any

from grader.source.cpp import Call, Expr, Lambda, Member, Name
from grader.source.flow import mathematics
from grader.source.flow.calls import Calls
from grader.source.flow.groups import EXCHANGES, OF_GROUPS, Group, made_group, number_of_group
from grader.source.flow.state import Box
from grader.source.flow.trace import Meeting, StopWalkError
from grader.source.flow.values import Value, unknown_value

WHOLE_WARP = 5
BARRIERS = {"__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count"}
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


VOTES = {
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__reduce_add_sync",
    "__reduce_max_sync",
    "__reduce_min_sync",
    "__match_any_sync",
}


class Intrinsics(Calls):
    """What CUDA gives a kernel."""

    block_shape: tuple[int, int, int] = (1, 1, 1)
    grid_shape: tuple[int | None, int | None, int | None] = (1, 1, 1)

    def _eval_member(self, expr: Member) -> Value:
        """Return `base.name`."""
        if isinstance(expr.base, Name) and self.find(expr.base.id) is None:
            index = self.builtin(expr.base.id, expr.name)
            if index is not None:
                return index
        return unknown_value(self.eval(expr.base))

    def builtin(self, name: str, axis: str) -> Value | None:
        """Return `threadIdx.x` and its like."""
        x, y, _ = self.block_shape
        at = self.walk.thread
        indices: dict[str, Any] = {
            "blockDim": self.block_shape,
            "gridDim": self.grid_shape,
            "blockIdx": self.walk.block_index,
            "threadIdx": (at % x, at // x % y, at // (x * y)),
        }
        known = name in indices and axis in "xyz"
        return Value(indices[name]["xyz".index(axis)], "u") if known else None

    # --- calls -------------------------------------------------------------------------------

    def _eval_call(self, expr: Call) -> Value:
        """Evaluate a call."""
        name = expr.name
        if expr.base is not None:
            return self.method(expr)
        if name in BARRIERS:
            out = unknown_value(*self.eval_all(expr.args))
            self.walk.barriers += 1
            return out
        if name in EXCHANGES or name in VOTES:
            return self._exchange(expr, self.eval_all(expr.args))
        if name in ATOMICS:
            return self._atomic(expr, self.eval_all(expr.args))
        if name in QUIET or name in {"__syncwarp", "__activemask"}:
            self.eval_all(expr.args)
            return Value()
        return self._named_call(expr)

    def _named_call(self, expr: Call) -> Value:
        name, box = expr.name, self.find(expr.qualified)
        function = self.unit.named(name)
        if box is not None and isinstance(box.value.thing, Lambda):
            return self.call_lambda(box.value.thing, self.eval_all(expr.args), expr)
        if function is not None and function.runs != "kernel":
            return self.call_function(function, self.eval_all(expr.args), expr)
        if name in self.unit.macros:
            return self._macro(expr)
        if name in LOADS and expr.args:
            return self.load(self.eval(expr.args[0]).pointer, expr.node)
        if name in STORES and len(expr.args) == 2:
            target, value = self.eval_all(expr.args)
            self.put(target.pointer, value, expr.node)
            return Value()
        args = self.eval_all(expr.args)
        return self._group_call(expr, args) or self._library(expr, args)

    def _macro(self, expr: Call) -> Value:
        macro = self.unit.macros[expr.name]
        count = -1 if macro.parameters is None else len(macro.parameters)
        if macro.expr is None or macro.parameters is None or count != len(expr.args):
            raise StopWalkError("a macro")
        if len(self.calls) > 20:
            return Value()
        given = zip(macro.parameters, self.eval_all(expr.args), strict=True)
        frame = self.frames[-1]
        frame.open()
        for name, value in given:
            frame.bind(name, Box(value))
        self.calls.append(expr.node)
        try:
            return self.eval(macro.expr)
        finally:
            self.calls.pop()
            frame.close()

    def _library(self, expr: Call, args: list[Value]) -> Value:
        """Evaluate a function that the text doesn't define: mathematics, or not known."""
        known = mathematics.known_value(expr.name, [a.number for a in args])
        if known is not None:
            return Value(known, args[0].type if isinstance(known, int) else "d")
        if any(a.pointer is not None for a in args):
            for arg in args:
                self.escape(arg)
            return unknown_value(*args)
        return unknown_value(*args, type_=mathematics.type_of(expr.name, args))

    def _atomic(self, expr: Call, args: list[Value]) -> Value:
        pointer = args[0].pointer if args else None
        if pointer is not None:
            if expr.name in {"atomicExch", "atomicCAS"} and pointer.region.space == "shared":
                self.escape(args[0])
            self.put(pointer, unknown_value(*args[1:]), expr.node, "atomic")
        return Value()

    # --- exchanges ---------------------------------------------------------------------------

    def _exchange(self, expr: Call, args: list[Value]) -> Value:
        """Evaluate a shuffle or a vote of the warp."""
        return self.exchange(expr, args[1:] if expr.name.endswith("_sync") else args)

    def exchange(self, expr: Call, args: list[Value]) -> Value:
        """Note an exchange, and return what it gives: a lane's own value is not known any more."""
        name, out = expr.name, unknown_value(*args[:1])
        kind = EXCHANGES.get(name, OF_GROUPS.get(name, "all"))
        call = self.calls[0] if self.calls else None
        made = Meeting(expr.node, call, len(self.walk.memory), kind)
        made.steps = out.exchanged.steps + 1 if out.exchanged else 1
        if "reduce" in name:
            made.steps = WHOLE_WARP
        out.exchanged = made if kind else None
        return out

    def _group_call(self, expr: Call, args: list[Value]) -> Value | None:
        """Evaluate a call that makes a group or is one of its functions; None for any other."""
        if expr.name == "coalesced_threads":
            raise StopWalkError("a group of the threads that happen to be active")
        size = self.eval_text(expr.template[0]).scalar if expr.template else None
        size = args[1].scalar if size is None and len(args) > 1 else size
        made = made_group(expr.name, self.walk.threads, size or 32)
        if made is not None:
            return Value(thing=made)
        if not args or not isinstance(args[0].thing, Group):
            return None
        return self.group_method(args[0].thing, expr, args[1:])

    def group_method(self, group: Group, expr: Call, args: list[Value]) -> Value:
        """Evaluate what a group does: meet, exchange, or tell a number of itself."""
        if expr.name in {"sync", "arrive", "wait"}:
            if group.kind != "tile" or group.size > 32:
                self.walk.barriers += 1
            return Value()
        if expr.name in OF_GROUPS and args:
            return self.exchange(expr, args)
        number = number_of_group(group, expr.name, self.walk.thread, self.walk.threads)
        out = replace(unknown_value(*args[:1]), joined=group.kind != "tile")
        return out if number is None else Value(number, "u")

    # --- methods -----------------------------------------------------------------------------

    def method(self, expr: Call) -> Value:
        """Evaluate a call of a method."""
        base, args = self._method_base(expr.base), self.eval_all(expr.args)
        if isinstance(base.thing, Group):
            return self.group_method(base.thing, expr, args)
        if isinstance(base.thing, Lambda) and expr.name == "operator()":
            return self.call_lambda(base.thing, args, expr)
        if expr.name in {"Sum", "Reduce", "Max", "Min"} and args:
            return Value(None, args[0].type, joined=True)
        for value in (*args, base):
            self.escape(value)
        return unknown_value(*args)

    def _method_base(self, expr: Expr | None) -> Value:
        if isinstance(expr, Call) and ("Reduce" in expr.name or "Scan" in expr.name):
            for value in self.eval_all(expr.args):
                self.escape(value)
            return Value()
        return self.eval(expr) if expr is not None else Value()
