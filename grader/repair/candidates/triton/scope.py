"""A function of a Triton program that may be changed: its names by kind, of what kind an expression is, what may be exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

from grader.repair.candidates.candidate import Kind as Way
from grader.repair.candidates.candidate import Piece, Touches
from grader.repair.candidates.changeable import Changeable, Given, Likes
from grader.repair.candidates.pattern import Hole, Rewrite, Site, Tree
from grader.repair.candidates.rows import read_rows
from grader.repair.candidates.triton.function import Function, called_name, names_in, target_of
from grader.repair.candidates.triton.holes import HOLES
from grader.repair.candidates.triton.roles import roles_in
from grader.repair.candidates.triton.tree import ATOMS, TREE, is_loose
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel, kernels, launches

Kind = Literal["POINTER", "SIZE", "INDEX", "REAL"]
INDICES = {"program_id", "arange"}
REALS = {"load", "zeros", "full", "sum", "sqrt", "rsqrt", "exp", "exp2", "log", "dot", "where", "max"}  # fmt: skip
LOOPS = {"range", "static_range"}
SIZES = r"\.(?:shape|size|stride|numel)\b|cdiv|//"
NEXT = 0.12
"""What each next name of a kind adds to the cost of a change, as a share of it."""
OF_LAUNCHES, IN_TUPLES, OF_AXES = 0.6, 1.0, 0.9
"""Cost of two arguments of a launch, two parts of a tuple, or a row and a column, exchanged."""


@dataclass(frozen=True, eq=False)
class Scope(Function, Changeable):
    """A kernel, or a function of the host, with what is known of its names."""

    tree: ClassVar[Tree] = TREE
    table: ClassVar[tuple[Rewrite, ...]] = read_rows("triton")
    holes: ClassVar[Mapping[str, Hole]] = HOLES
    beside: ClassVar[Way] = "after"

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
        closed = isinstance(node, ATOMS) or (isinstance(node, ast.Tuple) and words.startswith("("))
        return words if closed else f"({words})"

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

    def alike(self) -> Iterator[Likes]:
        """Yield the arguments of launches, rows and columns of a statement, the parts of tuples."""
        for launch in (one for one in launches(self.source) if one.host is self.node):
            kinds = [self.kind_of(one) or type(one).__name__ for one in launch.call.args]
            yield Likes(launch.call.args, kinds, OF_LAUNCHES, "launch")
        for one in self.statements if self.kernel else ():
            parts = [part.slice for part in ast.walk(one) if isinstance(part, ast.Subscript)]
            yield Likes(parts, [0] * len(parts), OF_AXES, "shape")
        assigned = (one for one in self.statements if isinstance(one, ast.Assign))
        touches: Touches = "launch" if self.kernel is None else "index"
        for node in (*self.expressions, *(to for one in assigned for to in one.targets)):
            if isinstance(node, ast.Tuple):
                yield Likes(node.elts, [0] * len(node.elts), IN_TUPLES, touches)

    def fill(self, site: Site[Any], hole: str) -> Iterator[tuple[str, float]]:
        """Yield what has a value there and a name in capitals may stand for, each next one less likely."""
        for turn, (name, factor) in enumerate(super().fill(site, hole)):
            if self.is_made_before(name, site.node):
                yield name, factor * (1 + NEXT * turn)

    def says(self, piece: Piece) -> Hashable:
        """Return what the statement says after a change, what is put after it as it is; None where it says the same."""
        statement = self.statement_of(piece.node)
        if piece.kind == "after":
            return statement, f"after: {piece.code}"
        (start, _), (a, b) = self.source.span(statement), piece.span
        words = self._head(statement)
        said = _plain(words[: a - start] + piece.code + words[b - start :])
        return None if said == _plain(words) else (statement, said)

    def _head(self, statement: ast.AST) -> str:
        """Return a statement's text, of a loop or a condition what it begins with."""
        start, end = self.source.span(statement)
        body = getattr(statement, "body", None)
        return self.source.code[start : self.source.span(body[0])[0] if body else end]

    def variants(self, words: str) -> Iterator[str]:
        """Yield a step that was taken over as it is, and by rows."""
        yield words
        for name in names_in(ast.parse(words)) & set(self.known.get("REAL", ())):
            yield re.sub(rf"\b{name}\b(?!\[)", f"{name}[:, None]", words)

    def touches_of(self, node: ast.expr) -> Touches:
        """Return what a change of an expression touches."""
        return "value" if self.computes(node) else "index"

    def holds(self, word: str, node: ast.expr) -> bool:
        """Whether an expression plays a role, or is of a kind."""
        value = getattr(node, "value", None) if self.kernel is not None else None
        if word == "host":
            return self.kernel is None and node not in self.meta
        if word == "bare":
            outer = self.around[node]
            return isinstance(node, ast.Name) and not isinstance(outer, ast.Subscript | ast.Attribute | ast.Call)  # fmt: skip
        if word == "number":
            return self.computes(node)
        if word == "index":
            return self.kernel is not None and not self.computes(node) and not _is_condition(node)
        if word in {"whole-number", "float"}:
            return isinstance(value, int if word == "whole-number" else float)
        if word in {"real", "kernel"}:
            return self.kernel is not None and (word == "kernel" or self._is_real(node))
        if word.isupper():
            return isinstance(node, ast.Name | ast.Attribute) and self.kind_of(node) == word
        return word in self.roles.get(node, ())

    def _is_real(self, node: ast.expr) -> bool:
        """Whether a kernel assigns this to a name of a real number."""
        assigned = self.kernel.assigned if self.kernel else {}
        names = (name for name, values in assigned.items() if any(v is node for v in values))
        return any(name in self.known["REAL"] for name in names)


def scopes(source: Source) -> Iterator[Scope]:
    """Yield the functions of a Triton program that run when `forward` is called."""
    known = {one.node: one for one in kernels(source)}
    for node in source.walk(ast.FunctionDef) if known else ():
        if node.name != "__init__":
            yield Scope(source, node, known.get(node))


@lru_cache(maxsize=1 << 14)
def _plain(words: str) -> str:
    """Return a text in its plainest spelling, without needless parentheses; the text itself if it can't be read."""
    try:
        return ast.unparse(ast.parse(words.strip()))
    except SyntaxError:
        return words


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


def _calls(kernel: Kernel, values: object) -> set[str]:
    return {kernel.language_name(n) for value in values for n in ast.walk(value) if isinstance(n, ast.Call)}  # type: ignore[attr-defined] # fmt: skip
