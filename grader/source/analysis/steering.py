"""What decides whether an access happens: the loops and conditions around a line, by the names in its index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from grader.records import Place
from grader.source import Source, Unit
from grader.source.cuda_code import around as enclosing
from grader.source.cuda_code import descendants, text

INDEXES = ("subscript_expression", "pointer_expression")
LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass(frozen=True, eq=False)
class Steering:
    """A loop or condition that an access stands under."""

    unit: Unit
    node: Node

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop."""
        return self.node.type in LOOPS

    @cached_property
    def condition(self) -> Node | None:
        """Its condition; None for one without."""
        return self.node.child_by_field_name("condition")

    @property
    def place(self) -> Place:
        """Its head."""
        node = self.condition or self.node
        return self.unit.place(node)

    @property
    def quotient(self) -> tuple[Node, str, str] | None:
        """Return a quotient that is the bound, which cuts a remainder off, with its two sides."""
        for node in descendants(self.condition, "binary_expression") if self.condition else ():
            operator = node.child_by_field_name("operator")
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if text(operator) == "/" and left is not None and right is not None:
                if "+" not in text(left):
                    return node, text(left), text(right)
        return None


def around(source: Source, place: Place) -> tuple[Steering, ...]:
    """Return the loops and `if`s around a place's line, the innermost first."""
    for unit in source.cuda:
        spot = _at(unit, place)
        if spot is None:
            continue
        found = []
        here: Node | None = spot
        while here is not None and here.type not in {"function_definition", "translation_unit"}:
            if here.type in (*LOOPS, "if_statement"):
                found.append(Steering(unit, here))
            here = here.parent
        return tuple(found)
    return ()


def _at(unit: Unit, place: Place) -> Node | None:
    """Return the statement on a place's line, one that indexes memory before any other."""
    found = [
        node
        for node in unit.nodes("declaration") + unit.nodes("expression_statement")
        if unit.place(node).line <= place.line <= unit.place(node).end_line
    ]
    indexing = [node for node in found if next(iter(descendants(node, *INDEXES)), None) is not None]
    return next(reversed(indexing or found), None)


def steering(source: Source, place: Place) -> tuple[Steering, ...]:
    """Return those whose own variables decide which element the line touches, the innermost first."""
    for unit in source.cuda:
        spot = _at(unit, place)
        if spot is None:
            continue
        function = next((one for one in enclosing(spot) if one.type == "function_definition"), None)
        names = _names_behind(spot, function) if function is not None else set()
        return tuple(one for one in around(source, place) if _own_names(one) & names)
    return ()


def pointer_start(source: Source, place: Place) -> Place | None:
    """Return where the pointer that a line indexes is computed from another one, if it is a local one."""
    for unit in source.cuda:
        spot = _at(unit, place)
        function = (
            next((one for one in enclosing(spot) if one.type == "function_definition"), None)
            if spot is not None
            else None
        )
        if spot is None or function is None:
            continue
        indexed = {
            text(node.child_by_field_name("argument"))
            for node in descendants(spot, "subscript_expression")
        }
        for node in descendants(function, "init_declarator"):
            target = node.child_by_field_name("declarator")
            name = next(_identifiers(target), "")
            if target is not None and target.type == "pointer_declarator" and name in indexed:
                return unit.place(node)
    return None


def _own_names(one: Steering) -> set[str]:
    """Return what a loop moves, or what a condition asks for."""
    if not one.is_loop:
        return set(_identifiers(one.condition))
    moved = [one.node.child_by_field_name(name) for name in ("initializer", "update", "condition")]
    return {name for node in moved for name in _identifiers(node)}


def _identifiers(node: Node | None) -> Iterator[str]:
    if node is not None:
        yield from (text(one) for one in descendants(node, "identifier"))


def _names_behind(spot: Node, function: Node) -> set[str]:
    """Return the names in the indices of a statement, and those that these were computed from."""
    indices = list(descendants(spot, *INDEXES))
    names = {name for node in indices or [spot] for name in _identifiers(node)}
    sources: dict[str, set[str]] = {}
    for node in descendants(function, "init_declarator", "assignment_expression"):
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if target is not None and target.type == "identifier":
            sources.setdefault(text(target), set()).update(_identifiers(value))
    waiting = list(names)
    while waiting:
        for name in sources.get(waiting.pop(), ()):
            if name not in names:
                names.add(name)
                waiting.append(name)
    return names
