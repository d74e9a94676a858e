"""CUDA's built-in names: thread indices, barriers, atomics, loads and stores by name, library functions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.source.flow import mathematics
from grader.source.flow.groups import Group, Groups
from grader.source.flow.lowering import parse_expression
from grader.source.flow.program import Function
from grader.source.flow.state import Box
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import Call, Declare, Expr, Lambda, Member, Name
from grader.source.flow.values import Value, joined, unknown
from grader.source.flow.warps import SHUFFLES, VOTES

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


class Intrinsics(Groups):
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
        if self.block_shape[k] == 1:
            return Value(0, "u", False)
        return Value(self._thread_index[k], "u", False)

    @cached_property
    def _thread_index(self) -> tuple[npt.NDArray[np.int64], ...]:
        """`threadIdx` of each thread, an array an axis."""
        x, y, _ = self.block_shape
        return self.ids % x, self.ids // x % y, self.ids // (x * y)

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
            return self.shuffle_call(expr)
        if name in VOTES:
            return self.vote(expr)
        if name in {"__syncwarp", "__activemask"}:
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
        made = self.group_call(expr)
        return made if made is not None else self._library(expr)

    def _macro(self, expr: Call) -> Value:
        macro = self.program.macros[expr.name]
        if (
            macro.expr is None
            or macro.parameters is None
            or len(macro.parameters) != len(expr.args)
        ):
            raise StopWalkError("a macro")
        if len(self.calls) > 20:
            return Value(None)
        scope = {p: Box(self.eval(a)) for p, a in zip(macro.parameters, expr.args, strict=True)}
        frame = self.frames[-1]
        frame.open()
        for name, box in scope.items():
            frame.bind(name, box)
        self.calls.append(expr.node)
        try:
            return self.eval(macro.expr)
        finally:
            self.calls.pop()
            frame.close()

    def _library(self, expr: Call) -> Value:
        """Evaluate a function that the text doesn't define: mathematics, or not known."""
        args = [self.eval(a) for a in expr.args]
        if expr.name in mathematics.INTEGER and len(args) == 2 and args[0].known and args[1].known:
            fold: Any = mathematics.INTEGER[expr.name]
            number = fold(args[0].number, args[1].number)
            uniform = np.ndim(number) == 0
            plain = number.item() if uniform else number
            return Value(plain, args[0].type, False)
        if len(args) <= 2 and all(isinstance(a.number, int | float) for a in args) and args:
            number = mathematics.known(expr.name, [a.number for a in args])
            if number is not None:
                return Value(number, "d", False)
        if any(a.pointer is not None for a in args):
            for arg in args:
                self.escape(arg)
            out = unknown(*args)
            out.varies = True
            return out
        letter = mathematics.type_of(expr.name, args)
        return unknown(*args, type_=letter) if args else Value(None, varies=True)

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

    # --- methods -----------------------------------------------------------------------------

    def method(self, expr: Call) -> Value:
        """Evaluate a call of a method."""
        base = self._method_base(expr.base)
        if isinstance(base.thing, Group):
            return self.group_method(base.thing, expr)
        if isinstance(base.thing, Lambda) and expr.name == "operator()":
            return self.call_lambda(base.thing, [self.eval(a) for a in expr.args], expr)
        args = [self.eval(a) for a in expr.args]
        if expr.name in {"Sum", "Reduce", "Max", "Min"} and args:
            return joined(args[0])
        for arg in args:
            self.escape(arg)
        self.escape(base)
        return unknown(*args) if args else Value()

    def _method_base(self, expr: Expr | None) -> Value:
        if isinstance(expr, Call) and ("Reduce" in expr.name or "Scan" in expr.name):
            for arg in expr.args:
                self.escape(self.eval(arg))
            return Value(None, varies=False)
        return self.eval(expr) if expr is not None else Value()
