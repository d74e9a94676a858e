"""A transposed convolution that gathers at the places of a plain one, or also where the stride does not divide them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair.variants.moved import turned
from grader.repair.variants.sites import Scope, parts
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import around, descendants, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

ASKED = re.compile(r"conv_?transpose", re.IGNORECASE)
COST = 0.8
"""The formula is a slip of its own, and the commonest one of these tasks."""
UNDIVIDED = 0.2
"""A place divided by the stride without a look at the rest is hardly ever meant: of thousands of changes the first to try."""


@dataclass(frozen=True)
class _Place:
    """An input's place along one dimension: `o * stride - pad + k * dilation`, as texts."""

    output: str
    stride: str
    pad: str
    tap: str

    @property
    def other_way(self) -> str:
        """Return the place that reaches the output; -1 where none does."""
        reached = f"{self.output}{f' + {self.pad}' if self.pad else ''} - {self.tap}"
        if not self.stride:
            return f"({reached})"
        return f"(({reached}) % {self.stride} == 0 ? ({reached}) / {self.stride} : -1)"


def gathered(scope: Scope, host: Sequence[Scope], reference: str) -> Iterator[Variant]:
    """Yield the inputs' places turned round, or left out where a division has a rest, where a transposed convolution is asked for.

    `host` are the functions that launch: the weight, which has the input's channels first, may want turning as well.
    """
    body = scope.function.body
    if scope.function.runs == "host" or body is None or not ASKED.search(reference):
        return
    values = [
        value
        for node in descendants(body, "init_declarator")
        if (value := node.child_by_field_name("value")) is not None
    ]
    whole = [(value, _whole(value, scope.integer_parameters)) for value in values]
    if any(words for _, words in whole):
        yield Variant(
            tuple(Piece(scope.unit, value, "replace", words) for value, words in whole if words),
            COST,
        )
    pieces = tuple(
        Piece(scope.unit, value, "replace", place.other_way)
        for value in values
        if (place := _place(value, scope.integer_parameters)) is not None
    )
    if not pieces:
        return
    yield Variant(pieces, COST)
    for one in host:
        yield from (Variant((*pieces, *more.pieces), COST) for more in turned(one))


def _whole(value: Node, given: Sequence[str]) -> str:
    """Return `(o + pad - k) / stride` where the stride divides it, and -1 elsewhere; empty for any other value."""
    left, sign, stride = parts(value) if value.type == "binary_expression" else ("", "", "")
    if sign != "/" or stride not in given or not _names(value) & _counters(value):
        return ""
    reached = left if left.startswith("(") and left.endswith(")") else f"({left})"
    return f"({reached} % {stride} == 0 ? {reached} / {stride} : -1)"


def _place(value: Node, given: Sequence[str]) -> _Place | None:
    """Read a sum of three: a place times a stride (or alone), less a padding (or none), plus a tap of the loop around.

    `given` are the function's parameters, of which the stride is one.
    """
    terms = list(_terms(value, "+"))
    pads = [words for sign, words, _ in terms if sign == "-"]
    added = [(words, node) for sign, words, node in terms if sign == "+"]
    counters = _counters(value)
    taps = [words for words, node in added if _names(node) & counters]
    places = [(words, node) for words, node in added if not _names(node) & counters]
    if len(pads) > 1 or len(taps) != 1 or len(places) != 1:
        return None
    words, node = places[0]
    if node.type == "identifier":
        return _Place(words, "", pads[0], taps[0]) if pads else None
    left, sign, right = parts(node) if node.type == "binary_expression" else ("", "", "")
    output, stride = (right, left) if left in given and right not in given else (left, right)
    return _Place(output, stride, "".join(pads), taps[0]) if sign == "*" else None


def _terms(node: Node, sign: str) -> Iterator[tuple[str, str, Node]]:
    """Yield the sign, the text and the node of each term of a sum."""
    if node.type == "parenthesized_expression" and node.named_children:
        yield from _terms(node.named_children[0], sign)
        return
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    operator = parts(node)[1] if node.type == "binary_expression" else ""
    if operator not in {"+", "-"} or left is None or right is None:
        yield sign, text(node), node
        return
    yield from _terms(left, sign)
    yield from _terms(right, sign if operator == "+" else {"+": "-", "-": "+"}[sign])


def _counters(node: Node) -> set[str]:
    """Return the counters of the loops around a node."""
    found: set[str] = set()
    for outer in around(node):
        begin = outer.child_by_field_name("initializer") if outer.type == "for_statement" else None
        for one in descendants(begin, "init_declarator") if begin is not None else ():
            found.add(text(one.child_by_field_name("declarator")))
    return found


def _names(node: Node) -> set[str]:
    return {
        text(one) for one in (node, *descendants(node, "identifier")) if one.type == "identifier"
    }
