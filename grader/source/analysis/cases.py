"""The launches of a submission, for the task's sizes and for others."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from tree_sitter import Node

from grader.records import Context, Place, Task, TensorSpec
from grader.source import Source, Unit, cpp
from grader.source.analysis.kernel_accesses import Access, accesses
from grader.source.flow import (
    EVEN,
    ODD,
    USUAL,
    Flow,
    Launch,
    Sizes,
    Tensor,
    flow,
)
from grader.source.flow.evaluate import Evaluator, Scope
from grader.source.forward_arguments import Binding, attributes, bindings
from grader.source.functions import Function
from grader.source.scalar_types import type_letter


@dataclass(frozen=True, eq=False)
class Case:
    """One launch of a kernel for one set of sizes."""

    unit: Unit
    flow: Flow
    sizes: Sizes
    launch: Launch

    @property
    def function(self) -> Function:
        """The kernel."""
        found = self.unit.function_named(self.launch.kernel)
        assert found is not None  # `Flow.launched` has only those that are here
        return found

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The kernel's accesses to its arguments, in the text."""
        return accesses(self.function)

    def tensor(self, parameter: str) -> Tensor | None:
        """Return the tensor that a pointer of the kernel points to."""
        names = [one.name for one in self.function.parameters]
        given = dict(zip(names, self.launch.arguments, strict=False)).get(parameter)
        return given if isinstance(given, Tensor) else None

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.launch.threads or 0

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the kernel gets."""
        return tuple(one for one in self.launch.arguments if isinstance(one, Tensor))

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.launch.kernel

    def place(self, node: Node) -> Place:
        """Return a node's place in the submission."""
        return self.unit.place(node)

    def line(self, node: Node | None) -> int:
        """Return a node's line in the submission, or 0."""
        return 0 if node is None else self.unit.place(node).line


_CASES: WeakKeyDictionary[Source, dict[str, tuple[Case, ...]]] = WeakKeyDictionary()


def cases(source: Source, context: Context, *names: str) -> tuple[Case, ...]:
    """Return the launches for `main` (the task's sizes, else usual ones), `full`, `odd`."""
    return tuple(case for name in names or ("main",) for case in _of(source, context.task, name))


def _of(source: Source, task: Task | None, name: str) -> tuple[Case, ...]:
    known = _CASES.setdefault(source, {})
    key = f"{name} {task.key if task is not None else ''}"
    if key not in known:
        known[key] = tuple(_launches(source, task, name))
    return known[key]


def _launches(source: Source, task: Task | None, name: str) -> Iterator[Case]:
    for unit in source.cuda:
        analysis = flow(unit)
        for function in analysis.roots:
            sizes = sizes_for(source, function, task, name)
            if name == "full" and not sizes.real:
                continue
            if not sizes.real and _are_sizes_refused(analysis, sizes):
                if name != "main":
                    continue
                sizes = sizes_for(source, function, task, "even")
            for launch in analysis.launches(sizes):
                yield Case(unit, analysis, sizes, launch)


def _are_sizes_refused(analysis: Flow, sizes: Sizes) -> bool:
    """Whether the host code's own checks refuse these sizes."""
    return any(run.refused for run in analysis.host(sizes))


BASES = {"main": USUAL, "full": USUAL, "even": EVEN, "odd": ODD}


def sizes_for(source: Source, function: Function, task: Task | None, name: str) -> Sizes:
    """Return the sizes of a host function's arguments."""
    base = BASES[name]
    inputs = task_inputs(task, {"main": "nominal", "full": "full"}.get(name, ""))
    given = {k: item.shape for k, item in enumerate(inputs) if isinstance(item, TensorSpec)}
    bound = bindings(source, function, attributes(source, task))
    of_tensors = [
        p for p in function.parameters if p.kind.split("<")[-1].rstrip("> ").endswith("Tensor")
    ]
    tensors = tuple(_shape(bound.get(one.name), given) for one in of_tensors)
    plain = (one for one in function.parameters if one not in of_tensors and one.name in bound)
    known = {one.name: _number(bound[one.name], given, base) for one in plain}
    numbers = {name: number for name, number in known.items() if number is not None}
    integers = [p for p in function.parameters if type_letter(p.kind) in "iul" and not p.is_pointer]
    complete = None not in tensors and all(p.name in numbers for p in integers)
    label = f"{base.name} {function.name}" + (f" {sorted(given.items())}" if given else "")
    return Sizes(
        label,
        tensors,
        numbers,
        base.by_rank,
        base.number,
        real=bool(given),
        function=function.name,
        complete=bool(given) and complete,
    )


def task_inputs(task: Task | None, role: str) -> tuple[object, ...]:
    """Return the inputs of the task's first workload of a role."""
    for workload in task.workloads if task is not None else ():
        if workload.role == role:
            return workload.inputs
    return ()


def full_size_of(context: Context, name: str) -> str:
    """Return the workload of the launches `full`; empty for sizes that are run anyway."""
    workloads = context.task.workloads if context.task is not None and name == "full" else ()
    return next((workload.name for workload in workloads if workload.role == "full"), "")


def _shape(
    binding: Binding | None, shapes: Mapping[int, tuple[int, ...]]
) -> tuple[int, ...] | None:
    return shapes.get(binding.index) if binding is not None and binding.kind == "tensor" else None


def _number(binding: Binding, shapes: Mapping[int, tuple[int, ...]], base: Sizes) -> int | None:
    shape = shapes.get(binding.index, base.by_rank[1])
    if binding.kind == "number":
        return binding.number
    if binding.kind == "numel":
        return math.prod(shape)
    inside = binding.kind == "size" and -len(shape) <= binding.dim < len(shape)
    return shape[binding.dim] if inside else None


def spans(source: Source) -> tuple[tuple[str, int, int], ...]:
    """Return each kernel with its first and last line, and those of the helpers."""
    out = []
    for unit in source.cuda:
        lines = {one.node.id: unit.place(one.node) for one in unit.functions}
        for kernel in unit.kernels:
            for one in (kernel, *unit.device_functions):
                place = lines[one.node.id]
                out.append((kernel.name, place.line, place.end_line))
    return tuple(out)


class LastThread(Evaluator):
    """Evaluates the expressions of one launch's kernel."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.unit)
        names = [one.name for one in case.function.parameters]
        given: dict[str, Any] = dict(zip(names, case.launch.arguments, strict=False))
        for dim, index, sizes in (
            ("gridDim", "blockIdx", case.launch.grid),
            ("blockDim", "threadIdx", case.launch.block),
        ):
            given |= {dim: sizes, index: tuple(n - 1 if n is not None else None for n in sizes)}
        self._scope = Scope(case.function.code, given, {"scalar_t": "float"})
        parts = cpp.walk(case.function.code)
        self._loops = [one for one in parts if isinstance(one, cpp.Loop)]

    def number(self, expr: cpp.Expr) -> int | None:
        """Return an integer value; None where unknown."""
        value = self.value(expr, self._scope, int(expr.node.start_byte))
        return value if isinstance(value, int) else None

    def value_of_name(self, name: str, scope: Scope, at: int) -> Any:
        """Return the value of a name: for a loop's counter, its bound."""
        for loop in self._loops:
            match loop.test:
                case cpp.Binary(op="<" | "<=", left=cpp.Name(id=counter), right=bound):
                    if counter == name and loop.body.node.start_byte <= at < loop.node.end_byte:
                        return self.value(bound, scope, int(loop.node.start_byte))
        return super().value_of_name(name, scope, at)
