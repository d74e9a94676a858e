"""Products of row-major matrices by cuBLAS, which takes each for its transpose: C' = B' A'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import Scope
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(r"cublas[SDHC]gemm(?:_v2)?")
_BATCHED = re.compile(r"cublas[SDHC]gemmStridedBatched")


def row_major(scope: Scope) -> Iterator[Variant]:
    """Yield a product with its factors the other way round, and its leading dimensions as they then are."""
    body = scope.function.body
    if scope.function.runs != "host" or body is None:
        return
    for node in descendants(body, "call_expression"):
        made = read_call(node)
        one, many = _PLAIN.fullmatch(made.last), _BATCHED.fullmatch(made.last)
        if one and len(made.arguments) == 14:
            yield from _turned(scope, made.arguments, widths=(8, 10, 13), second=9)
        elif many and len(made.arguments) == 18:
            yield from _turned(scope, made.arguments, widths=(8, 11, 15), second=10, stride=2)


def _turned(
    scope: Scope,
    given: tuple[Node, ...],
    widths: tuple[int, int, int],
    second: int,
    stride: int = 0,
) -> Iterator[Variant]:
    """Yield the exchange of the factors, and the leading dimensions alone; `given` are cuBLAS's arguments.

    `widths` are the places of lda, ldb and ldc, `second` that of the second matrix, and `stride` how far
    behind a matrix the step to the next one of a batch stands (0: there is none).
    """
    words = [text(one) for one in given]
    exchanged = list(words)
    for a, b in ((1, 2), (3, 4), (7, second), *([(7 + stride, second + stride)] if stride else ())):
        exchanged[a], exchanged[b] = words[b], words[a]
    for new, cost in ((exchanged, 1.2), (list(words), 1.5)):
        rows, columns, inner = new[3:6]
        wide = rows if new[1].endswith("_N") else inner
        high = inner if new[2].endswith("_N") else columns
        for at, width in zip(widths, (wide, high, rows), strict=True):
            new[at] = width
        pieces = (
            Piece(scope.unit, node, "replace", one)
            for node, one in zip(given, new, strict=True)
            if one != text(node)
        )
        if changed := tuple(pieces):
            yield Variant(changed, cost)
