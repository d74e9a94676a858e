"""What decides whether an access happens: the loops and conditions around a line, by the names in its index."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from tree_sitter import Node

from grader.records import Place, Walk
from grader.source import Source, Unit
from grader.source.cuda_code import around as enclosing
from grader.source.cuda_code import descendants, text

INDEXES = ("subscript_expression", "pointer_expression")
LOOPS = ("for_statement", "while_statement", "do_statement")
_OWN = re.compile(r"\b(thread|block)Idx\b")
"""What makes a number each thread's own."""


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
    def on_data(self) -> bool:
        """Whether it asks for what memory holds."""
        return self.condition is not None and any(descendants(self.condition, *INDEXES))

    @property
    def place(self) -> Place:
        """Its head."""
        node = self.condition or self.node
        return self.unit.place(node)

    @property
    def counters(self) -> set[str]:
        """What a loop moves in each turn."""
        return set(_identifiers(self.node.child_by_field_name("update")))

    @property
    def over_the_grid(self) -> bool:
        """Whether a loop shares its turns among blocks."""
        return "blockIdx" in text(self.node.child_by_field_name("initializer"))

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


def steering_of(source: Source, place: Place) -> tuple[Steering, ...]:
    """Return those whose own variables decide which element the line touches, the innermost first."""
    for unit in source.cuda:
        spot = _at(unit, place)
        if spot is None:
            continue
        function = next(_functions(spot), None)
        names = _names_behind(spot, function) if function is not None else set()
        return tuple(one for one in around(source, place) if _own_names(one) & names)
    return ()


def python_index_made(source: Source, place: Place, walk: Walk) -> Place | None:
    """Return the nearest definition before a line of a Triton kernel that says where its elements begin."""
    whole = ast.walk(source.python) if source.python is not None else ()
    functions = [n for n in whole if isinstance(n, ast.FunctionDef)]
    inside = [n for n in functions if n.lineno <= place.line <= (n.end_lineno or 0)]
    if not inside or not walk:
        return None
    every = list(ast.walk(inside[-1]))
    loops = [n for n in every if isinstance(n, ast.For) and n.lineno < place.line]
    moved = {_text(n.target) for n in loops if place.line <= (n.end_lineno or 0)}
    stores = [n.args[0] for n in every if _calls(n, "tl.store")]
    kept = {n.id for one in stores for n in ast.walk(one) if isinstance(n, ast.Name)}
    there = [n for n in every if getattr(n, "lineno", 0) == place.line]
    loads = [n.args[0] for n in there if _calls(n, "tl.load")]
    indices = [n for one in loads for n in ast.walk(one)] or there
    names = {n.id for n in indices if isinstance(n, ast.Name)} - kept
    before = [n for n in every if isinstance(n, ast.Assign) and n.lineno < place.line]
    for node in sorted(before, key=lambda one: -one.lineno):
        parts = list(ast.walk(node.value))
        used = {n.id for n in parts if isinstance(n, ast.Name)}
        if _text(node.targets[0]) not in names:
            continue
        names |= used - kept
        if any(_calls(part, "tl.load") for part in parts):  # what is loaded says no place
            continue
        computes = any(isinstance(n, (ast.Mult, ast.FloorDiv, ast.Mod, ast.Sub)) for n in parts)
        if computes and (walk == "moved" or not used & moved):
            return source.place(node)
    return None


def _calls(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == name and bool(node.args)


def _text(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def python_loop(source: Source, place: Place, *, outermost: bool) -> Place | None:
    """Return the head of a loop around a line of a Triton kernel."""
    loops = [
        node
        for node in (ast.walk(source.python) if source.python is not None else ())
        if isinstance(node, ast.For) and node.lineno < place.line <= (node.end_lineno or 0)
    ]
    return source.place(loops[0 if outermost else -1].iter) if loops else None


def bound_made(one: Steering) -> Place | None:
    """Return where the number is computed that a loop or condition compares with, if a name stands for it."""
    condition = one.condition
    if condition is None or any(descendants(condition, "call_expression")):
        return None
    compared = {text(n) for n in descendants(condition, "binary_expression")}
    names = set(_identifiers(condition)) - one.counters if len(compared) == 1 else set()
    before = [
        node
        for function in _functions(one.node)
        for name, node in _definitions(function)
        if name in names
        and _computes(node)
        and not _OWN.search(text(node))
        and node.end_byte <= one.node.start_byte
    ]
    return _last(one.unit, before)


def carried_over(source: Source, place: Place) -> Place | None:
    """Return where the innermost loop around a line assigns, for its next turn, what the line uses."""
    loop = next((one for one in around(source, place) if one.is_loop), None)
    spot = _at(loop.unit, place) if loop is not None else None
    if loop is None or spot is None:
        return None
    used = set(_identifiers(spot)) - loop.counters
    found = [
        node
        for node in descendants(loop.node, "assignment_expression")
        if text(node.child_by_field_name("operator")) == "="
        and text(node.child_by_field_name("left")) in used
        and not (spot.start_byte <= node.start_byte < spot.end_byte)
    ]
    return _last(loop.unit, found)


def index_made(source: Source, place: Place, walk: Walk) -> Place | None:
    """Return the definition that the index of a line takes a wrong number from.

    Where the elements along a walk are right among each other, the nearest that says where it begins; where
    it stays in one place, one that has nothing to do with the loops around it. What says where the result is
    stored as well is right: were it another number, the same result would stand elsewhere.
    """
    for unit in source.cuda:
        spot = _at(unit, place)
        function = next(_functions(spot), None) if spot is not None else None
        if spot is None or function is None or not walk:
            continue
        names = _names_behind(spot, function) - _names_of_stores(function)
        loops = [one for one in around(source, place) if one.is_loop and not one.over_the_grid]
        moved = {name for one in loops for name in one.counters}
        found = [
            (name, node)
            for name, node in _definitions(function)
            if name in names - moved and node.start_byte < spot.start_byte
        ]
        if walk in {"fixed", "stored", "exchanged"}:
            kept = [(n, node) for n, node in found if not moved & set(_identifiers(_value(node)))]
            arrays = {
                text(one.child_by_field_name("argument")) for one in descendants(spot, *INDEXES)
            }
            pointers = [node for name, node in kept if _is_pointer(node) and name in arrays]
            others = [node for _, node in kept if _computes(node)] if walk != "stored" else []
            return _last(unit, pointers or others)
        return _last(unit, [node for _, node in found if _computes(node)])
    return None


def element_chosen(source: Source, place: Place, *, several: bool) -> Place | None:
    """Return what says which element of the result a thread makes, where right ones stand at other places.

    Where it is stored at the thread's own number, the first definition that takes that number apart. Where the
    place is put together and `several` tensors are read alike for another one, the store.
    """
    for unit in source.cuda:
        spot = _at(unit, place)
        function = next(_functions(spot), None) if spot is not None else None
        if spot is None or function is None:
            continue
        names, stores = _names_behind(spot, function), _stores(function)
        whole = {text(index).strip("[]()") for index in stores}
        apart = [
            node
            for name, node in _definitions(function)
            if name in names
            and whole & set(_identifiers(_value(node)))
            and _operators(node) & {"/", "%"}
        ]
        if len(whole) == 1 and apart:
            return unit.place(apart[0])
        together = [node for node in stores if len(set(_identifiers(node))) > 1]
        return unit.place(together[-1]) if together and several else None
    return None


def _stores(function: Node) -> list[Node]:
    """Return the indices at which a function stores to global memory."""
    arrays = {
        name for one in descendants(function, "array_declarator") for name in _identifiers(one)
    }
    targets = (
        node.child_by_field_name("left")
        for node in descendants(function, "assignment_expression")
        if text(node.child_by_field_name("operator")) == "="
    )
    stored = (one for one in targets if one is not None and one.type == "subscript_expression")
    indices = (
        one.child_by_field_name("indices")
        for one in stored
        if text(one.child_by_field_name("argument")) not in arrays
    )
    return [one for one in indices if one is not None]


def _names_of_stores(function: Node) -> set[str]:
    """Return the names in the indices at which a function stores to global memory."""
    return {name for one in _stores(function) for name in _identifiers(one)}


def _last(unit: Unit, nodes: Sequence[Node]) -> Place | None:
    return unit.place(nodes[-1]) if nodes else None


def _functions(spot: Node) -> Iterator[Node]:
    yield from (one for one in enclosing(spot) if one.type == "function_definition")


def _definitions(function: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names that a function gives values to, with where."""
    for node in descendants(function, "init_declarator", "assignment_expression"):
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        if target is not None and target.type in {"identifier", "pointer_declarator"}:
            yield next(_identifiers(target), ""), node


def _value(node: Node) -> Node | None:
    return node.child_by_field_name("value") or node.child_by_field_name("right")


def _is_pointer(node: Node) -> bool:
    target = node.child_by_field_name("declarator")
    return target is not None and target.type == "pointer_declarator"


def _computes(node: Node) -> bool:
    """Whether a definition does more than add names."""
    return _is_pointer(node) or bool(_operators(node) - {"+", "<", ">"})


def _operators(node: Node) -> set[str]:
    value = _value(node)
    parts = descendants(value, "binary_expression") if value is not None else ()
    return {text(one.child_by_field_name("operator")) for one in parts}


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
    for name, node in _definitions(function):
        sources.setdefault(name, set()).update(_identifiers(_value(node)))
    waiting = list(names)
    while waiting:
        for name in sources.get(waiting.pop(), ()):
            if name not in names:
                names.add(name)
                waiting.append(name)
    return names
