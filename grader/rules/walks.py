"""The walks through a submission's kernels, for the task's sizes and for others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from grader.records import Place, Task, TensorSpec
from grader.rules.rule import Context
from grader.source import nodes_under
from grader.source.flow import (
    EVEN,
    LONG,
    ODD,
    USUAL,
    Event,
    Flow,
    Launch,
    Sizes,
    Tensor,
    Walk,
    flow,
)
from grader.source.flow.trace import Care
from grader.source.flow.values import type_letter

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Source, Unit
    from grader.source.flow.tree import Function


@dataclass(frozen=True, eq=False)
class Case:
    """One launch of a kernel for one set of sizes."""

    unit: Unit
    flow: Flow
    sizes: Sizes
    launch: Launch
    care: Care
    """What its walk looks at: of sizes that are only asked for addresses, no data."""

    @property
    def walk(self) -> Walk:
        """The walk of its first block, made when it is first asked for."""
        return self.flow.walk(self.launch, self.care)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors whose memory the kernel is given."""
        given = (argument.pointer for argument in self.launch.arguments)
        found = (pointer.region.tensor for pointer in given if pointer is not None)
        return tuple(tensor for tensor in found if tensor is not None)

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

    def events(self, *kinds: str) -> Iterator[Event]:
        """Yield the events of these kinds, without a walk where it can have none of them."""
        if ALONE.isdisjoint(kinds) and not self.flow.cooperates(self.kernel):
            return iter(())
        return (event for event in self.walk.events if event.kind in kinds)


ALONE = frozenset({"double-math", "int-overflow"})
"""Events of threads that don't work together."""
_CASES: WeakKeyDictionary[Source, dict[str, tuple[Case, ...]]] = WeakKeyDictionary()


def cases(source: Source, context: Context, *names: str) -> tuple[Case, ...]:
    """Return the walks for `main` (the task's sizes, else usual ones), `full`, `odd`, `long`."""
    return tuple(case for name in names or ("main",) for case in _of(source, context.task, name))


def _of(source: Source, task: Task | None, name: str) -> tuple[Case, ...]:
    known = _CASES.setdefault(source, {})
    key = f"{name} {task.key if task is not None else ''}"
    if key not in known:
        known[key] = tuple(_walked(source, task, name))
    return known[key]


def _walked(source: Source, task: Task | None, name: str) -> Iterator[Case]:
    for unit in source.cuda:
        analysis = flow(unit)
        for root in analysis.roots:
            function = analysis.program.named(root)
            if function is None:
                continue
            sizes = sizes_for(source, function, task, name)
            if name == "full" and not sizes.real:
                continue
            if not sizes.real and _refused(analysis, sizes):
                if name != "main":
                    continue
                sizes = sizes_for(source, function, task, "even")
            for launch in analysis.launched(sizes):
                yield Case(unit, analysis, sizes, launch, CARE[name])


def _refused(analysis: Flow, sizes: Sizes) -> bool:
    """Whether the host code's own checks say that it doesn't take these sizes."""
    return any(run.refused for run in analysis.host(sizes))


CARE = {"main": Care.DATA, "odd": Care.DATA, "long": Care.BOUNDS, "full": Care.ADDRESSES}
BASES = {"main": USUAL, "full": USUAL, "even": EVEN, "odd": ODD, "long": LONG}


def sizes_for(source: Source, function: Function, task: Task | None, name: str) -> Sizes:
    """Return the sizes of a host function's arguments."""
    base = BASES[name]
    inputs = task_inputs(task, {"main": "nominal", "full": "full"}.get(name, ""))
    bound = bindings(source, function, _attributes(source, task))
    tensors: list[tuple[int, ...] | None] = []
    numbers: dict[str, int] = {}
    shapes = {k: item.shape for k, item in enumerate(inputs) if isinstance(item, TensorSpec)}
    ranks = _ranks(bound)
    for parameter in function.parameters:
        binding = bound.get(parameter.name)
        if parameter.type.split("<")[-1].rstrip("> ").endswith("Tensor"):
            tensors.append(_shape(binding, shapes, ranks, base))
        elif binding is not None:
            number = _number(binding, shapes, ranks, base)
            if number is not None:
                numbers[parameter.name] = number
    integers = [p for p in function.parameters if type_letter(p.type) in "iul" and not p.pointer]
    known = None not in tensors and all(p.name in numbers for p in integers)
    label = f"{base.name} {function.name}" + (f" {sorted(shapes.items())}" if shapes else "")
    return Sizes(
        label,
        tuple(tensors),
        numbers,
        base.by_rank,
        base.number,
        bool(shapes),
        function.name,
        bool(shapes) and known,
    )


def task_inputs(task: Task | None, role: str) -> tuple[object, ...]:
    """Return the inputs of the task's first workload of a role."""
    for workload in task.workloads if task is not None else ():
        if workload.role == role:
            return workload.inputs
    return ()


# --- what forward passes to the extension -----------------------------------------------------


@dataclass(frozen=True)
class Binding:
    """What Python passes: input `index` of forward, one of its sizes, its numel, or a number."""

    kind: str
    index: int = 0
    dim: int = 0
    number: int = 0


def _attributes(source: Source, task: Task | None) -> dict[str, int]:
    """Return the integers that ModelNew keeps of the task's constructor arguments."""
    given = next((w.init for w in task.workloads if w.role == "nominal"), ()) if task else ()
    constructor = source.method("ModelNew", "__init__")
    if constructor is None:
        return {}
    names = [a.arg for a in constructor.args.args[1:]]
    values = {n: v for n, v in zip(names, given, strict=False) if isinstance(v, int)}
    found: dict[str, int] = {}
    for node in nodes_under(constructor):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)],
                value=ast.Name(id=name),
            ) if name in values:
                found[attr] = int(values[name])
    return found


def bindings(
    source: Source, function: Function, attributes: Mapping[str, int] = MappingProxyType({})
) -> Mapping[str, Binding]:
    """Return what Python passes to a host function's parameters, as far as it can be told."""
    for call in source.walk(ast.Call):
        target = call.func
        named = isinstance(target, ast.Attribute) and target.attr == function.name
        if not named or len(call.args) > len(function.parameters):
            continue
        forward = _around(source, call)
        if forward is None:
            continue
        scope = _Scope(forward, attributes)
        found = {
            parameter.name: binding
            for parameter, argument in zip(function.parameters, call.args, strict=False)
            if (binding := scope.resolve(argument)) is not None
        }
        if found:
            return found
    return {}


def _around(source: Source, call: ast.Call) -> ast.FunctionDef | None:
    around = [
        node
        for node in source.walk(ast.FunctionDef)
        if node.lineno <= call.lineno <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


class _Scope:
    """The parameters and plain assignments of one Python function."""

    def __init__(self, function: ast.FunctionDef, attributes: Mapping[str, int]) -> None:
        self.attributes = attributes
        names = [a.arg for a in function.args.args if a.arg not in {"self", "ctx"}]
        self.known = {name: Binding("tensor", index) for index, name in enumerate(names)}
        for node in nodes_under(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            binding = self.resolve(value)
            if binding is not None:
                self.known[target.id] = binding
            else:
                self.known.pop(target.id, None)
        elif isinstance(target, ast.Tuple):
            of = self._shaped(value)
            for dim, item in enumerate(target.elts):
                if of is not None and isinstance(item, ast.Name):
                    self.known[item.id] = Binding("size", of.index, dim)
            if of is None and isinstance(value, ast.Tuple):
                for item, one in zip(target.elts, value.elts, strict=False):
                    self._assign(item, one)

    def _shaped(self, value: ast.expr) -> Binding | None:
        """Return the tensor of `x.shape` or `x.size()`."""
        match value:
            case ast.Attribute(attr="shape", value=base):
                return self.resolve(base)
            case ast.Call(func=ast.Attribute(attr="size", value=base), args=[]):
                return self.resolve(base)
        return None

    def resolve(self, value: ast.expr) -> Binding | None:
        """Return what an expression passes."""
        match value:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return Binding("number", number=number)
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in self.attributes:
                return Binding("number", number=self.attributes[attr])
            case ast.Call(func=ast.Attribute(attr="numel", value=base)):
                of = self.resolve(base)
                return Binding("numel", of.index) if of is not None else None
            case ast.Call(
                func=ast.Attribute(attr="size", value=base), args=[ast.Constant(value=int(k))]
            ):
                return self._size(self.resolve(base), k)
            case ast.Subscript(value=base, slice=ast.Constant(value=int(k))):
                return self._size(self._shaped(base), k)
            case ast.Call(func=ast.Attribute(attr=kept, value=base)) if kept in _KEEP:
                return self.resolve(base)
        return None

    @staticmethod
    def _size(of: Binding | None, dim: int) -> Binding | None:
        return Binding("size", of.index, dim) if of is not None and of.kind == "tensor" else None


_KEEP = {"contiguous", "cuda", "to", "float", "detach", "clone"}


def _ranks(bound: Mapping[str, Binding]) -> Mapping[int, int]:
    """Return the dimensions that each input has at least, from the sizes that are passed."""
    ranks: dict[int, int] = {}
    for binding in bound.values():
        if binding.kind == "size":
            top = binding.dim + 1 if binding.dim >= 0 else 2
            ranks[binding.index] = max(ranks.get(binding.index, 0), top)
    return ranks


def _shape(
    binding: Binding | None,
    shapes: Mapping[int, tuple[int, ...]],
    ranks: Mapping[int, int],
    base: Sizes,
) -> tuple[int, ...] | None:
    if binding is None or binding.kind != "tensor":
        return None
    if binding.index in shapes:
        return shapes[binding.index]
    return base.by_rank.get(ranks[binding.index]) if binding.index in ranks else None


def _number(
    binding: Binding,
    shapes: Mapping[int, tuple[int, ...]],
    ranks: Mapping[int, int],
    base: Sizes,
) -> int | None:
    if binding.kind == "number":
        return binding.number
    shape = _shape(Binding("tensor", binding.index), shapes, {binding.index: 1, **ranks}, base)
    if shape is None:
        return None
    if binding.kind == "numel":
        out = 1
        for size in shape:
            out *= size
        return out
    inside = binding.kind == "size" and -len(shape) <= binding.dim < len(shape)
    return shape[binding.dim] if inside else None


def spans(source: Source) -> tuple[tuple[str, int, int], ...]:
    """Return each kernel with its first and last line, and those of the helpers."""
    out = []
    for unit in source.cuda:
        functions = [f for f in flow(unit).program.functions if f.kind != "host"]
        lines = {id(f): unit.place(f.node) for f in functions}
        for kernel in functions:
            if kernel.kind != "global":
                continue
            for f in functions:
                if f is kernel or f.kind == "device":
                    out.append((kernel.name, lines[id(f)].line, lines[id(f)].end_line))
    return tuple(out)
