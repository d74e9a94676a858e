"""Reads the host code of a submission for one set of sizes: its kernels' launches."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.source import cpp
from grader.source.declarators import Parameter
from grader.source.flow.evaluate import Evaluator, Scope
from grader.source.flow.steps import Step, steps
from grader.source.flow.tensors import Tensor
from grader.source.functions import Function
from grader.source.nodes import text
from grader.source.scalar_types import type_letter
from grader.source.units import Unit

Three = tuple[int | None, int | None, int | None]
TENSOR_TYPES = ("Tensor", "torch::Tensor", "at::Tensor", "torch::autograd::Variable")
CHECKS = ("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL", "assert")
QUIET = (*CHECKS, "AT_", "CHECK_", "DISPATCH", "printf")
"""Prefixes of calls that write to no tensor."""
RANKS = (2, 4, 3, 1, 5)
"""Numbers of dims to try for unknown tensors, the likeliest first."""
MOST_ROOTS = 32
"""Most host functions read in one text; answers have a handful."""
DEEP = 4
"""Deepest calls of host functions between Python and a launch."""
_SMALL = re.compile(
    r"kernel|ksize|stride|pad|dilat|group|axis|^dim$|tile|block|num_heads", re.IGNORECASE
)
_EXTENT = re.compile(
    r"^n$|^n_|num|size|dim|len|col|row|hid|feat|chan|batch|total|elem|width|height|^[mnkhwcbd]$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sizes:
    """Sizes to try for a host function's tensors and plain numbers."""

    name: str
    tensors: tuple[tuple[int, ...] | None, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    by_rank: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Shapes for tensors with only a known number of dims."""
    number: int = 300
    """Values for unknown plain integers."""
    real: bool = False
    """Whether they are the task's own."""
    function: str = ""
    """The host function that they are for; empty for all."""
    complete: bool = False
    """Whether all of them, plain numbers included, are the task's own."""


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel launch by the host code for one set of sizes."""

    call: cpp.Launch
    host: Function
    kernel: str
    grid: Three
    block: Three
    shared: int | None
    arguments: tuple[Any, ...]
    """Arguments: numbers, and tensors in place of pointers; None for unknown ones."""
    template: tuple[str, ...]

    @property
    def threads(self) -> int | None:
        """Threads a block."""
        x, y, z = self.block
        return None if x is None or y is None or z is None else x * y * z


@dataclass(frozen=True)
class HostRun:
    """One host function's behaviour for one set of sizes."""

    launches: tuple[Launch, ...]
    tensors: tuple[Tensor, ...]
    returned: tuple[Tensor, ...]
    refused: bool
    """Whether its own check refuses these sizes."""

    @property
    def plain(self) -> bool:
        """Whether it launches without a check that fails, and all its grids are known."""
        known = all(None not in one.grid for one in self.launches)
        return bool(self.launches) and known and not self.refused


def run_host(unit: Unit, function: Function, sizes: Sizes) -> HostRun:
    """Read one host function for one set of sizes, with tensors of the first rank that fits."""
    runs = [_run(unit, function, sizes, rank) for rank in RANKS[: 1 if sizes.real else None]]
    return next((run for run in runs if run.plain), runs[0])


def _run(unit: Unit, function: Function, sizes: Sizes, rank: int) -> HostRun:
    evaluator = Evaluator(unit)
    inputs: list[Tensor] = []
    given = [_argument(one, sizes, inputs, rank) for one in function.parameters]
    scope = evaluator.scope_of_call(function, given, (), None)
    scope.types["scalar_t"] = "float"
    reading = _Reading(unit, evaluator)
    launches = tuple(reading.launches(function, scope, 0))
    tensors = (*inputs, *(one for one in evaluator.objects() if isinstance(one, Tensor)))
    returned = [v for v in reading.results(scope) if isinstance(v, Tensor)]
    return HostRun(launches, tensors, tuple(returned), reading.refused)


def _argument(parameter: Parameter, sizes: Sizes, inputs: list[Tensor], rank: int) -> Any:
    """Return a parameter's value in a call from Python."""
    if parameter.kind.split("<")[-1].rstrip("> ") in TENSOR_TYPES:
        known = sizes.tensors[len(inputs)] if len(inputs) < len(sizes.tensors) else None
        shape = known or sizes.by_rank.get(rank)
        inputs.append(Tensor(parameter.name, shape, node=parameter.node))
        return inputs[-1]
    if parameter.is_pointer:
        return Tensor(parameter.name, node=parameter.node)
    extent = _EXTENT.search(parameter.name) and not _SMALL.search(parameter.name)
    usual = sizes.numbers.get(parameter.name, sizes.number if extent else 3)
    return usual if type_letter(parameter.kind) in "iul" else None


@dataclass
class _Reading:
    """Reads the calls of host code, from one function that Python calls."""

    unit: Unit
    evaluator: Evaluator
    refused: bool = False

    def launches(self, function: Function, scope: Scope, deep: int) -> Iterator[Launch]:
        """Yield the launches of a function and of those that it calls, up to its end."""
        for step in steps(scope.body):
            held = self.evaluator.hold(step.guards, scope, step.at)
            if held is False:
                continue
            match step.part:
                case cpp.Launch(config=(_, _, *_)) as call:
                    yield self._launch(call, function, scope)
                case cpp.Return() if held and not step.lambdas and not step.loops:
                    return
                case cpp.Opaque() as stop if stop.node.type == "throw_statement" and held:
                    self.refused = True
                    return
                case cpp.Call() as call:
                    self._note(call, scope, step)
                    yield from self._launches_of_call(call, scope, step.at, deep)

    def _launches_of_call(
        self, call: cpp.Call, scope: Scope, at: int, deep: int
    ) -> Iterator[Launch]:
        function = (
            self.unit.function_named(call.name) if call.base is None and deep < DEEP else None
        )
        if function is not None and function.runs == "host":
            args = [self.evaluator.value(one, scope, at) for one in call.args]
            inner = self.evaluator.scope_of_call(function, args, call.template, scope)
            yield from self.launches(function, inner, deep + 1)

    def _note(self, call: cpp.Call, scope: Scope, step: Step) -> None:
        """Record a failed check, and tensors that a call may write to."""
        if call.base is None and call.name.startswith(CHECKS) and call.args:
            self.refused |= self.evaluator.value(call.args[0], scope, step.at) is False
        own = self.unit.function_named(call.name) is not None and call.base is None
        library = call.base is None and not own and not call.name.startswith(QUIET)
        writes = library and (call.name.startswith("cuda") or call.name.endswith("_out") or any(map(_takes_pointer, call.args)))  # fmt: skip
        for one in call.args if writes else (call.base,) if call.name.endswith("_") else ():
            tensor = self.evaluator.value(one, scope, step.at)
            if isinstance(tensor, Tensor):
                tensor.touched.add("library" if writes else call.name)

    def results(self, scope: Scope) -> Iterator[Any]:
        """Yield a function's results."""
        for step in steps(scope.body):
            if isinstance(step.part, cpp.Return) and not step.lambdas:
                value = self.evaluator.value(step.part.value, scope, step.at)
                yield from value if isinstance(value, tuple) else (value,)

    def _launch(self, call: cpp.Launch, host: Function, scope: Scope) -> Launch:
        def of(part: cpp.Expr) -> Any:
            return self.evaluator.value(part, scope, int(call.node.start_byte))

        config = [of(part) for part in call.config]
        kernel, given = self._kernel(call, scope)
        template = tuple(self._template_text(words, scope, call) for words in given)
        shared = config[2] if len(config) > 2 else 0
        grid, block = (_three(config[k] if k < len(config) else 1) for k in (0, 1))
        shared = shared if isinstance(shared, int) else None
        return Launch(call, host, kernel, grid, block, shared, tuple(map(of, call.args)), template)

    def _kernel(self, call: cpp.Launch, scope: Scope) -> tuple[str, tuple[str, ...]]:
        """Return the kernel and its template arguments; for a variable, the first one it may hold."""
        made = (one.part for one in steps(scope.body) if one.name == call.kernel)
        words = " ".join(text(one.init.node) for one in made if isinstance(one, cpp.Declare) and one.init)  # fmt: skip
        for kernel in self.unit.kernels if self.unit.function_named(call.kernel) is None else ():
            found = re.search(rf"\b{re.escape(kernel.name)}\s*(?:<([^<>]*)>)?", words)
            if found is not None:
                given = (one.strip() for one in (found[1] or "").split(","))
                return kernel.name, tuple(filter(None, given))
        return call.kernel, tuple(map(text, call.template_arguments))

    def _template_text(self, words: str, scope: Scope, call: cpp.Launch) -> str:
        plain = words.isidentifier() or words[:1].isdigit()
        number = self.evaluator.of_text(words, scope, int(call.node.start_byte)) if plain else None
        return scope.types.get(words, words if number is None else str(number))


def _takes_pointer(expr: cpp.Expr) -> bool:
    return any(isinstance(p, cpp.Call) and "data" in p.name for p in cpp.walk(expr))


def _three(value: Any) -> Three:
    """Return a grid's or block's sizes."""
    parts = (*value, 1, 1, 1)[:3] if isinstance(value, tuple) else (value, 1, 1)
    x, y, z = (one if isinstance(one, int) else None for one in parts)
    return x, y, z


def roots(unit: Unit) -> tuple[Function, ...]:
    """Return the host functions that launch kernels and that no other host function calls."""
    host = {f.name: f for f in unit.functions if f.runs == "host"}
    parts = {name: cpp.walk(f.code) for name, f in host.items()}
    calls = {name: {p.name for p in inner if isinstance(p, cpp.Call)} & set(host) for name, inner in parts.items()}  # fmt: skip
    called = {other for name, found in calls.items() for other in found if other != name}
    launching = {name for name, inner in parts.items() if any(isinstance(p, cpp.Launch) for p in inner)}  # fmt: skip
    for _ in range(DEEP):
        launching |= {name for name, found in calls.items() if found & launching}
    last = [f for name, f in host.items() if name in launching and name not in called]
    return tuple(last[:MOST_ROOTS])
