"""What host code does with torch: the tensors that it makes, their sizes and their pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.source.flow.expressions import Machine
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.program import Function, Program
from grader.source.flow.sizes import Sizes
from grader.source.flow.trace import Launch, Walk
from grader.source.flow.tree import (
    Call,
    Declare,
    Expr,
    Items,
    Lambda,
    LaunchCall,
    Member,
    Name,
    Node,
    Return,
    Subscript,
)
from grader.source.flow.values import Pointer, Value, truth, unknown

FRESH = {
    "empty": "empty",
    "empty_like": "empty",
    "zeros": "zeros",
    "zeros_like": "zeros",
    "full": "filled",
    "full_like": "filled",
    "ones": "filled",
    "ones_like": "filled",
    "empty_strided": "empty",
    "rand": "filled",
    "randn": "filled",
    "new_empty": "empty",
    "new_zeros": "zeros",
}
SAME = {
    "contiguous": "contiguous",
    "clone": "clone",
    "detach": "derived",
    "to": "derived",
    "cuda": "derived",
    "cpu": "derived",
    "view": "derived",
    "reshape": "derived",
    "flatten": "derived",
    "squeeze": "derived",
    "unsqueeze": "derived",
    "transpose": "derived",
    "permute": "derived",
    "t": "derived",
    "float": "derived",
    "half": "derived",
    "type": "derived",
    "view_as": "derived",
    "expand": "derived",
    "select": "derived",
    "slice": "derived",
    "toType": "derived",
    "index_select": "derived",
}
KEEP_SIZES = {
    "contiguous",
    "clone",
    "detach",
    "to",
    "cuda",
    "cpu",
    "float",
    "half",
    "type",
    "toType",
}


@dataclass(frozen=True, slots=True)
class Dim3:
    """A `dim3`."""

    parts: tuple[Value, ...]

    def __getitem__(self, k: int) -> Value:
        return self.parts[k] if k < len(self.parts) else Value(1, "i", False)


@dataclass(frozen=True, slots=True)
class SizeList:
    """`x.sizes()`."""

    tensor: Tensor


class TorchCalls(Machine):
    """One thread that runs host code; what it doesn't know of torch is an unknown value."""

    def __init__(self, program: Program, function: Function, sizes: Sizes) -> None:
        nothing = Launch(
            LaunchCall(function.node, "", (), (), ()),
            function,
            "",
            (1, 1, 1),
            (1, 1, 1),
            0,
            (),
            (),
            True,
        )
        super().__init__(program, Walk(function, nothing, (0, 0, 0)), 1)
        self.block_shape, self.grid_shape, self.block_index = (1, 1, 1), (1, 1, 1), (0, 0, 0)
        self.function, self.sizes = function, sizes
        self.launches: list[Launch] = []
        self.tensors: list[Tensor] = []
        self.returned: list[Tensor] = []
        self.made_calls: list[Call] = []
        self.regions: dict[int, Region] = {}
        self.refused = False

    def tensor(self, tensor: Tensor) -> Value:
        """Return a value that holds a tensor."""
        self.tensors.append(tensor)
        return Value(None, varies=False, thing=tensor)

    def call(self, expr: Call) -> Value:
        """Evaluate a call, torch's macros and factories included."""
        self.made_calls.append(expr)
        name = expr.name
        if expr.base is None:
            if name.startswith(("AT_DISPATCH", "DISPATCH")):
                return self._dispatch(expr)
            if name in FRESH and ("torch" in expr.qualified or "at::" in expr.qualified):
                return self._fresh(expr)
            if name == "dim3":
                return Value(None, varies=False, thing=Dim3(tuple(self.eval(a) for a in expr.args)))
            if (
                name.startswith(("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL", "assert"))
                and expr.args
            ):
                self.refused = self.refused or truth(self.eval(expr.args[0])) is False
            if name.startswith(("CHECK_", "C10_", "AT_", "cuda")):
                for arg in expr.args:
                    self.escape(self.eval(arg))
                return Value(None, varies=False)
            if name.startswith(("TORCH_CHECK", "TORCH_INTERNAL")):
                return Value(None, varies=False)
            if name.endswith("_out"):
                for arg in expr.args:
                    self._touch(self.eval(arg).thing, "library")
        return super().call(expr)

    @staticmethod
    def _touch(thing: object, how: str) -> None:
        if isinstance(thing, Tensor):
            thing.touched.add(how)

    def escape(self, value: Value) -> None:
        """Note that a library may have written to a tensor through its pointer."""
        super().escape(value)
        if value.pointer is not None:
            self._touch(value.pointer.region.tensor, "library")

    def _dispatch(self, expr: Call) -> Value:
        self.frames[-1].types.setdefault("scalar_t", "float")
        out = Value()
        for arg in expr.args:
            if isinstance(arg, Lambda):
                out = self.call_lambda(arg, [], expr)
        return out

    def _fresh(self, expr: Call) -> Value:
        sizes = self._sizes_of(expr.args[0]) if expr.args else None
        for arg in expr.args[1:]:
            self.eval(arg)
        return self.tensor(Tensor(expr.name, sizes, FRESH[expr.name], None, expr.node))

    def _sizes_of(self, expr: Expr) -> tuple[int, ...] | None:
        if isinstance(expr, Items):
            numbers = [self.eval(item).scalar for item in expr.items]
            return tuple(n for n in numbers if n is not None) if None not in numbers else None
        thing = self.eval(expr).thing
        if isinstance(thing, SizeList):
            return thing.tensor.sizes
        return thing.sizes if isinstance(thing, Tensor) else None

    def method(self, expr: Call) -> Value:
        """Evaluate a method of a tensor."""
        base = self.eval(expr.base) if expr.base is not None else Value()
        tensor = base.thing
        if not isinstance(tensor, Tensor):
            if isinstance(tensor, SizeList) and expr.name == "size":
                return self._number(len(tensor.tensor.sizes) if tensor.tensor.sizes else None)
            if isinstance(tensor, SizeList) and expr.name in {"vec", "begin", "end"}:
                return base
            if isinstance(tensor, SizeList) and isinstance(expr.base, Name):
                self._changed(expr.base.id)
            args = [self.eval(a) for a in expr.args]
            return unknown(base, *args)
        args = [self.eval(a) if not isinstance(a, Lambda | Items) else Value() for a in expr.args]
        return self._tensor_method(tensor, expr, args)

    def _changed(self, name: str) -> None:
        """Forget a list of sizes that is changed."""
        box = self.find(name)
        if box is not None:
            box.value = Value(None, varies=False)

    def assign(self, target: Expr, value: Value, node: Node) -> None:
        """Store a value; a list of sizes that is stored into is no longer known."""
        if isinstance(target, Subscript) and isinstance(target.base, Name):
            box = self.find(target.base.id)
            if box is not None and isinstance(box.value.thing, SizeList):
                self._changed(target.base.id)
                return
        super().assign(target, value, node)

    def _tensor_method(self, tensor: Tensor, expr: Call, args: Sequence[Value]) -> Value:
        name = expr.name
        if name in {"size", "stride"}:
            index = args[0].scalar if args else None
            if name == "size" and tensor.sizes is not None and index is not None:
                if -len(tensor.sizes) <= index < len(tensor.sizes):
                    return self._number(tensor.sizes[index])
            return Value(None, "l", varies=False)
        if name in {"numel", "nbytes"}:
            return self._number(tensor.numel if name == "numel" else None)
        if name in {"dim", "ndimension"}:
            return self._number(len(tensor.sizes) if tensor.sizes is not None else None)
        if name == "sizes":
            return Value(None, varies=False, thing=SizeList(tensor))
        if name in {"data_ptr", "data", "mutable_data_ptr", "const_data_ptr"}:
            return self._pointer(tensor, expr)
        if name.endswith("_"):  # in place, by torch's convention
            tensor.touched.add(name)
            return Value(None, varies=False, thing=tensor)
        if name in FRESH:
            sizes = self._sizes_of(expr.args[0]) if expr.args else None
            return self.tensor(Tensor(name, sizes, FRESH[name], None, expr.node))
        if name in SAME:
            sizes = tensor.sizes if name in KEEP_SIZES else None
            return self.tensor(Tensor(tensor.name, sizes, SAME[name], tensor, expr.node))
        if name in {
            "scalar_type",
            "options",
            "device",
            "dtype",
            "is_cuda",
            "is_contiguous",
            "get_device",
        }:
            return Value(None, varies=False)
        return self.tensor(Tensor(name, None, "derived", tensor, expr.node))

    def _pointer(self, tensor: Tensor, expr: Call) -> Value:
        region = self.regions.get(id(tensor))
        kind = (
            self.type_name(expr.template[0].replace("const ", "").strip()) if expr.template else "?"
        )
        if region is None:
            region = Region(tensor.name, "global", kind, tensor=tensor, node=expr.node)
            self.regions[id(tensor)] = region
        return Value(None, varies=False, pointer=Pointer(region, type=kind))

    @staticmethod
    def _number(number: int | None) -> Value:
        return Value(number, "l", varies=False)

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression of host code."""
        if isinstance(expr, Subscript):
            base = self.eval(expr.base)
            if isinstance(base.thing, SizeList):
                index = self.eval(expr.index).scalar
                sizes = base.thing.tensor.sizes
                known = (
                    sizes is not None and index is not None and -len(sizes) <= index < len(sizes)
                )
                return self._number(sizes[index] if known and sizes and index is not None else None)
        return super().eval(expr)

    def member(self, expr: Member) -> Value:
        """Return `grid.x` and the like."""
        base = self.eval(expr.base)
        if isinstance(base.thing, Dim3) and expr.name in "xyz":
            return base.thing["xyz".index(expr.name)]
        return unknown(base)

    def construct(self, kind: str, stmt: Declare) -> Value | None:
        """Make a `dim3`."""
        if kind != "dim3":
            return None
        if isinstance(stmt.init, Items):
            parts = tuple(self.eval(item) for item in stmt.init.items)
            return Value(None, varies=False, thing=Dim3(parts))
        if stmt.init is None:
            return Value(None, varies=False, thing=Dim3(()))
        value = self.eval(stmt.init)
        if isinstance(value.thing, Dim3):
            return value
        return Value(None, varies=False, thing=Dim3((value,)))

    def run_return(self, stmt: Return) -> None:
        """Note which tensors a host function returns."""
        if stmt.value is not None and len(self.frames) == 1:
            items = stmt.value.items if isinstance(stmt.value, Items) else (stmt.value,)
            for item in items:
                thing = self.eval(item).thing
                if isinstance(thing, Tensor):
                    self.returned.append(thing)
        super().run_return(stmt)
