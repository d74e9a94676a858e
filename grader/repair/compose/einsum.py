"""Sums of products in Einstein's notation, as matrix products and elementwise ones, two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from grader.repair.compose.graph import Graph, Node, Ref, UncoveredError
from grader.repair.compose.lowered import Lowered, shape_of

MOST = 6
"""Dims that an elementwise kernel takes."""


@dataclass(frozen=True)
class Term:
    """A tensor with a letter for each of its dims."""

    value: Any
    letters: str
    shape: tuple[int, ...]


def einsum(node: Node, graph: Graph, to: Lowered) -> None:
    """Write out `torch.einsum`: sums over single operands first, then pairs from the left."""
    words = str(node.args[0]).replace(" ", "")
    given = node.args[1] if isinstance(node.args[1], list | tuple) else node.args[1:]
    left, arrow, out = words.partition("->")
    parts = left.split(",")
    if (
        not arrow
        or "." in words
        or len(parts) != len(given)
        or any(len(set(p)) < len(p) for p in parts)
    ):
        raise UncoveredError(f"einsum {words[:40]}")
    terms = [Term(v, p, shape_of(graph, to, v)) for v, p in zip(given, parts, strict=True)]
    if any(len(term.letters) != len(term.shape) for term in terms):
        raise UncoveredError(f"einsum {words[:40]}")
    pairs = _Pairs(to, {a: (t.value, k) for t in terms for k, a in enumerate(t.letters)})
    while len(terms) > 1:
        a, b, *rest = terms
        needed = set(out).union(*(term.letters for term in rest))
        terms = [pairs.product(a, b, needed), *rest]
    last = pairs.summed(terms[0], set(out))
    order = [last.letters.index(letter) for letter in out]
    moved = ("permute", last.value, order) if order != sorted(order) else ("contiguous", last.value)
    to.last(*moved, node=node)


@dataclass(frozen=True)
class _Pairs:
    """Products of two terms, and where each letter's size can be read."""

    to: Lowered
    sizes: dict[str, tuple[Any, int]]

    def product(self, a: Term, b: Term, needed: set[str]) -> Term:
        """Multiply two terms and sum over what nothing else needs."""
        a = self.summed(a, needed | set(b.letters))
        b = self.summed(b, needed | set(a.letters))
        shared = [letter for letter in a.letters if letter in b.letters]
        batch = "".join(letter for letter in shared if letter in needed)
        over = "".join(letter for letter in shared if letter not in needed)
        rows = "".join(letter for letter in a.letters if letter not in b.letters)
        columns = "".join(letter for letter in b.letters if letter not in a.letters)
        if not over:
            return self._elementwise(a, b, (batch, rows, columns))
        first = self._grouped(a, (batch, rows, over))
        second = self._grouped(b, (batch, over, columns))
        shape = (*first.shape[:2], second.shape[2])
        made = self.to.add("matmul", first.value, second.value, shape=shape)
        letters = batch + rows + columns
        whole = self._shape(a, b, letters)
        if whole != shape:
            made = self.to.add("reshape", made, [self._size(x) for x in letters], shape=whole)
        return Term(made, letters, whole)

    def summed(self, term: Term, needed: set[str]) -> Term:
        """Sum over the letters that nobody needs."""
        dims = [k for k, letter in enumerate(term.letters) if letter not in needed]
        if not dims:
            return term
        kept = [k for k in range(len(term.letters)) if k not in dims]
        shape = tuple(term.shape[k] for k in kept)
        value = self.to.add("sum", term.value, dims, False, shape=shape)
        return Term(value, "".join(term.letters[k] for k in kept), shape)

    def _elementwise(self, a: Term, b: Term, groups: tuple[str, str, str]) -> Term:
        batch, rows, columns = groups
        letters = batch + rows + columns
        if len(letters) > MOST:
            raise UncoveredError(f"an einsum with {len(letters)} letters in a product")
        first, second = self._ordered(a, batch + rows), self._ordered(b, batch + columns)
        for _ in columns:
            first = self._widened(first, len(first.shape))
        for _ in rows:
            second = self._widened(second, len(batch))
        shape = self._shape(a, b, letters)
        return Term(self.to.add("mul", first.value, second.value, shape=shape), letters, shape)

    def _ordered(self, term: Term, letters: str) -> Term:
        if letters == term.letters:
            return term
        order = [term.letters.index(letter) for letter in letters]
        shape = tuple(term.shape[k] for k in order)
        return Term(self.to.add("permute", term.value, order, shape=shape), letters, shape)

    def _widened(self, term: Term, at: int) -> Term:
        shape = (*term.shape[:at], 1, *term.shape[at:])
        return Term(self.to.add("unsqueeze", term.value, at, shape=shape), term.letters, shape)

    def _grouped(self, term: Term, groups: Sequence[str]) -> Term:
        """Bring a term into three dims, one for each group of letters."""
        term = self._ordered(term, "".join(groups))
        at = len(term.letters)
        for group in reversed(groups):
            at -= len(group)
            if not group:
                term = self._widened(term, at)
            elif len(group) > 1:
                end = at + len(group)
                shape = (*term.shape[:at], prod(term.shape[at:end]), *term.shape[end:])
                flat = self.to.add("flatten", term.value, at, end - 1, shape=shape)
                term = Term(flat, term.letters, shape)
        return term

    def _size(self, letter: str) -> Ref:
        value, dim = self.sizes[letter]
        return self.to.add("size", value, dim, shape=None)

    def _shape(self, a: Term, b: Term, letters: str) -> tuple[int, ...]:
        known = dict(zip(b.letters, b.shape, strict=False)) | dict(
            zip(a.letters, a.shape, strict=False)
        )
        return tuple(known[letter] for letter in letters)
