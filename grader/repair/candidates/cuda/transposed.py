"""A transposed convolution that gathers at the places of a plain one, or also where the stride does not divide them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.repair.candidates.candidate import Candidate, Piece
from grader.repair.candidates.cuda.scope import Scope, parts
from grader.repair.candidates.cuda.statements import turn_weights
from grader.repair.candidates.cuda.tree import factor
from grader.source.cpp_reading import variables
from grader.source.cuda_code import around, descendants, text

ASKED = re.compile(r"conv_?transpose", re.IGNORECASE)
COST = 0.8
"""The formula is a slip of its own, and the commonest one of these tasks."""
OPPOSITE = {"+": "-", "-": "+"}


def transpose_places(scope: Scope, host: Sequence[Scope], reference: str) -> Iterator[Candidate]:
    """Yield the inputs' places turned round, or left out where a division has a rest, where a transposed convolution is asked for.

    `host` are the functions that launch: the weight, which has the input's channels first, may want turning as well.
    """
    if scope.on_host or not ASKED.search(reference):
        return
    values = [value for _, value in scope.made]
    divided = _pieces(scope, [(value, _division_of(value, scope.sizes)) for value in values])
    if divided:
        yield Candidate(divided, COST, "index")
    gathered = _pieces(scope, [(value, _gather_index(value, scope.sizes)) for value in values])
    if gathered:
        yield Candidate(gathered, COST, "index")
        for more in (one for function in host for one in turn_weights(function)):
            yield Candidate((*gathered, *more.pieces), COST, "index")


def _pieces(scope: Scope, changed: Sequence[tuple[Node, str]]) -> tuple[Piece, ...]:
    return tuple(scope.piece(value, words) for value, words in changed if words)


def _where_divided(place: str, stride: str) -> str:
    """Return `place / stride` where the stride divides it, and -1, which is outside, elsewhere."""
    return f"({place} % {stride} == 0 ? {place} / {stride} : -1)" if stride else place


def _division_of(value: Node, sizes: Sequence[str]) -> str:
    """Return what `(o + pad - k) / stride` should be; empty for any other value."""
    _, sign, stride = parts(value)
    if sign != "/" or stride not in sizes or not _names(value) & _counters(value):
        return ""
    reached = value.child_by_field_name("left")
    return _where_divided(factor(reached), stride) if reached is not None else ""


def _gather_index(value: Node, sizes: Sequence[str]) -> str:
    """Return `(o + pad - k) / stride` for a sum of three: `o * stride` (or `o`), less a padding (or none), plus a tap.

    A tap is what has the counter of a loop around; the stride is one of `sizes`. Empty for any other value.
    """
    terms, counters = list(_terms(value, "+")), _counters(value)
    pads = [text(node) for sign, node in terms if sign == "-"]
    taps = [node for sign, node in terms if sign == "+" and _names(node) & counters]
    places = [node for sign, node in terms if sign == "+" and not _names(node) & counters]
    if len(pads) > 1 or len(taps) != 1 or len(places) != 1:
        return ""
    output, sign, stride = parts(places[0])
    if places[0].type == "identifier" and pads:
        output, stride = text(places[0]), ""
    elif sign != "*":
        return ""
    elif output in sizes and stride not in sizes:
        output, stride = stride, output
    return _where_divided(f"({' + '.join([output, *pads])} - {text(taps[0])})", stride)


def _terms(node: Node, sign: str) -> Iterator[tuple[str, Node]]:
    """Yield the sign and the node of each term of a sum."""
    if node.type == "parenthesized_expression" and node.named_children:
        yield from _terms(node.named_children[0], sign)
        return
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    operator = parts(node)[1]
    if node.type != "binary_expression" or operator not in OPPOSITE or not (left and right):
        yield sign, node
        return
    yield from _terms(left, sign)
    yield from _terms(right, sign if operator == "+" else OPPOSITE[sign])


def _counters(node: Node) -> set[str]:
    """Return the counters of the loops around a node."""
    loops = (outer for outer in around(node) if outer.type == "for_statement")
    heads = (loop.child_by_field_name("initializer") for loop in loops)
    return {one.name for head in heads for one in variables(head)}


def _names(node: Node) -> set[str]:
    return {text(one) for one in descendants(node, "identifier")}
