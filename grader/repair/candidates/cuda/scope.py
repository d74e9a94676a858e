"""A function of a CUDA text that may be changed: its expressions, and pairs that may be exchanged."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from tree_sitter import Node

from grader.repair.candidates.candidate import Kind, Piece, Touches
from grader.repair.candidates.changeable import Given, Likes
from grader.repair.candidates.cuda.facts import FACTS
from grader.repair.candidates.cuda.holes import HOLES
from grader.repair.candidates.cuda.names import Names
from grader.repair.candidates.cuda.tree import TREE, Words, is_target, parts, words_of
from grader.repair.candidates.pattern import Hole, Rewrite, Tree
from grader.repair.candidates.rows import read_rows
from grader.source import Function, Unit
from grader.source.cpp_reading import read_call, variables
from grader.source.cpp_types import canonical
from grader.source.nodes import around, descendants, text
from grader.source.statements import statement

COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
TOUCHES: Mapping[str, Touches] = {"*": "factor", "/": "factor", "-": "shift", "+": "shift"}
FIXED = {
    "array_declarator", "template_argument_list", "template_parameter_list", "case_statement", "static_assert_declaration",
    "preproc_def", "preproc_function_def", "preproc_if", "launch_bounds", "field_declaration_list", "enumerator", "subscript_designator",
}  # fmt: skip
"""What must be known when the program is compiled, or isn't an expression at all."""
LONG = 400
"""Bytes of an expression beyond which it is not replaced as a whole."""
FEW = 6
"""At how many places an array may be read of which two are exchanged."""


@dataclass(frozen=True, eq=False)
class Scope(Names):
    """A function whose body may be changed."""

    tree: ClassVar[Tree] = TREE
    table: ClassVar[tuple[Rewrite, ...]] = read_rows("cuda")
    holes: ClassVar[Mapping[str, Hole]] = HOLES
    beside: ClassVar[Kind] = "before"

    @property
    def expressions(self) -> Iterator[Node]:
        """The nodes of the body with a run-time value, and its statements."""
        todo = [self.body]
        while todo:
            node = todo.pop()
            if node.type in FIXED or _must_be_constant(self.body, node):
                continue
            short = len(node.text or b"") <= LONG and b"//" not in (node.text or b"")
            if node is not self.body and not is_target(node):
                if short or node.type.endswith("statement"):
                    yield node
            todo += reversed(node.named_children)

    def words_of(self, node: Node) -> Words:
        """Return an expression's text as templates take it."""
        return words_of(node)

    def holds(self, word: str, node: Node) -> bool:
        """Whether an expression is what a row's word asks for."""
        return FACTS[word](self, node)

    def statement_of(self, node: Node) -> Hashable:
        """Return a key of an expression's statement."""
        return statement(node).id

    def fits(self, node: Node, like: Node) -> bool:
        """Whether both are numbers of one kind, and no lists of arguments."""
        kind = self.kind_of(node)
        return kind != "" and kind == self.kind_of(like)

    def says(self, piece: Piece) -> Hashable:
        """Return a change's position and text; None where it changes nothing."""
        return None if piece.code == piece.old else (piece.node.id, piece.kind, piece.code)

    def touches_of(self, node: Node) -> Touches:
        """Return the kinds of results that a change affects, by the expression's kind."""
        if self.kind_of(node) != "real":
            outer = (parts(one)[1] for one in around(node) if one.type == "binary_expression")
            return "bound" if COMPARISONS.intersection(outer) else "index"
        return TOUCHES.get(parts(node)[1], "value")

    def is_pair(self, one: Given, other: Given) -> bool:
        """Whether two integers decompose one number."""
        whole = all(self.kind_of(each.value) == "integer" for each in (one, other))
        return whole and super().is_pair(one, other)

    def alike(self) -> Iterator[Likes]:
        """Yield arguments, elements of an array, parts of a vector, the sizes of a launch."""
        own = {function.name: function for function in self.text.functions}
        for node in descendants(self.body, "call_expression"):
            call = read_call(node)
            given = own[call.name].parameters if call.name in own else ()
            types = [" ".join(p.type.replace("__restrict__", "").split()) for p in given]
            yield Likes(call.arguments, types, 3.0, "index")
        for read in self._elements.values():
            yield from [_any_two(list(read.values()), 2.5)] if len(read) <= FEW else ()
        for (one, first, _), (other, second, _) in pairwise(self._assigned):
            owners = {re.split(r"[.\[]", text(each))[0] for each in (one, other)}
            if len(owners) == 1 and text(one) != text(other):
                yield _any_two([first, second], 1.5)
        yield from self._sizes_of_launches() if self.on_host else ()

    @cached_property
    def _elements(self) -> Mapping[str, dict[str, Node]]:
        """The elements read from each array, by text: gates of a cell, queries and keys."""
        found: dict[str, dict[str, Node]] = {}
        for node in descendants(self.body, "subscript_expression"):
            if not is_target(node):
                array = text(node.child_by_field_name("argument"))
                found.setdefault(array, {})[text(node)] = node
        return found

    def _sizes_of_launches(self) -> Iterator[Likes]:
        """Yield the axes of each `dim3`, and a launch's grid and block."""
        for node in descendants(self.body, "declaration"):
            made = (child.child_by_field_name("value") for child in node.named_children)
            if text(node.child_by_field_name("type")) == "dim3":
                lists = (one for one in made if one is not None and one.type == "argument_list")
                yield from (_any_two(one.named_children[:2], 2.0, "launch") for one in lists)
        for launch in self.text.launches_in(self.function):
            if launch.grid and launch.block:
                yield _any_two([launch.grid, launch.block], 2.5, "launch")


def _any_two(nodes: Sequence[Node], cost: float, touches: Touches = "index") -> Likes:
    return Likes(nodes, [0] * len(nodes), cost, touches)


def scopes(units: tuple[Unit, ...]) -> Iterator[Scope]:
    """Yield the relevant functions: device code, and host code that affects the result."""
    for unit in units:
        for function in unit.functions:
            if function.body is not None and (function.runs != "host" or works(unit, function)):
                yield Scope(unit, function, function.body)


def works(unit: Unit, function: Function) -> bool:
    """Whether a host function launches a kernel, or has a tensor parameter."""
    given = (canonical(p.type) for p in function.parameters)
    return bool(unit.launches_in(function)) or "Tensor" in given


def _must_be_constant(body: Node, node: Node) -> bool:
    """Whether a declaration's value must be a compile-time constant: `constexpr`, or an array's size."""
    if node.type != "declaration":
        return False
    words = {text(child) for child in node.children if child.type != "init_declarator"}
    if words & {"constexpr", "static"} or "const" not in words:
        return bool(words & {"constexpr", "static"})
    names = {one.name for one in variables(node)}
    fixed = descendants(body, "array_declarator", "template_argument_list")
    return any(text(inner) in names for one in fixed for inner in descendants(one, "identifier"))
