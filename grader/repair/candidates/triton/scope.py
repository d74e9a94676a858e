"""What is known in a function of a Triton program: its names by kind, and of what kind an expression is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from grader.repair.candidates.candidate import Touches
from grader.repair.candidates.pattern import Changeable, Tree
from grader.repair.candidates.pattern import Site as AnySite
from grader.repair.candidates.triton.forward import extension_calls, forward_of
from grader.repair.candidates.triton.function import Function, called_name, names_in
from grader.repair.candidates.triton.roles import roles_in
from grader.repair.candidates.triton.tree import ATOMS, TREE, is_loose
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel, kernels, launches

Kind = Literal["POINTER", "SIZE", "INDEX", "REAL", "SELF"]
INDICES = {"program_id", "arange"}
REALS = {"load", "zeros", "full", "sum", "sqrt", "rsqrt", "exp", "exp2", "log", "dot", "where", "max"}  # fmt: skip
RANGES = {"range", "static_range", "arange"}
LOOPS = {"range", "static_range"}
MOVES = {"load", "store"}
SIZES = r"\.(?:shape|size|stride|numel)\b|cdiv|//"
COUNTS = (ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, eq=False)
class Scope(Function, Changeable):
    """A kernel, or a function of the host, with what is known of its names."""

    tree: ClassVar[Tree] = TREE

    @property
    def text(self) -> Source:  # type: ignore[override]
        """What its nodes are part of."""
        return self.source

    @property
    def on_host(self) -> bool:
        """Whether it is host code."""
        return self.kernel is None

    def words_of(self, node: ast.expr) -> str:
        """Return an expression's text as a part of a product."""
        words = self.source.text(node)
        return words if isinstance(node, ATOMS) else f"({words})"

    def in_place(self, node: ast.expr, words: str) -> str:
        """Return new words in parentheses where they are part of an expression and need them."""
        alone = bool(self.roles.get(node)) or not is_loose(words)
        return words if alone else f"({words})"

    @cached_property
    def roles(self) -> Mapping[ast.expr, frozenset[str]]:
        """The parts that some expressions play."""
        return roles_in(self)

    @cached_property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """Names by kind, in the order in which they are bound."""
        return self._of_kernel(self.kernel) if self.kernel else self._of_host()

    @cached_property
    def idle(self) -> frozenset[str]:
        """Names that nothing uses but what assigns them anew."""
        known = {name for names in self.known.values() for name in names}
        return frozenset(known.difference(self._used_names()))

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """The comparisons of places with sizes, as they are written."""
        found = (one for one in nodes_under(self.node) if isinstance(one, ast.Compare))
        places = set(self.known.get("INDEX", ()))
        return tuple(dict.fromkeys(self.source.text(o) for o in found if names_in(o) & places))

    def _used_names(self) -> Iterator[str]:
        for node in nodes_under(self.node):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from names_in(node.value) - {n for one in targets for n in names_in(one)}
                yield from (n for t in targets if not isinstance(t, ast.Name) for n in names_in(t))
            elif isinstance(node, ast.stmt):
                parts = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
                yield from (name for one in parts for name in names_in(one))

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
        counted = _counting_names(self.node)
        for name in kernel.parameters:
            if name not in kernel.pointers and name not in kernel.assigned:
                sized = name in counted or name in kernel.constants or name in self._given_sizes
                found["SIZE" if sized else "REAL"].append(name)
        found["POINTER"] += [name for name in kernel.parameters if name in kernel.pointers]
        return {kind: tuple(dict.fromkeys(names)) for kind, names in found.items()}

    @cached_property
    def _given_sizes(self) -> frozenset[str]:
        """Parameters that launches give a length, a count or a stride to."""
        own = (one for one in launches(self.source) if one.kernel is self.kernel and one.host)
        pairs = ((name, value, one.host) for one in own for name, value in one.arguments.items())
        return frozenset(name for name, value, host in pairs if host and _is_size(value, host))

    def _kind_of_local(self, kernel: Kernel, name: str) -> Kind:
        if kernel.names_behind(ast.Name(name)) & kernel.pointers:
            if name in kernel.pointers or self._moves_pointer(kernel, name):
                return "POINTER"
            return "REAL"
        values = kernel.assigned[name]
        if any(called_name(one) in LOOPS for one in values if isinstance(one, ast.Call)):
            return "INDEX"
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
        through = {n for one in kernel.accesses for n in names_in(one.pointer)}
        sums = [value for value in kernel.assigned[name] if isinstance(value, ast.BinOp)]
        return name in through and bool(sums) and not _calls(kernel, sums) & REALS

    def _of_host(self) -> Mapping[str, tuple[str, ...]]:
        given = [v for one in launches(self.source) if one.host is self.node for v in one.call.args]
        nodes = [node for value in given for node in ast.walk(value)]
        names = [n.id for n in nodes if isinstance(n, ast.Name)]
        tensors = {self.source.text(v) for one in launches(self.source) for p, v in one.arguments.items() if p in one.kernel.pointers}  # fmt: skip
        settings = dict.fromkeys(settings_of(self.source))
        passed = [self.source.text(v) for call in extension_calls(self) for v in call.args if isinstance(v, ast.Name | ast.Attribute)]  # fmt: skip
        tensors |= set(passed) - set(settings)
        bound = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        sizes = [n for n in dict.fromkeys((*names, *sorted(bound))) if n in bound - tensors]
        return {
            "POINTER": tuple(n for n in dict.fromkeys((*names, *passed)) if n in tensors),
            "SIZE": tuple(sizes),
            "SELF": tuple(settings),
        }

    def touched(self, node: ast.expr) -> Touches:
        """Return what a change of an expression touches."""
        return "value" if self.computes(node) else "index"

    def is_of(self, kind: str, node: ast.expr) -> bool:
        """Whether an expression is of a kind that a rewrite asks for."""
        if kind == "host":
            return self.kernel is None and node not in self.meta
        if kind == "number":
            return self.computes(node)
        if kind == "index":
            return self.kernel is not None and not self.computes(node) and not _is_condition(node)
        if kind == "whole":
            return self.kernel is not None and isinstance(getattr(node, "value", None), int)
        if kind == "float":
            return self.kernel is not None and isinstance(getattr(node, "value", None), float)
        if kind == "real":
            return self.kernel is not None and self._is_real(node)
        if kind == "kernel":
            return self.kernel is not None
        named = isinstance(node, ast.Name | ast.Attribute)
        return not kind or (named and self.kind_of(node) == kind)

    def _is_real(self, node: ast.expr) -> bool:
        """Whether a kernel assigns this to a name of a real number."""
        assigned = self.kernel.assigned if self.kernel else {}
        names = (name for name, values in assigned.items() if any(v is node for v in values))
        return any(name in self.known["REAL"] for name in names)


Site = AnySite[Scope]


def scopes(source: Source) -> Iterator[Scope]:
    """Yield the functions of a Triton program that run when `forward` is called; of others that method alone."""
    known = {one.node: one for one in kernels(source)}
    if not known:
        yield from [Scope(source, forward, None)] if (forward := forward_of(source)) else ()
        return
    for node in source.walk(ast.FunctionDef):
        if node.name != "__init__":
            yield Scope(source, node, known.get(node))


def _is_condition(node: ast.expr) -> bool:
    joined = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)
    return joined or isinstance(node, ast.Compare)


def _is_size(value: ast.expr, host: ast.FunctionDef) -> bool:
    """Whether an argument is made of shapes and strides, as it is written or as the names in it were made."""
    words = ast.unparse(value)
    made = (one for one in ast.walk(host) if isinstance(one, ast.Assign) and any(names_in(t) & names_in(value) for t in one.targets))  # fmt: skip
    return any(
        re.search(SIZES, text) for text in (words, *(ast.unparse(one.value) for one in made))
    )


def _counting_names(function: ast.FunctionDef) -> set[str]:
    """Return the names in comparisons, ranges, whole quotients and rests, and in what pointers are moved by."""
    return {
        name for node in ast.walk(function) for part in _places(node) for name in names_in(part)
    }


def _places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is a place or a bound in one node of a tree."""
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, COUNTS)
    if divides or isinstance(node, ast.Compare):
        yield node
    elif isinstance(node, ast.AugAssign) and "ptr" in ast.unparse(node.target):
        yield node.value
    elif isinstance(node, ast.Call):
        name = called_name(node)
        if name in RANGES:
            yield node
        elif name in MOVES:
            yield from node.args[:1]


def _calls(kernel: Kernel, values: object) -> set[str]:
    return {kernel.language_name(n) for value in values for n in ast.walk(value) if isinstance(n, ast.Call)}  # type: ignore[attr-defined] # fmt: skip


def settings_of(source: Source) -> Iterator[str]:
    """Yield the attributes that a layer keeps of its parameters: `self.dim`, `self.bn.eps`."""
    for node in source.walk(ast.Assign):
        for target in node.targets:
            for one in target.elts if isinstance(target, ast.Tuple) else (target,):
                if isinstance(one, ast.Attribute) and source.text(one).startswith("self."):
                    if not isinstance(node.value, ast.Call):
                        yield source.text(one)
                    elif "eps" not in source.text(one) and ".nn." in f".{source.full_name(node.value.func)}":  # fmt: skip
                        yield f"{source.text(one)}.eps"
