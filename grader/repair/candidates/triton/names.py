"""What is known in a function of a Triton program: its names by kind, of what kind an expression is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from grader.repair.candidates.changeable import Changeable, Given
from grader.repair.candidates.triton.function import Function, called_name, names_in, target_of
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel, launches

Kind = Literal["POINTER", "SIZE", "INDEX", "REAL"]
INDICES = {"program_id", "arange"}
REALS = {"load", "zeros", "full", "sum", "sqrt", "rsqrt", "exp", "exp2", "log", "dot", "where", "max"}  # fmt: skip
LOOPS = {"range", "static_range"}
SIZES = r"\.(?:shape|size|stride|numel)\b|cdiv|//"


@dataclass(frozen=True, eq=False)
class Names(Function, Changeable):
    """A kernel, or a function of the host, with what is known of its names."""

    @property
    def text(self) -> Source:  # type: ignore[override]
        """What its nodes are part of."""
        return self.source

    @property
    def on_host(self) -> bool:
        """Whether it is host code."""
        return self.kernel is None

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
            if not all(is_condition(one) for one in kernel.assigned[name]):
                found[self._kind_of_local(kernel, name)].append(name)
        compared = (one for one in nodes_under(self.node) if isinstance(one, ast.Compare))
        counted = {name for one in compared for name in names_in(one)}
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
        bound = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        sizes = [n for n in dict.fromkeys((*names, *sorted(bound))) if n in bound - tensors]
        return {
            "POINTER": tuple(n for n in dict.fromkeys(names) if n in tensors),
            "SIZE": tuple(sizes),
        }

    @property
    def sizes(self) -> Sequence[str]:
        """Names of lengths and counts."""
        return self.known.get("SIZE", ())

    @cached_property
    def given(self) -> Sequence[Given]:
        """The values that its statements give to names, in the order of the text."""
        simple = (one for one in self.statements if isinstance(one, ast.Assign | ast.AugAssign))
        named = ((target_of(one), one) for one in simple)
        return [
            Given(name, one.value, one, isinstance(one, ast.AugAssign) or name in names_in(one.value))
            for name, one in named
            if name
        ]  # fmt: skip


def is_condition(node: ast.expr) -> bool:
    """Whether an expression compares, or joins conditions."""
    joined = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)
    return joined or isinstance(node, ast.Compare)


def _is_size(value: ast.expr, host: ast.FunctionDef) -> bool:
    """Whether an argument is made of shapes and strides, as it is written or as the names in it were made."""
    assigned = (one for one in ast.walk(host) if isinstance(one, ast.Assign))
    made = (one.value for one in assigned if any(names_in(t) & names_in(value) for t in one.targets))  # fmt: skip
    return any(re.search(SIZES, ast.unparse(one)) for one in (value, *made))


def _calls(kernel: Kernel, values: object) -> set[str]:
    return {kernel.language_name(n) for value in values for n in ast.walk(value) if isinstance(n, ast.Call)}  # type: ignore[attr-defined] # fmt: skip
