"""A tile of shared memory whose rows are all loaded from one place: the load by the thread's other coordinate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import around, descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(r"threadIdx\.[xyz]|[A-Za-z_]\w*")
DEEP = 4
"""How often a name is looked up in what it was made of."""


def tiles(scope: Scope) -> Iterator[Variant]:
    """Yield `tile[ty][tx] = b[(col0 + ty) * k + ...]` for `b[(col0 + tx) * k + ...]`, its guard with it.

    Only for loads that don't depend on the row of the tile: the threads of a column load one value, over and over.
    """
    body = scope.function.body
    if scope.function.runs == "host" or body is None:
        return
    made = {
        text(node.child_by_field_name("declarator")): text(node.child_by_field_name("value"))
        for node in descendants(body, "init_declarator")
    }
    for stored in descendants(body, "assignment_expression"):
        place, value = (stored.child_by_field_name(side) for side in ("left", "right"))
        found = re.fullmatch(r"\w+\[([\w.]+)\]\[([\w.]+)\]", text(place))
        if found is None or value is None:
            continue
        row, column = found.groups()
        rows, columns = _made_of(row, made), _made_of(column, made)
        for load in descendants(value, "subscript_argument_list"):
            inside = _made_of(text(load), made)
            if not rows or rows & inside or not columns <= inside:
                continue
            for name in sorted({text(one) for one in descendants(load, "identifier")} & set(made)):
                turned = re.sub(rf"(?<![\w.]){re.escape(column)}\b", row, made[name])
                if turned != made[name] and name != column:
                    pieces = tuple(_uses(scope, stored, name, f"({turned})"))
                    yield Variant(pieces, 1.0)


def _made_of(words: str, made: dict[str, str]) -> frozenset[str]:
    """Return the coordinates of the thread that a text is computed from."""
    names = set(_WORD.findall(words))
    for _ in range(DEEP):
        names |= {part for name in names for part in _WORD.findall(made.get(name, ""))}
    return frozenset(name for name in names if name.startswith("threadIdx."))


def _uses(scope: Scope, stored: Node, name: str, new: str) -> Iterator[Piece]:
    """Yield the replacements of a name in a store and in the condition that it stands under."""
    outer = next((node for node in around(stored) if node.type == "if_statement"), None)
    condition = outer.child_by_field_name("condition") if outer is not None else None
    for part in (*([condition] if condition is not None else []), stored):
        for one in descendants(part, "identifier"):
            if text(one) == name:
                yield Piece(scope.unit, one, "replace", new)
