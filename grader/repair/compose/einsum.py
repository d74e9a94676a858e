"""Sums of products in Einstein's notation, as matrix products and elementwise ones, two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from grader.repair.compose.graph import Node, UncoveredError
from grader.repair.compose.lowered import Lowered, Value

MOST = 6
"""Dims that an elementwise kernel takes."""


@dataclass(frozen=True)
class Term:
    """A tensor with a letter for each of its dims."""

    value: Value
    letters: str

    @property
    def sizes(self) -> dict[str, tuple[Value, int]]:
        """Where the size of each letter can be read."""
        return {letter: (self.value, k) for k, letter in enumerate(self.letters)}

    def sum_unneeded(self, needed: set[str]) -> Term:
        """Sum over unneeded letters."""
        gone = [k for k, letter in enumerate(self.letters) if letter not in needed]
        left = "".join(letter for letter in self.letters if letter in needed)
        return Term(self.value.over("sum", gone), left) if gone else self

    def order_dims(self, letters: str) -> Term:
        """Bring the dims into the order of these letters."""
        if letters == self.letters:
            return self
        return Term(self.value.permute_dims([self.letters.index(one) for one in letters]), letters)

    def group_dims(self, groups: Sequence[str]) -> Value:
        """Bring it into three dims, one for each group of letters."""
        value = self.order_dims("".join(groups)).value
        at = len(self.letters)
        for group in reversed(groups):
            at -= len(group)
            end = at + len(group)
            if not group:
                value = value.add_dim(at)
            elif len(group) > 1:
                shape = (*value.shape[:at], prod(value.shape[at:end]), *value.shape[end:])
                value = value.to.add("flatten", value, at, end - 1, shape=shape)
        return value


def einsum(node: Node, to: Lowered) -> Value:
    """Write out `torch.einsum`: sums over single operands first, then pairs from the left."""
    terms, out = _read(node, to)
    sizes = {letter: place for term in terms for letter, place in term.sizes.items()}
    while len(terms) > 1:
        a, b, *rest = terms
        needed = set(out).union(*(term.letters for term in rest))
        terms = [_product(a, b, needed, sizes), *rest]
    last = terms[0].sum_unneeded(set(out))
    return last.order_dims(out).value if last.letters != out else last.value.op("contiguous")


def _read(node: Node, to: Lowered) -> tuple[list[Term], str]:
    """Return the terms of a notation, and the letters of its result."""
    words = str(node.args[0]).replace(" ", "")
    given = node.args[1] if isinstance(node.args[1], list | tuple) else node.args[1:]
    left, arrow, out = words.partition("->")
    parts = left.split(",")
    values = [value for one in given if isinstance(value := to.value(one), Value)]
    terms = [Term(value, part) for value, part in zip(values, parts, strict=False)]
    fits = len(parts) == len(values) and all(len(t.letters) == len(t.value.shape) for t in terms)
    if not arrow or "." in words or not fits or any(len(set(p)) < len(p) for p in parts):
        raise UncoveredError(f"einsum {words[:40]}")
    return terms, out


def _product(a: Term, b: Term, needed: set[str], sizes: dict[str, tuple[Value, int]]) -> Term:
    """Multiply two terms and sum over letters that nothing else needs."""
    a = a.sum_unneeded(needed | set(b.letters))
    b = b.sum_unneeded(needed | set(a.letters))
    shared = [letter for letter in a.letters if letter in b.letters]
    batch = "".join(letter for letter in shared if letter in needed)
    over = "".join(letter for letter in shared if letter not in needed)
    rows = "".join(letter for letter in a.letters if letter not in b.letters)
    columns = "".join(letter for letter in b.letters if letter not in a.letters)
    letters = batch + rows + columns
    if not over:
        return Term(_elementwise(a, b, (batch, rows, columns)), letters)
    first, second = a.group_dims((batch, rows, over)), b.group_dims((batch, over, columns))
    made = a.value.to.add("matmul", first, second, shape=(*first.shape[:2], second.shape[2]))
    known = dict(zip(b.letters, b.value.shape, strict=True)) | dict(zip(a.letters, a.value.shape, strict=True))  # fmt: skip
    whole = tuple(known[letter] for letter in letters)
    if whole != made.shape:
        told = [value.size(dim) for value, dim in (sizes[letter] for letter in letters)]
        made = made.to.add("reshape", made, told, shape=whole)
    return Term(made, letters)


def _elementwise(a: Term, b: Term, groups: tuple[str, str, str]) -> Value:
    batch, rows, columns = groups
    if len(batch + rows + columns) > MOST:
        raise UncoveredError(f"an einsum with {len(batch + rows + columns)} letters in a product")
    first, second = a.order_dims(batch + rows).value, b.order_dims(batch + columns).value
    for _ in columns:
        first = first.add_dim(len(first.shape))
    for _ in rows:
        second = second.add_dim(len(batch))
    return first * second
