"""The loops and conditions that control an access, found by the names in its index."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from tree_sitter import Node

from grader.records import Place, Walk
from grader.source import Source, Unit
from grader.source.definitions import INDEX, Definition, definitions
from grader.source.nodes import around as enclosing
from grader.source.nodes import descendants, function_around, names_in, text

INDEXES = ("subscript_expression", "pointer_expression")
LOOPS = ("for_statement", "while_statement", "do_statement")
_OWN = re.compile(r"\b(thread|block)Idx\b")
"""Names that differ between threads."""


@dataclass(frozen=True, eq=False)
class Steering:
    """A loop or condition around an access."""

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
        """Whether it depends on values in memory."""
        return self.condition is not None and any(descendants(self.condition, *INDEXES))

    @property
    def place(self) -> Place:
        """Its head."""
        node = self.condition or self.node
        return self.unit.place(node)

    @property
    def counters(self) -> set[str]:
        """The loop's counters."""
        return names_in(self.node.child_by_field_name("update"))

    @property
    def own_names(self) -> set[str]:
        """The loop's counters, or the condition's names."""
        heads = ("initializer", "update", "condition") if self.is_loop else ("condition",)
        return set[str]().union(*(names_in(self.node.child_by_field_name(one)) for one in heads))

    @property
    def over_the_grid(self) -> bool:
        """Whether a loop distributes its iterations over blocks."""
        return "blockIdx" in text(self.node.child_by_field_name("initializer"))

    @property
    def quotient(self) -> tuple[Node, str, str] | None:
        """Return the bound if it is a quotient, which cuts off a remainder, with its operands."""
        for node in descendants(self.condition, "binary_expression") if self.condition else ():
            operator = node.child_by_field_name("operator")
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if text(operator) == "/" and left is not None and right is not None:
                if "+" not in text(left):
                    return node, text(left), text(right)
        return None


@dataclass(frozen=True, eq=False)
class Spot:
    """A statement of device code, and its function."""

    unit: Unit
    node: Node
    function: Node

    @cached_property
    def definitions(self) -> list[Definition]:
        """The definitions of the function's variables."""
        return [one for one in definitions(self.function) if one.is_variable]

    @cached_property
    def names(self) -> set[str]:
        """The names in the indices of the statement, and those that these were computed from."""
        indices = list(descendants(self.node, *INDEXES))
        names, before = set[str]().union(*map(names_in, indices or [self.node])), set[str]()
        while names != before:
            before = set(names)
            names.update(*(one.used for one in self.definitions if one.name in before))
        return names

    @cached_property
    def stores(self) -> list[Node]:
        """The indices at which the function stores to global memory."""
        own = set[str]().union(*map(names_in, descendants(self.function, "array_declarator")))
        every = (one for one in definitions(self.function) if one.replaces)
        kept = (one.target for one in every if one.target.type == INDEX and one.name not in own)
        return [node for one in kept if (node := one.child_by_field_name("indices")) is not None]

    def place(self, found: Sequence[Definition]) -> Place | None:
        """Return the place of the last of some definitions."""
        return self.unit.place(found[-1].node) if found else None


def spot_at(source: Source, place: Place) -> Spot | None:
    """Return the statement on a place's line, one that indexes memory before any other."""
    for unit in source.cuda:
        every = (*unit.nodes("declaration"), *unit.nodes("expression_statement"))
        spans = ((node, unit.place(node)) for node in every)
        found = [node for node, at in spans if at.line <= place.line <= at.end_line]
        indexing = [node for node in found if any(True for _ in descendants(node, *INDEXES))]
        node = next(reversed(indexing or found), None)
        function = function_around(node) if node is not None else None
        if node is not None and function is not None:
            return Spot(unit, node, function)
    return None


def around(source: Source, place: Place) -> tuple[Steering, ...]:
    """Return the loops and `if`s around a place's line, the innermost first."""
    spot = spot_at(source, place)
    outer = (spot.node, *enclosing(spot.node)) if spot is not None else ()
    kinds = (*LOOPS, "if_statement")
    return tuple(Steering(spot.unit, one) for one in outer if spot and one.type in kinds)


def steering_of(source: Source, place: Place) -> tuple[Steering, ...]:
    """Return the loops and conditions whose variables decide which element the line touches, the innermost first."""
    spot = spot_at(source, place)
    names = spot.names if spot is not None else set()
    return tuple(one for one in around(source, place) if one.own_names & names)


def python_index_made(source: Source, place: Place, walk: Walk) -> Place | None:
    """Return the nearest definition before a line of a Triton kernel that determines the offset of its elements."""
    whole = ast.walk(source.module.tree)
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
        if any(_calls(part, "tl.load") for part in parts):  # a loaded value is not an offset
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
        for node in ast.walk(source.module.tree)
        if isinstance(node, ast.For) and node.lineno < place.line <= (node.end_lineno or 0)
    ]
    return source.place(loops[0 if outermost else -1].iter) if loops else None


def bound_made(one: Steering) -> Place | None:
    """Return the definition of the bound of a loop or condition, if it has a name."""
    condition = one.condition
    if condition is None or any(descendants(condition, "call_expression")):
        return None
    compared = {text(n) for n in descendants(condition, "binary_expression")}
    names = names_in(condition) - one.counters if len(compared) == 1 else set()
    every = list(definitions(function_around(one.node)))
    own = {made.name for made in every}
    before = [
        made
        for made in every
        if made.is_variable and made.name in names and made.node.end_byte <= one.node.start_byte
        if _computes(made) or text(made.value) in own
        if not _OWN.search(text(made.node))
    ]
    return one.unit.place(before[-1].node) if before else None


def carried_over(source: Source, place: Place) -> Place | None:
    """Return the innermost loop's assignment, for its next iteration, of a variable that the line uses."""
    spot = spot_at(source, place)
    loop = next((one for one in around(source, place) if one.is_loop), None)
    if loop is None or spot is None:
        return None
    used, own = names_in(spot.node) - loop.counters, range(spot.node.start_byte, spot.node.end_byte)
    found = [one for one in definitions(loop.node) if one.replaces and text(one.target) in used]
    return spot.place([one for one in found if one.node.start_byte not in own])


def index_made(source: Source, place: Place, walk: Walk) -> Place | None:
    """Return the definition of a wrong number in the index of a line.

    If the elements are only shifted, it is the nearest definition of their offset; if the index stays fixed, one that
    is independent of the loops around it. A definition that also determines the place of the result's store is right:
    with another number the same result would be stored elsewhere.
    """
    spot = spot_at(source, place) if walk else None
    if spot is None:
        return None
    names = spot.names - set[str]().union(*map(names_in, spot.stores))
    loops = [one for one in around(source, place) if one.is_loop and not one.over_the_grid]
    moved = {name for one in loops for name in one.counters}
    before = [one for one in spot.definitions if one.node.start_byte < spot.node.start_byte]
    found = [one for one in before if one.name in names - moved]
    computed = [one for one in found if _computes(one)]
    if walk not in {"fixed", "stored", "exchanged"}:
        return spot.place(computed)
    indexed = descendants(spot.node, *INDEXES)
    arrays = {text(one.child_by_field_name("argument")) for one in indexed}
    kept = [one for one in found if not moved & one.used]
    pointers = [one for one in kept if one.is_pointer and one.name in arrays]
    others = [one for one in kept if one in computed] if walk != "stored" else []
    return spot.place(pointers or others)


def element_chosen(source: Source, place: Place, *, several: bool) -> Place | None:
    """Return the definition of a thread's result element, where right values are at other places.

    If it is stored at the thread's own index, this is the first definition that decomposes the index. If the index is
    composed and `several` tensors are read alike for another element, it is the store.
    """
    spot = spot_at(source, place)
    if spot is None:
        return None
    whole = {text(index).strip("[]()") for index in spot.stores}
    made = [one for one in spot.definitions if one.name in spot.names and whole & one.used]
    apart = [one for one in made if one.operators & {"/", "%"}]
    if len(whole) == 1 and apart:
        return spot.unit.place(apart[0].node)
    together = [node for node in spot.stores if len(names_in(node)) > 1]
    return spot.unit.place(together[-1]) if together and several else None


def _computes(one: Definition) -> bool:
    """Whether a definition is more than a sum of names."""
    return one.is_pointer or bool(one.operators - {"+", "<", ">"})
