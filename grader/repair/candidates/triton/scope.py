"""What is known in a function of a Triton program: names by kind, and the part that an expression plays."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel, kernels, launches

Kind = Literal["POINTER", "SIZE", "INDEX", "REAL", "SELF"]
Role = Literal["pointer", "stored", "mask", "other", "assigned", "start", "grid", "argument", ""]
INDICES = {"program_id", "arange"}
REALS = {"load", "zeros", "full", "sum", "sqrt", "rsqrt", "exp", "exp2", "log", "dot", "where", "max"}  # fmt: skip
RANGES = {"range", "static_range", "arange"}
MOVES = {"load", "store"}
COUNTS = (ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, eq=False)
class Scope:
    """One kernel, or one function of the host."""

    source: Source
    node: ast.FunctionDef
    kernel: Kernel | None

    @cached_property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """Names by kind, in the order in which they are bound."""
        return self._of_kernel(self.kernel) if self.kernel else self._of_host()

    @cached_property
    def idle(self) -> frozenset[str]:
        """Names that nothing uses but what assigns them anew."""
        known = {name for names in self.known.values() for name in names}
        return frozenset(known.difference(self._used()))

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """The comparisons of places with sizes, as they are written."""
        found = (one for one in nodes_under(self.node) if isinstance(one, ast.Compare))
        places = set(self.known.get("INDEX", ()))
        return tuple(dict.fromkeys(self.source.text(o) for o in found if _names(o) & places))

    def _used(self) -> Iterator[str]:
        for node in nodes_under(self.node):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from _names(node.value) - {n for one in targets for n in _names(one)}
                yield from (n for t in targets if not isinstance(t, ast.Name) for n in _names(t))
            elif isinstance(node, ast.stmt):
                parts = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
                yield from (name for one in parts for name in _names(one))

    @cached_property
    def meta(self) -> frozenset[ast.expr]:
        """What launches are given by keyword: sizes of blocks and numbers of warps."""
        own = (one for one in launches(self.source) if one.host is self.node)
        return frozenset(word.value for one in own for word in one.call.keywords)

    def computes(self, node: ast.expr) -> bool:
        """Whether an expression computes with real numbers, and with no place in memory."""
        kinds = {self.kind_of(one) for one in ast.walk(node) if isinstance(one, ast.Name)}
        return "REAL" in kinds or (self.kernel is None and isinstance(node, ast.BinOp))

    def kind_of(self, node: ast.expr) -> str:
        """Return the kind of a name; empty where it has none."""
        words = self.source.text(node)
        return next((kind for kind, names in self.known.items() if words in names), "")

    def _of_kernel(self, kernel: Kernel) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {kind: [] for kind in ("POINTER", "SIZE", "INDEX", "REAL")}
        for name in kernel.assigned:
            if not all(_is_condition(one) for one in kernel.assigned[name]):
                found[self._kind_of_local(kernel, name)].append(name)
        counted = _counted(self.node)
        for name in kernel.parameters:
            if name not in kernel.pointers and name not in kernel.assigned:
                found["SIZE" if name in counted or name in kernel.constants else "REAL"].append(name)  # fmt: skip
        found["POINTER"] += [name for name in kernel.parameters if name in kernel.pointers]
        return {kind: tuple(dict.fromkeys(names)) for kind, names in found.items()}

    def _kind_of_local(self, kernel: Kernel, name: str) -> Kind:
        if kernel.names_behind(ast.Name(name)) & kernel.pointers:
            if name in kernel.pointers or self._moves_pointer(kernel, name):
                return "POINTER"
            return "REAL"
        values = kernel.assigned[name]
        nodes = [node for value in values for node in ast.walk(value)]
        if any(isinstance(getattr(one, "value", None), float) for one in nodes):
            return "REAL"
        if any(isinstance(one, ast.Div) for one in nodes) or _calls(kernel, values) & REALS:
            return "REAL"
        behind = [
            v for n in kernel.names_behind(ast.Name(name)) for v in kernel.assigned.get(n, ())
        ]
        return "INDEX" if _calls(kernel, behind) & INDICES else "SIZE"

    def _moves_pointer(self, kernel: Kernel, name: str) -> bool:
        """Whether accesses go through a name that is a sum with a pointer."""
        through = {n for one in kernel.accesses for n in _names(one.pointer)}
        sums = [value for value in kernel.assigned[name] if isinstance(value, ast.BinOp)]
        return name in through and bool(sums) and not _calls(kernel, sums) & REALS

    def _of_host(self) -> Mapping[str, tuple[str, ...]]:
        given = [v for one in launches(self.source) if one.host is self.node for v in one.call.args]
        nodes = [node for value in given for node in ast.walk(value)]
        names = [n.id for n in nodes if isinstance(n, ast.Name)]
        tensors = {self.source.text(v) for one in launches(self.source) for p, v in one.arguments.items() if p in one.kernel.pointers}  # fmt: skip
        bound = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        sizes = [n for n in dict.fromkeys((*names, *sorted(bound))) if n in bound - tensors]
        return {
            "POINTER": tuple(n for n in dict.fromkeys(names) if n in tensors),
            "SIZE": tuple(sizes),
            "SELF": tuple(dict.fromkeys(_settings(self.source))),
        }

    @cached_property
    def roles(self) -> Mapping[ast.expr, Role]:
        """The part that some expressions play."""
        return {node: role for node, role in self._roles() if isinstance(node, ast.expr)}

    def _roles(self) -> Iterator[tuple[ast.expr, Role]]:
        for node in nodes_under(self.node):
            if isinstance(node, ast.Assign | ast.AugAssign):
                yield node.value, "start" if _is_number(node.value) else "assigned"
        for access in self.kernel.accesses if self.kernel else ():
            for name, role in (("pointer", "pointer"), ("value", "stored"), ("mask", "mask"), ("other", "other")):  # fmt: skip
                if name in access.arguments:
                    yield access.arguments[name], role  # type: ignore[misc]
        for launch in launches(self.source):
            if launch.host is self.node:
                yield from ((one, "argument") for one in launch.call.args)
                parts = launch.grid.elts if isinstance(launch.grid, ast.Tuple) else ()
                yield from ((one, "grid") for one in parts)


def scopes(source: Source) -> Iterator[Scope]:
    """Yield the functions of a Triton program that run when `forward` is called."""
    known = {one.node: one for one in kernels(source)}
    for node in source.walk(ast.FunctionDef):
        if node.name != "__init__":
            yield Scope(source, node, known.get(node))


def _is_condition(node: ast.expr) -> bool:
    joined = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)
    return joined or isinstance(node, ast.Compare)


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, `float("inf")` or the negative of one."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "float"
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _counted(function: ast.FunctionDef) -> set[str]:
    """Return the names in comparisons, ranges, whole quotients and rests, and in what pointers are moved by."""
    return {name for node in ast.walk(function) for part in _places(node) for name in _names(part)}


def _places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is a place or a bound in one node of a tree."""
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, COUNTS)
    if divides or isinstance(node, ast.Compare):
        yield node
    elif isinstance(node, ast.AugAssign) and "ptr" in ast.unparse(node.target):
        yield node.value
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in RANGES:
            yield node
        elif called in MOVES:
            yield from node.args[:1]


def _calls(kernel: Kernel, values: object) -> set[str]:
    return {kernel.language_name(n) for value in values for n in ast.walk(value) if isinstance(n, ast.Call)}  # type: ignore[attr-defined] # fmt: skip


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _settings(source: Source) -> Iterator[str]:
    """Yield the attributes that a layer keeps of its parameters: `self.dim`, `self.bn.eps`."""
    for node in source.walk(ast.Assign):
        for target in node.targets:
            for one in target.elts if isinstance(target, ast.Tuple) else (target,):
                if isinstance(one, ast.Attribute) and source.text(one).startswith("self."):
                    if not isinstance(node.value, ast.Call):
                        yield source.text(one)
                    elif "eps" not in source.text(one) and ".nn." in f".{source.full_name(node.value.func)}":  # fmt: skip
                        yield f"{source.text(one)}.eps"
