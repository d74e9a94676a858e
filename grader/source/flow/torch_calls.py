"""What host code calls of torch and CUDA: factories, dispatch macros, checks, `dim3`."""

from dataclasses import dataclass

from grader.source import cpp
from grader.source.flow.launch import Launch
from grader.source.flow.memory import Tensor
from grader.source.flow.sizes import Sizes
from grader.source.flow.tensors import FRESH, SizeList, Tensors
from grader.source.flow.values import Value, truth, unknown_value
from grader.source.functions import Function
from grader.source.units import Unit


@dataclass(frozen=True, slots=True)
class Dim3:
    """A `dim3`."""

    parts: tuple[Value, ...]

    def __getitem__(self, k: int) -> Value:
        return self.parts[k] if k < len(self.parts) else Value(1, "i")


class TorchCalls(Tensors):
    """What runs host code; what it doesn't know of torch is an unknown value."""

    def __init__(self, unit: Unit, function: Function, sizes: Sizes) -> None:
        super().__init__(unit)
        self.function, self.sizes = function, sizes
        self.launches: list[Launch] = []
        self.returned: list[Tensor] = []
        self.refused = False

    def _eval_call(self, expr: cpp.Call) -> Value:
        """Evaluate a call, torch's macros and factories included."""
        name = expr.name
        if expr.base is None:
            if name.startswith(("AT_DISPATCH", "DISPATCH")):
                return self._dispatch(expr)
            if name in FRESH and ("torch" in expr.qualified or "at::" in expr.qualified):
                return self.fresh(expr)
            if name == "dim3":
                return Value(thing=Dim3(tuple(self.eval(a) for a in expr.args)))
            if (
                name.startswith(("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL", "assert"))
                and expr.args
            ):
                self.refused = self.refused or truth(self.eval(expr.args[0])) is False
            if name.startswith(("CHECK_", "C10_", "AT_", "cuda")):
                for arg in expr.args:
                    self.escape(self.eval(arg))
                return Value()
            if name.startswith(("TORCH_CHECK", "TORCH_INTERNAL")):
                return Value()
            if name.endswith("_out"):
                for arg in expr.args:
                    self.touch(self.eval(arg).thing, "library")
        return super()._eval_call(expr)

    def escape(self, value: Value) -> None:
        """Note that a library may have written to a tensor through its pointer."""
        super().escape(value)
        if value.pointer is not None:
            self.touch(value.pointer.region.tensor, "library")

    def _dispatch(self, expr: cpp.Call) -> Value:
        self.frames[-1].types.setdefault("scalar_t", "float")
        out = Value()
        for arg in expr.args:
            if isinstance(arg, cpp.Lambda):
                out = self.call_lambda(arg, [])
        return out

    def assign(self, target: cpp.Expr, value: Value, node: cpp.Node) -> None:
        """Store a value; a list of sizes that is stored into is no longer known."""
        if isinstance(target, cpp.Subscript) and isinstance(target.base, cpp.Name):
            box = self.find(target.base.id)
            if box is not None and isinstance(box.value.thing, SizeList):
                self.changed(target.base.id)
                return
        super().assign(target, value, node)

    def eval(self, expr: cpp.Expr) -> Value:
        """Evaluate an expression of host code."""
        if isinstance(expr, cpp.Subscript):
            base = self.eval(expr.base)
            if isinstance(base.thing, SizeList):
                index = self.eval(expr.index).scalar
                sizes = base.thing.tensor.sizes
                known = (
                    sizes is not None and index is not None and -len(sizes) <= index < len(sizes)
                )
                return self.number(sizes[index] if known and sizes and index is not None else None)
        return super().eval(expr)

    def _eval_member(self, expr: cpp.Member) -> Value:
        """Return `grid.x` and the like."""
        base = self.eval(expr.base)
        if isinstance(base.thing, Dim3) and expr.name in "xyz":
            return base.thing["xyz".index(expr.name)]
        return unknown_value(base)

    def construct(self, kind: str, stmt: cpp.Declare) -> Value | None:
        """Make a `dim3`."""
        if kind != "dim3":
            return None
        if isinstance(stmt.init, cpp.Items):
            parts = tuple(self.eval(item) for item in stmt.init.items)
            return Value(thing=Dim3(parts))
        if stmt.init is None:
            return Value(thing=Dim3(()))
        value = self.eval(stmt.init)
        if isinstance(value.thing, Dim3):
            return value
        return Value(thing=Dim3((value,)))

    def _run_return(self, stmt: cpp.Return) -> str:
        """Note which tensors a host function returns."""
        if stmt.value is not None and len(self.frames) == 1:
            items = stmt.value.items if isinstance(stmt.value, cpp.Items) else (stmt.value,)
            for item in items:
                thing = self.eval(item).thing
                if isinstance(thing, Tensor):
                    self.returned.append(thing)
        return super()._run_return(stmt)
