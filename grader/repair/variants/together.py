"""The same slip made several times: one change at every place of a function where the same text stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import text

SHORT = 2
"""Bytes up to which a text that stands in several places means nothing in common: `0`, `i`."""
MORE = 0.4
"""What it costs beyond the single change."""


def together(single: Sequence[Variant]) -> Iterator[Variant]:
    """Yield the single replacements of one function that several equal expressions share, as one change."""
    shared: dict[tuple[str, str], list[Variant]] = defaultdict(list)
    for variant in single:
        if len(variant.pieces) == 1 and variant.pieces[0].kind == "replace":
            piece = variant.pieces[0]
            if len(text(piece.node)) > SHORT:
                shared[text(piece.node), piece.text].append(variant)
    for alike in shared.values():
        pieces = [variant.pieces[0] for variant in alike]
        if len(pieces) > 1 and _apart(pieces):
            yield Variant(tuple(pieces), min(variant.cost for variant in alike) + MORE)


def _apart(pieces: Sequence[Piece]) -> bool:
    ordered = sorted(pieces, key=lambda piece: piece.node.start_byte)
    return all(first.node.end_byte <= second.node.start_byte for first, second in pairwise(ordered))
