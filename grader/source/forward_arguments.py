"""Arguments that forward passes to the extension: inputs, their sizes, numbers."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.records import Task
from grader.source import Source, nodes_under
from grader.source.functions import Function


@dataclass(frozen=True)
class Binding:
    """An argument from Python: input `index` of forward, one of its sizes, its numel, or a number."""

    kind: str
    index: int = 0
    dim: int = 0
    number: int = 0


def attributes(source: Source, task: Task | None) -> dict[str, int]:
    """Return the integers that ModelNew keeps from the task's constructor arguments, or from its own defaults."""
    given = next((w.init for w in task.workloads if w.role == "nominal"), ()) if task else ()
    constructor = source.module.method("__init__")
    if constructor is None:
        return {}
    names = [a.arg for a in constructor.args.args[1:]]
    defaults = constructor.args.defaults
    usual = {
        n: d.value
        for n, d in zip(names[-len(defaults) :], defaults, strict=False)
        if isinstance(d, ast.Constant)
    }
    asked = dict(zip(names, given, strict=False))
    values = {n: v for n, v in (usual | asked if task else {}).items() if isinstance(v, int)}
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
    """Return the arguments of a host function from Python, as far as known."""
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
            of = self._tensor_of_shape(value)
            for dim, item in enumerate(target.elts):
                if of is not None and isinstance(item, ast.Name):
                    self.known[item.id] = Binding("size", of.index, dim)
            if of is None and isinstance(value, ast.Tuple):
                for item, one in zip(target.elts, value.elts, strict=False):
                    self._assign(item, one)

    def _tensor_of_shape(self, value: ast.expr) -> Binding | None:
        """Return the tensor of `x.shape` or `x.size()`."""
        match value:
            case ast.Attribute(attr="shape", value=base):
                return self.resolve(base)
            case ast.Call(func=ast.Attribute(attr="size", value=base), args=[]):
                return self.resolve(base)
        return None

    def resolve(self, value: ast.expr) -> Binding | None:
        """Return the binding of an expression."""
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
                return self._size(self._tensor_of_shape(base), k)
            case ast.Call(func=ast.Attribute(attr=kept, value=base)) if kept in _KEEP:
                return self.resolve(base)
        return None

    @staticmethod
    def _size(of: Binding | None, dim: int) -> Binding | None:
        return Binding("size", of.index, dim) if of is not None and of.kind == "tensor" else None


_KEEP = {"contiguous", "cuda", "to", "float", "detach", "clone"}
