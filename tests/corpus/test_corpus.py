"""The labelled submissions are exact, and the text alone already tells much of it."""

from __future__ import annotations

import ast

import pytest

from grader.records import Context
from grader.rules import review_text
from grader.source import parse
from grader.tasks import builtin_tasks

from . import corpus

MUTANTS = {label.name: label for label in corpus.mutants()}


def test_the_set_is_broad() -> None:
    assert len(corpus.originals()) >= 12
    assert len({original.task for original in corpus.originals()}) >= 12
    assert len({label.kind for label in MUTANTS.values()}) >= 40
    assert len(MUTANTS) == len(corpus.mutants()) >= 150
    assert {label.kind for label in MUTANTS.values()} == set(corpus.kinds())


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_labels_are_exact(name: str) -> None:
    label = MUTANTS[name]
    last = label.code.count("\n") + 1
    ast.parse(label.code)
    assert label.rules
    assert label.lines
    assert all(1 <= line <= last for line in label.lines)
    assert label.task in builtin_tasks()


@pytest.mark.parametrize("original", corpus.originals(), ids=lambda label: label.name)
def test_the_text_of_a_correct_one_shows_no_error(original: corpus.Labelled) -> None:
    task = builtin_tasks()[original.task]
    found = review_text(parse(original.code), Context(task=task))
    assert not [finding for finding in found if finding.severity == "error"]
