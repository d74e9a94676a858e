"""Loop steps that overwrite a value instead of accumulating."""

import ast
from collections.abc import Iterable

from tree_sitter import Node

from grader.records import Place
from grader.source import Source
from grader.source.analysis.steering import around
from grader.source.analysis.triton import kernels
from grader.source.definitions import INDEX, Definition, definitions
from grader.source.nodes import around as enclosing
from grader.source.nodes import descendants, function_around, names_in, text

EXCHANGE = "__shfl"
"""Prefixes of functions that pass a value to another lane."""


def place_overwritten(source: Source, places: Iterable[Place | None]) -> Place | None:
    """Return the place where a loop around one of the lines overwrites a variable that is initialised before and used after it."""
    for place in places:
        for one in around(source, place) if place is not None else ():
            if one.is_loop and (found := _forgets(one.node)) is not None:
                return one.unit.place(found.node)
        if place is not None and (made := _of_triton(source, place)) is not None:
            return made
    return None


def _forgets(loop: Node) -> Definition | None:
    """Return the assignment in a loop that overwrites its target's old value, which is read after the loop."""
    function = function_around(loop)
    if function is None:
        return None
    begun = _begun_before(function, loop)
    for one in definitions(loop.child_by_field_name("body")):
        lost = one.replaces and one.name in begun and _is_read_after(function, loop, one.name)
        if lost and not _is_chosen(one.node, loop) and _is_replaced(one, loop):
            return one
    return None


def _begun_before(function: Node, loop: Node) -> set[str]:
    """Return the names that have a value before a loop: parameters, arrays, and assigned variables."""
    kinds = (
        "parameter_declaration",
        "array_declarator",
        "init_declarator",
        "assignment_expression",
    )
    made = (one for one in descendants(function, *kinds) if one.end_byte <= loop.start_byte)
    return {name for one in made for name in names_in(one.child_by_field_name("declarator") or one)}


def _is_read_after(function: Node, loop: Node, name: str) -> bool:
    """Whether the code after a loop reads a name before it assigns it."""
    uses = (one for one in descendants(function, "identifier") if text(one) == name)
    first = next((one for one in uses if one.start_byte >= loop.end_byte), None)
    outer = first.parent if first is not None else None
    sets = outer is not None and outer.child_by_field_name("left") == first
    anew = sets and outer is not None and name not in names_in(outer.child_by_field_name("right"))
    return first is not None and not (anew and text(outer).startswith(f"{name} ="))


def _is_replaced(one: Definition, loop: Node) -> bool:
    """Whether a target's new value is independent of its old one; an exchange returns another lane's value."""
    if one.target.type == INDEX:
        other = text(one.value.child_by_field_name("argument"))
        return one.value.type == INDEX and other == one.name
    called = text(one.value.child_by_field_name("function"))
    return called.startswith(EXCHANGE) or text(one.target) not in _made_of(one.value, loop)


def _made_of(value: Node, loop: Node) -> set[str]:
    """Return the names that a value is computed from, in one iteration."""
    names, before = names_in(value), set[str]()
    while names != before:
        before = set(names)
        for one in definitions(loop):
            names |= one.used if one.declares and one.name in names else set()
    return names


def _is_chosen(node: Node, loop: Node) -> bool:
    """Whether a step is under a comparison of data, such as one that takes the larger of two."""
    loaded = {one.name for one in definitions(loop) if any(descendants(one.value, INDEX))}
    for outer in enclosing(node):
        if outer == loop:
            return False
        test = outer.child_by_field_name("condition")
        if outer.type == "if_statement" and test is not None:
            if any(descendants(test, INDEX)) or names_in(test) & loaded:
                return True
    return False


def _of_triton(source: Source, place: Place) -> Place | None:
    """Return the overwriting assignment in a loop of a Triton kernel."""
    for kernel in kernels(source):
        for loop in (one for one in ast.walk(kernel.node) if isinstance(one, ast.For)):
            end = loop.end_lineno or 0
            if not loop.lineno <= place.line <= end:
                continue
            after = _read_after(kernel.node, end)
            for node in ast.walk(loop):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in after:
                        begun = any(one.lineno < loop.lineno for one in kernel.assigned[name])
                        used = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                        if begun and name not in used:
                            return source.place(node)
    return None


def _read_after(kernel: ast.FunctionDef, line: int) -> set[str]:
    """Return the names that are read after a line before they are assigned."""
    names = [n for n in ast.walk(kernel) if isinstance(n, ast.Name) and n.lineno > line]
    names.sort(key=lambda n: (n.lineno, isinstance(n.ctx, ast.Store)))
    first = {n.id: n for n in reversed(names)}
    return {name for name, node in first.items() if isinstance(node.ctx, ast.Load)}
