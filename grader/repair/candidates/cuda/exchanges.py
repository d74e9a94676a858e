"""Two expressions the other way round: arguments, elements of one array, axes of a grid, parts of an index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from tree_sitter import Node

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.cuda.scope import Scope, is_target, parts
from grader.source.cuda_code import descendants, read_call, text

FEW = 6
"""At how many places an array may be read of which two are exchanged."""


def exchanges(scope: Scope) -> Iterator[Candidate]:
    """Yield the changes that exchange two expressions of a function."""
    yield from _arguments(scope)
    yield from _parts_of_an_index(scope)
    yield from _elements(scope)
    yield from _parts_of_a_vector(scope)
    if scope.on_host:
        yield from _sizes_of_launches(scope)


def _arguments(scope: Scope) -> Iterator[Candidate]:
    """Exchange neighbouring arguments of one type, in launches and calls of own functions."""
    own = {function.name: function for function in scope.text.functions}
    for node in descendants(scope.body, "call_expression"):
        call = read_call(node)
        callee = own.get(call.last)
        given = callee.parameters if callee is not None else ()
        types = [" ".join(p.type.replace("__restrict__", "").split()) for p in given]
        typed = zip(call.arguments, types, strict=False)
        for (first, one), (second, other) in pairwise(typed):
            if one == other and text(first) != text(second):
                yield scope.exchange(first, second, 3.0, "index")


def _elements(scope: Scope) -> Iterator[Candidate]:
    """Exchange two elements of one array: the gates of a cell, queries and keys, `x` and `y` of a box.

    Of an array that is read at a few places only: what else lies there is told apart by its index alone.
    """
    read: dict[str, dict[str, Node]] = {}
    for node in descendants(scope.body, "subscript_expression"):
        if not is_target(node):
            read.setdefault(text(node.child_by_field_name("argument")), {})[text(node)] = node
    for array, places in read.items():
        if len(places) <= FEW:
            for first, second in combinations(places.values(), 2):
                yield scope.exchange(first, second, 2.5, "index")
        if array in scope.pointers and len(places) > 1:
            yield from _at_one_index(scope, array, list(places.values()))


def _parts_of_a_vector(scope: Scope) -> Iterator[Candidate]:
    """Exchange what two statements one after the other give two parts of one vector, or elements of one array."""
    given = [n for n in descendants(scope.body, "assignment_expression") if parts(n)[1] == "="]
    for first, second in pairwise(given):
        owners = {re.split(r"[.\[]", parts(node)[0])[0] for node in (first, second)}
        one, other = (node.child_by_field_name("right") for node in (first, second))
        if len(owners) == 1 and parts(first)[0] != parts(second)[0] and one and other:
            yield scope.exchange(one, other, 1.5, "index")


def _at_one_index(scope: Scope, array: str, places: list[Node]) -> Iterator[Candidate]:
    """Read an array at one index wherever it is read: a scale of the row, and none of each element."""
    known = (scope.known("integer", node.start_byte) for node in places)
    for name in set[str].intersection(*map(set, known)) - set(scope.sizes):
        yield scope.changes(2.5, "index", *((node, f"{array}[{name}]") for node in places))


def _sizes_of_launches(scope: Scope) -> Iterator[Candidate]:
    """Exchange the axes of a `dim3`, each still divided by its own axis of the block, and a launch's grid and block."""
    for node in descendants(scope.body, "declaration"):
        if text(node.child_by_field_name("type")) == "dim3":
            made = (child.child_by_field_name("value") for child in node.named_children)
            for given in (one for one in made if one is not None and one.type == "argument_list"):
                for first, second in pairwise(given.named_children[:2]):
                    x, y = text(second).replace(".y", ".x"), text(first).replace(".x", ".y")
                    if x != y:
                        yield scope.changes(2.0, "launch", (first, x), (second, y))
    for launch in scope.text.launches:
        if launch.host_function is scope.function and launch.grid and launch.block:
            yield scope.exchange(launch.grid, launch.block, 2.5, "launch")


# ---------------------------------------------------------------- quotient and remainder


def _parts_of_an_index(scope: Scope) -> Iterator[Candidate]:
    """`n = i / s; p = i % s;` for `n = i % s; p = i / s;`, and the like with two sizes."""
    for block in (scope.body, *descendants(scope.body, "compound_statement")):
        values = [_value(statement) for statement in block.named_children]
        for first, second in pairwise(values):
            if first is not None and second is not None and _divide(scope, first, second):
                yield from _swapped_parts(scope, first, second)


def _value(statement: Node) -> Node | None:
    """Return the one value that a statement gives a variable."""
    made = [c for c in statement.named_children if c.type == "init_declarator"]
    if statement.type == "declaration":
        return made[0].child_by_field_name("value") if len(made) == 1 else None
    inner = statement.named_children[0] if statement.type == "expression_statement" else None
    if inner is None or inner.type != "assignment_expression" or parts(inner)[1] != "=":
        return None
    return inner.child_by_field_name("right")


def _divide(scope: Scope, *values: Node) -> bool:
    binary = all(value.type == "binary_expression" for value in values)
    whole = all(scope.kind_of(value) == "integer" for value in values)
    return binary and whole and all(parts(value)[1] in {"/", "%"} for value in values)


def _swapped_parts(scope: Scope, first: Node, second: Node) -> Iterator[Candidate]:
    one, two = text(first), text(second)
    a, b = parts(first)[2], parts(second)[2]
    yield scope.exchange(first, second, 1.5, "index")
    if a != b:
        pairs = (first, _put_words(two, {a: b, b: a})), (second, _put_words(one, {a: b, b: a}))
        yield scope.changes(1.8, "index", *pairs)
        return
    for other in (name for name in scope.sizes if name != a):
        pairs = (first, _put_words(two, {a: other})), (second, _put_words(one, {a: other}))
        yield scope.changes(2.5, "index", *pairs)


def _put_words(words: str, new: dict[str, str]) -> str:
    """Return a text with other words for some of its words."""
    pattern = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in new)
    return re.sub(pattern, lambda match: new[match.group()], words)
