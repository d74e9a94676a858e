"""The tensors that host code makes: their sizes, what they were made from, their pointers."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.source.cpp import (
    Call,
    Expr,
    Items,
    Lambda,
    Name,
)
from grader.source.flow.expressions import Machine
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.values import Pointer, Value, unknown_value
from grader.source.units import Unit

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
FACTS = {"scalar_type", "options", "device", "dtype", "is_cuda", "is_contiguous", "get_device"}


@dataclass(frozen=True, slots=True)
class SizeList:
    """`x.sizes()`."""

    tensor: Tensor


class Tensors(Machine):
    """Factories and methods of tensors; sizes are known as far as the text tells."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.tensors: list[Tensor] = []

    def tensor(self, tensor: Tensor) -> Value:
        """Return a value that holds a tensor."""
        self.tensors.append(tensor)
        return Value(thing=tensor)

    @staticmethod
    def touch(thing: object, how: str) -> None:
        """Note what was done with a tensor; nothing for any other object."""
        if isinstance(thing, Tensor):
            thing.touched.add(how)

    def fresh(self, expr: Call) -> Value:
        """Return the tensor that a factory such as `torch::empty` makes."""
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
                return self.number(len(tensor.tensor.sizes) if tensor.tensor.sizes else None)
            if isinstance(tensor, SizeList) and expr.name in {"vec", "begin", "end"}:
                return base
            if isinstance(tensor, SizeList) and isinstance(expr.base, Name):
                self.changed(expr.base.id)
            args = [self.eval(a) for a in expr.args]
            return unknown_value(base, *args)
        args = [self.eval(a) if not isinstance(a, Lambda | Items) else Value() for a in expr.args]
        return self._tensor_method(tensor, expr, args)

    def changed(self, name: str) -> None:
        """Forget a list of sizes that is changed."""
        box = self.find(name)
        if box is not None:
            box.value = Value()

    def _tensor_method(self, tensor: Tensor, expr: Call, args: Sequence[Value]) -> Value:
        name = expr.name
        if name in {"size", "stride"}:
            index = args[0].scalar if args else None
            if name == "size" and tensor.sizes is not None and index is not None:
                if -len(tensor.sizes) <= index < len(tensor.sizes):
                    return self.number(tensor.sizes[index])
            return Value(None, "l")
        if name in {"numel", "nbytes"}:
            return self.number(tensor.numel if name == "numel" else None)
        if name in {"dim", "ndimension"}:
            return self.number(len(tensor.sizes) if tensor.sizes is not None else None)
        if name == "sizes":
            return Value(thing=SizeList(tensor))
        if name in {"data_ptr", "data", "mutable_data_ptr", "const_data_ptr"}:
            return self._pointer(tensor)
        if name.endswith("_"):  # in place, by torch's convention
            tensor.touched.add(name)
            return Value(thing=tensor)
        return self._made_of(tensor, expr)

    def _made_of(self, tensor: Tensor, expr: Call) -> Value:
        """Return what a method makes of a tensor: another one, but for a few plain facts."""
        name = expr.name
        if name in FRESH:
            sizes = self._sizes_of(expr.args[0]) if expr.args else None
            return self.tensor(Tensor(name, sizes, FRESH[name], None, expr.node))
        if name in SAME:
            sizes = tensor.sizes if name in KEEP_SIZES else None
            return self.tensor(Tensor(tensor.name, sizes, SAME[name], tensor, expr.node))
        if name in FACTS:
            return Value()
        return self.tensor(Tensor(name, None, "derived", tensor, expr.node))

    @staticmethod
    def _pointer(tensor: Tensor) -> Value:
        return Value(pointer=Pointer(Region(tensor.name, tensor)))

    @staticmethod
    def number(number: int | None) -> Value:
        """Return a size; None where it isn't known."""
        return Value(number, "l")
