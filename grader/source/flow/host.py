"""Runs the host code of a submission for one set of sizes: which kernels it launches, and how."""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from grader.source import cpp
from grader.source.cuda_code import text
from grader.source.declarators import Parameter
from grader.source.flow.launch import Launch, StopWalkError
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.sizes import Sizes
from grader.source.flow.state import Box, Frame
from grader.source.flow.tensors import KEEP_SIZES
from grader.source.flow.torch_calls import Dim3, TorchCalls
from grader.source.flow.values import Pointer, Value
from grader.source.functions import Function
from grader.source.scalar_types import type_letter
from grader.source.units import Unit

TENSOR_TYPES = ("Tensor", "torch::Tensor", "at::Tensor", "torch::autograd::Variable")
_SMALL = re.compile(
    r"kernel|ksize|stride|pad|dilat|group|axis|^dim$|tile|block|num_heads", re.IGNORECASE
)
_EXTENT = re.compile(
    r"^n$|^n_|num|size|dim|len|col|row|hid|feat|chan|batch|total|elem|width|height|^[mnkhwcbd]$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class HostRun:
    """What one host function does for one set of sizes."""

    launches: tuple[Launch, ...]
    tensors: tuple[Tensor, ...]
    returned: tuple[Tensor, ...]
    refused: bool
    """A check of its own says that these sizes are not allowed."""


class HostMachine(TorchCalls):
    """Host code from its arguments to its launches."""

    def go(self) -> HostRun:
        """Run the host function; never raises."""
        scope = {p.name: Box(self.argument(p)) for p in self.function.parameters}
        self.frames.append(Frame(self.function, scope))
        self.bind_template(self.frames[-1], self.function, ())
        with suppress(StopWalkError, RecursionError):
            self.run(self.function.code)
        launches, tensors = tuple(self.launches), tuple(self.tensors)
        return HostRun(launches, tensors, tuple(self.returned), self.refused)

    def argument(self, parameter: Parameter) -> Value:
        """Return what a parameter holds when the function is called from Python."""
        if parameter.kind.split("<")[-1].rstrip("> ") in TENSOR_TYPES:
            position = len(self.tensors)
            given = self.sizes.tensors[position] if position < len(self.sizes.tensors) else None
            sizes = given or self.sizes.by_rank.get(_rank(self.function, parameter.name))
            return self.tensor(Tensor(parameter.name, sizes, node=parameter.node))
        letter = type_letter(parameter.kind)
        if parameter.is_pointer:
            return Value(pointer=Pointer(Region(parameter.name)))
        if letter in "iul":
            usual = self.sizes.number if _is_extent(parameter.name) else 3
            number = self.sizes.numbers.get(parameter.name, usual)
            return Value(number, letter)
        return Value(None, letter)

    def _run_opaque(self, stmt: cpp.Opaque) -> str:
        """Take a `throw` for what it is: a check of the function's own, which holds where it can't be told."""
        if stmt.node.type != "throw_statement":
            return super()._run_opaque(stmt)
        if not self.doubt:
            self.refused = True
            raise StopWalkError("the function throws")
        return ""

    def _eval_launchcall(self, expr: cpp.LaunchCall) -> Value:
        """Note a kernel launch."""
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
                not self.doubt,
            )
        )
        return Value()

    def _kernel(self, expr: cpp.LaunchCall) -> tuple[str, tuple[str, ...]]:
        """Return the kernel and its template arguments; a variable stands for the first it may hold."""
        if self.unit.named(expr.kernel) is not None:
            return expr.kernel, expr.template
        for part in cpp.walk(self.function.code):
            if isinstance(part, cpp.Declare) and part.name == expr.kernel and part.init is not None:
                words = text(part.init.node)
                for kernel in self.unit.kernels:
                    found = re.search(rf"\b{re.escape(kernel.name)}\s*(?:<([^<>]*)>)?", words)
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


def _is_extent(name: str) -> bool:
    """Whether a plain integer's name says that it is a size of the data."""
    return bool(_EXTENT.search(name)) and not _SMALL.search(name)


@lru_cache(maxsize=64)
def _rank(function: Function, name: str) -> int:
    """Return a tensor's number of dimensions, from the sizes that the function asks for."""
    names = _aliases(function, name)
    return max((_rank_asked(part, names) for part in cpp.walk(function.code)), default=0) or 1


def _rank_asked(part: cpp.Part, names: set[str]) -> int:
    """Return how many dimensions a tensor of one of these names has, as far as one expression tells."""
    match part:
        case cpp.Binary(
            op="==",
            left=cpp.Call(name="dim", base=cpp.Name(id=one)),
            right=cpp.Number(value=int(rank)),
        ) if one in names:
            return rank
        case (
            cpp.Call(name="size", base=cpp.Name(id=one), args=(at, *_))
            | cpp.Subscript(base=cpp.Call(name="sizes", base=cpp.Name(id=one)), index=at)
        ) if one in names:
            index = _literal(at)
            return 2 if index is None or index < 0 else index + 1
    return 0


def _aliases(function: Function, name: str) -> set[str]:
    """Return the variables that hold a tensor parameter or a copy of it."""
    names = {name}
    for part in cpp.walk(function.code):
        match part:
            case cpp.Declare(name=made, init=cpp.Name(id=one)) if one in names:
                names.add(made)
            case cpp.Declare(name=made, init=cpp.Call(name=kept, base=cpp.Name(id=one))):
                names |= {made} if kept in KEEP_SIZES and one in names else set()
    return names


def _literal(expr: cpp.Expr) -> int | None:
    """Return the number that an index is as written; None for any other expression."""
    if isinstance(expr, cpp.Unary) and expr.op == "-":
        inner = _literal(expr.operand)
        return None if inner is None else -inner
    return expr.value if isinstance(expr, cpp.Number) and isinstance(expr.value, int) else None


def _three(value: Value) -> tuple[int | None, int | None, int | None]:
    """Return a grid's or block's sizes."""
    if isinstance(value.thing, Dim3):
        return tuple(value.thing[k].scalar for k in range(3))  # type: ignore[return-value]
    return (value.scalar, 1, 1)


MOST_ROOTS = 32
"""Host functions of one text that are followed; answers have a handful, and each costs what the text is long."""


def roots(unit: Unit) -> tuple[Function, ...]:
    """Return the host functions that launch kernels and that no other host function calls."""
    host = [f for f in unit.functions if f.runs == "host"]
    names = {f.name for f in host}
    calls = {
        f.name: {p.name for p in cpp.walk(f.code) if isinstance(p, cpp.Call) and p.name in names}
        for f in host
    }
    called = {name for f, found in calls.items() for name in found if name != f}
    launching = {
        f.name for f in host if any(isinstance(p, cpp.LaunchCall) for p in cpp.walk(f.code))
    }
    for _ in range(4):
        launching |= {f for f, found in calls.items() if found & launching}
    last = {f.name: f for f in host if f.name in launching and f.name not in called}
    return tuple(last.values())[:MOST_ROOTS]


def run_host(unit: Unit, function: Function, sizes: Sizes) -> HostRun:
    """Run one host function for one set of sizes."""
    return HostMachine(unit, function, sizes).go()
