"""Runs the host code of a submission for one set of sizes: which kernels it launches, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.source.flow.expressions import Machine
from grader.source.flow.lowering import text_of
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.state import Box, Frame
from grader.source.flow.trace import Launch, StopWalkError, Walk
from grader.source.flow.tree import (
    Binary,
    Call,
    Declare,
    Expr,
    Function,
    Items,
    Lambda,
    LaunchCall,
    Member,
    Name,
    Node,
    Number,
    Parameter,
    Program,
    Return,
    Subscript,
    Unary,
    walk,
)
from grader.source.flow.values import Pointer, Value, truth, type_letter, unknown

TENSOR_TYPES = ("Tensor", "torch::Tensor", "at::Tensor", "torch::autograd::Variable")
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
FILLS = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_"}


@dataclass(frozen=True)
class Sizes:
    """Sizes to try: of each tensor that a host function takes, and its plain numbers."""

    name: str
    tensors: tuple[tuple[int, ...] | None, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    by_rank: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For tensors of which only the number of dimensions can be told."""
    number: int = 300
    """For plain integers of which nothing is known."""
    real: bool = False
    """Whether they are the task's own."""
    function: str = ""
    """The host function that they are for; empty for all."""
    complete: bool = False
    """Whether all of them, plain numbers included, are the task's own."""


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


@dataclass(frozen=True)
class HostRun:
    """What one host function does for one set of sizes."""

    function: Function
    sizes: Sizes
    launches: tuple[Launch, ...]
    tensors: tuple[Tensor, ...]
    returned: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    calls: tuple[Call, ...]
    stopped: str = ""
    refused: bool = False
    """A check of its own says that these sizes are not allowed."""


class HostMachine(Machine):
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

    def go(self) -> HostRun:
        """Run the host function; never raises."""
        scope = {p.name: Box(self.argument(p)) for p in self.function.parameters}
        inputs = tuple(self.tensors)
        self.frames.append(Frame(self.function, self.mask, [scope]))
        self.bind_template(self.frames[-1], self.function, ())
        stopped = ""
        try:
            self.run(self.function.body)
        except StopWalkError as reason:
            stopped = str(reason)
        except RecursionError:
            stopped = "nested too deeply"
        return HostRun(
            self.function,
            self.sizes,
            tuple(self.launches),
            tuple(self.tensors),
            tuple(self.returned),
            inputs,
            tuple(self.made_calls),
            stopped,
            self.refused,
        )

    # --- arguments ---------------------------------------------------------------------------

    def argument(self, parameter: Parameter) -> Value:
        """Return what a parameter holds when the function is called from Python."""
        if parameter.type.split("<")[-1].rstrip("> ") in TENSOR_TYPES:
            position = len(self.tensors)
            given = self.sizes.tensors[position] if position < len(self.sizes.tensors) else None
            sizes = given or self.sizes.by_rank.get(self._rank(parameter.name))
            return self.tensor(
                Tensor(parameter.name, sizes, node=parameter.node, guessed=given is None)
            )
        letter = type_letter(parameter.type)
        if parameter.pointer:
            region = Region(parameter.name, "global", parameter.type, node=parameter.node)
            return Value(None, varies=False, pointer=Pointer(region, type=parameter.type))
        if letter in "iul":
            usual = self.sizes.number if _is_extent(parameter.name) else 3
            number = self.sizes.numbers.get(parameter.name, usual)
            return Value(number, letter, False)
        return Value(None, letter, varies=False)

    def _rank(self, name: str) -> int:
        """Return a tensor's number of dimensions, from the sizes that the function asks for."""
        top = 0
        names = _aliases(self.function, name)
        for part in walk(self.function.body):
            if isinstance(part, Binary) and part.op == "==" and isinstance(part.left, Call):
                inner = part.left
                if inner.name == "dim" and isinstance(inner.base, Name) and inner.base.id in names:
                    if isinstance(part.right, Number):
                        top = max(top, int(part.right.value))
            if isinstance(part, Call) and part.name == "size" and isinstance(part.base, Name):
                if part.base.id in names and part.args:
                    index = self.eval(part.args[0]).scalar if _literal(part.args[0]) else None
                    top = max(top, 2 if index is None or index < 0 else index + 1)
            elif (
                (
                    isinstance(part, Subscript)
                    and isinstance(part.base, Call)
                    and part.base.name == "sizes"
                )
                and isinstance(part.base.base, Name)
                and part.base.base.id in names
            ):
                index = self.eval(part.index).scalar if _literal(part.index) else None
                top = max(top, 2 if index is None else index + 1)
        return top or 1

    def tensor(self, tensor: Tensor) -> Value:
        """Return a value that holds a tensor."""
        self.tensors.append(tensor)
        return Value(None, varies=False, thing=tensor)

    # --- launches ----------------------------------------------------------------------------

    def launch(self, _expr: LaunchCall) -> Value:
        """Note a kernel launch."""
        expr = _expr
        config = [self.eval(part) for part in expr.config]
        grid, block = (_three(config[k]) if k < len(config) else (1, 1, 1) for k in (0, 1))
        shared = config[2].scalar if len(config) > 2 else 0
        arguments = tuple(self.eval(a) for a in expr.args)
        kernel, given = self._kernel(expr)
        template = tuple(self._template_text(t) for t in given)
        self.launches.append(
            Launch(
                expr,
                self.function,
                kernel,
                grid,
                block,
                shared,
                arguments,
                template,
                self.doubt == 0,
            )
        )
        return Value()

    def _kernel(self, expr: LaunchCall) -> tuple[str, tuple[str, ...]]:
        """Return the kernel and its template arguments; a variable stands for the first it may hold."""
        if self.program.named(expr.kernel) is not None:
            return expr.kernel, expr.template
        for part in walk(self.function.body):
            if isinstance(part, Declare) and part.name == expr.kernel and part.init is not None:
                text = text_of(part.init.node)
                for kernel in self.program.kernels:
                    found = re.search(rf"\b{re.escape(kernel.name)}\s*(?:<([^<>]*)>)?", text)
                    if found is not None:
                        given = found.group(1) or ""
                        return kernel.name, tuple(t.strip() for t in given.split(",") if t.strip())
        return expr.kernel, expr.template

    def _template_text(self, text: str) -> str:
        for frame in reversed(self.frames):
            if text in frame.types:
                return frame.types[text]
        number = self.eval_text(text).scalar if text.isidentifier() or text[:1].isdigit() else None
        return text if number is None else str(number)

    # --- torch -------------------------------------------------------------------------------

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
            if name.startswith(("TORCH_CHECK", "CHECK_", "C10_", "AT_", "TORCH_INTERNAL", "cuda")):
                return Value(None, varies=False)
        return super().call(expr)

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
        if name in FILLS:
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

    # --- C++ ---------------------------------------------------------------------------------

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


_SMALL = re.compile(
    r"kernel|ksize|stride|pad|dilat|group|axis|^dim$|tile|block|num_heads", re.IGNORECASE
)
_EXTENT = re.compile(
    r"^n$|^n_|num|size|dim|len|col|row|hid|feat|chan|batch|total|elem|width|height|^[mnkhwcbd]$",
    re.IGNORECASE,
)


def _is_extent(name: str) -> bool:
    """Whether a plain integer's name says that it is a size of the data."""
    return bool(_EXTENT.search(name)) and not _SMALL.search(name)


def _aliases(function: Function, name: str) -> set[str]:
    """Return the variables that hold a tensor parameter or a copy of it."""
    names = {name}
    for part in walk(function.body):
        if isinstance(part, Declare) and isinstance(part.init, Name | Call):
            base = part.init if isinstance(part.init, Name) else part.init.base
            keeps = isinstance(part.init, Name) or part.init.name in KEEP_SIZES
            if isinstance(base, Name) and base.id in names and keeps:
                names.add(part.name)
    return names


def _literal(expr: Expr) -> bool:
    return expr.__class__.__name__ == "Number" or isinstance(expr, Unary)


def _three(value: Value) -> tuple[int | None, int | None, int | None]:
    """Return a grid's or block's sizes."""
    if isinstance(value.thing, Dim3):
        return tuple(value.thing[k].scalar for k in range(3))  # type: ignore[return-value]
    return (value.scalar, 1, 1)


def roots(program: Program) -> tuple[Function, ...]:
    """Return the host functions that launch kernels and that no other host function calls."""
    host = [f for f in program.functions if f.kind == "host"]
    names = {f.name for f in host}
    calls = {
        f.name: {p.name for p in walk(f.body) if isinstance(p, Call) and p.name in names}
        for f in host
    }
    called = {name for f, found in calls.items() for name in found if name != f}
    launching = {f.name for f, _ in program.launches}
    for _ in range(4):
        launching |= {f for f, found in calls.items() if found & launching}
    return tuple(f for f in host if f.name in launching and f.name not in called)


def run_host(program: Program, function: Function, sizes: Sizes) -> HostRun:
    """Run one host function for one set of sizes."""
    with np.errstate(all="ignore"):
        return HostMachine(program, function, sizes).go()


__all__ = ["Dim3", "HostRun", "Node", "Sizes", "roots", "run_host"]
