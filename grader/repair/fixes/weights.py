"""Fixes of weights that are not the reference's: its layers make them, as they draw them."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.repair.fixes.drawn_weights import taken_over
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.take_weights import reference_layers_weights
from grader.source import Source
from grader.source.analysis.reference_text import reference_of


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the ways to have the reference's weights, where leaving a layer's alone is not enough."""
    model, reference = source.classes.get("ModelNew"), reference_of(source, context)
    if model is None or reference is None or finding.fixes:
        return
    proven = any(item.code == "own-weights" for item in finding.evidence)
    yield from reference_layers_weights(source, model, reference.tree)
    yield from taken_over(source, model, reference.tree, proven=proven)


FIX = FixMaker(codes=("NUM006",), propose=propose)
