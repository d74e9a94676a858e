"""The labelled submissions are exact, and the text alone already tells much of it."""

from __future__ import annotations

import ast

import pytest

from grader.languages import names_in
from grader.records import Context
from grader.source import parse
from grader.tasks import builtin_tasks
from tests.rules.reviews import review_text

from . import corpus

MUTANTS = {label.name: label for label in corpus.mutants()}
TRITON = {label.name: label for label in corpus.mutants("triton")}
RIGHT = (*corpus.originals("triton"), *corpus.variants("triton"))


def test_the_set_is_broad() -> None:
    assert len(corpus.originals()) >= 12
    assert len({original.task for original in corpus.originals()}) >= 12
    assert len({label.kind for label in MUTANTS.values()}) >= 40
    assert len(MUTANTS) == len(corpus.mutants()) >= 150
    assert {label.kind for label in MUTANTS.values()} == set(corpus.kinds())


def test_the_triton_set_is_broad() -> None:
    assert len({right.task for right in RIGHT}) >= 60
    assert len({label.kind for label in TRITON.values()}) >= 25
    assert len(TRITON) == len(corpus.mutants("triton")) >= 120
    assert {label.kind for label in TRITON.values()} == set(corpus.kinds("triton"))


@pytest.mark.parametrize("right", RIGHT, ids=lambda label: label.name)
def test_a_variant_is_whole(right: corpus.Labelled) -> None:
    assert right.task in builtin_tasks()
    assert "triton" in names_in(parse(right.code))


@pytest.mark.parametrize("name", sorted({**MUTANTS, **TRITON}))
def test_labels_are_exact(name: str) -> None:
    label = {**MUTANTS, **TRITON}[name]
    last = label.code.count("\n") + 1
    ast.parse(label.code)
    assert label.rules
    assert label.lines
    assert all(1 <= line <= last for line in label.lines)
    assert label.task in builtin_tasks()


@pytest.mark.parametrize("original", [*corpus.originals(), *RIGHT], ids=lambda label: label.name)
def test_the_text_of_a_correct_one_shows_no_error(original: corpus.Labelled) -> None:
    task = builtin_tasks()[original.task]
    found = review_text(parse(original.code), Context(task=task))
    assert not [finding for finding in found if finding.severity == "error"]
