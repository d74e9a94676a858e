"""A function of a Triton program that may be changed: names by kind, kinds of expressions, and pairs that may be exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from grader.repair.candidates.candidate import Kind as Way
from grader.repair.candidates.candidate import Piece, Touches
from grader.repair.candidates.changeable import Likes, Site
from grader.repair.candidates.pattern import Hole, Rewrite, Tree
from grader.repair.candidates.rows import read_rows
from grader.repair.candidates.triton.function import names_in
from grader.repair.candidates.triton.holes import HOLES
from grader.repair.candidates.triton.names import Names, is_condition
from grader.repair.candidates.triton.roles import roles_in
from grader.repair.candidates.triton.tree import ATOMS, TREE, is_loose
from grader.source import Source
from grader.source.analysis.triton import kernels, launches

NEXT = 0.12
"""Additional share of a change's cost for each further name of a kind."""
OF_LAUNCHES, IN_TUPLES, OF_AXES = 0.6, 1.0, 0.9
"""Cost of two arguments of a launch, two parts of a tuple, or a row and a column, exchanged."""


@dataclass(frozen=True, eq=False)
class Scope(Names):
    """A kernel or host function, with its names by kind."""

    tree: ClassVar[Tree] = TREE
    table: ClassVar[tuple[Rewrite, ...]] = read_rows("triton")
    holes: ClassVar[Mapping[str, Hole]] = HOLES
    beside: ClassVar[Way] = "after"

    def words_of(self, node: ast.expr) -> str:
        """Return an expression's text as a part of a product."""
        words = self.source.text(node)
        closed = isinstance(node, ATOMS) or (isinstance(node, ast.Tuple) and words.startswith("("))
        return words if closed else f"({words})"

    def in_place(self, node: ast.expr, words: str) -> str:
        """Return new text in parentheses if it needs them inside an expression."""
        alone = bool(self.roles.get(node)) or not is_loose(words)
        return words if alone else f"({words})"

    @cached_property
    def roles(self) -> Mapping[ast.expr, frozenset[str]]:
        """Roles of expressions."""
        return roles_in(self)

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
        """Yield the values of a capital name that are defined there, with decreasing likelihood."""
        for turn, (name, factor) in enumerate(super().fill(site, hole)):
            if self.is_made_before(name, site.node):
                yield name, factor * (1 + NEXT * turn)

    def says(self, piece: Piece) -> Hashable:
        """Return the statement's text after a change, with insertions unchanged; None where it is the same."""
        statement = self.statement_of(piece.node)
        if piece.kind == "after":
            return statement, f"after: {piece.code}"
        (start, _), (a, b) = self.source.span(statement), piece.span
        words = self._head(statement)
        said = _plain(words[: a - start] + piece.code + words[b - start :])
        return None if said == _plain(words) else (statement, said)

    def _head(self, statement: ast.AST) -> str:
        """Return a statement's text; of a loop or a condition, its head."""
        start, end = self.source.span(statement)
        body = getattr(statement, "body", None)
        return self.source.code[start : self.source.span(body[0])[0] if body else end]

    def variants(self, words: str) -> Iterator[str]:
        """Yield a copied step unchanged, and by rows."""
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
            return self.kernel is not None and not self.computes(node) and not is_condition(node)
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
