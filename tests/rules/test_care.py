"""A walk with less care sees the same addresses: what it passes by has none that it is asked for."""

from __future__ import annotations

import pytest

from grader.records import Context
from grader.source import parse
from grader.source.analysis.walks import cases
from grader.source.flow import Walk
from grader.source.flow.trace import Care
from grader.tasks import builtin_tasks

from ..corpus import corpus

ORIGINALS = {label.name: label for label in corpus.originals()}


def _seen(walk: Walk, *kinds: str) -> list[tuple[object, ...]]:
    return [
        (
            access.kind,
            access.node.id,
            access.mask.tobytes(),
            None if access.offsets is None else access.offsets[access.mask].tolist(),
        )
        for access in walk.accesses
        if access.kind in kinds
    ]


@pytest.mark.parametrize("name", ORIGINALS)
def test_addresses_are_those_of_a_full_walk(name: str) -> None:
    label = ORIGINALS[name]
    context = Context(task=builtin_tasks()[label.task])
    for case in cases(parse(label.code), context):
        light = case.flow.block(case.walk, (0, 0, 0))
        assert light.care is Care.ADDRESSES
        assert _seen(light, "load", "store", "atomic") == _seen(
            case.walk, "load", "store", "atomic"
        )
    for case in cases(parse(label.code + "\n"), context):
        lightest = case.flow.walk(case.launch, Care.STORES)
        assert lightest.care is Care.STORES
        assert _seen(lightest, "store", "atomic") == _seen(case.walk, "store", "atomic")
