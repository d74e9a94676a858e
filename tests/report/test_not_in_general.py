"""What is right with the task's own sizes and weights alone is told from what is right as a whole, wherever a verdict goes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from grader.records import Review
from grader.report import html, index, markdown
from grader.report.entry import entry
from grader.report.facts import facts
from grader.report.rows import line
from grader.report.status import NARROW, group, in_words
from grader.report.summary import summarise

from .conftest import index_page

Make = Callable[..., Review]


@pytest.fixture
def narrow(make_review: Make) -> Review:
    review = make_review("a", status="correct")
    known = {"general": False, "fails_with": "other weights"}
    verdict = review.verdict.model_copy(update=known)
    evaluation = review.evaluation.model_copy(update={"verdict": verdict})
    return review.model_copy(update={"evaluation": evaluation})


def test_only_what_is_correct_has_other_words() -> None:
    assert in_words("correct", general=None) == in_words("correct", general=True) == "correct"
    assert in_words("correct", general=False) == NARROW
    assert in_words("incorrect", general=False) == "incorrect"
    assert (group("correct"), group(NARROW)) == ("pass", "warning")


def test_it_is_counted_and_shown_by_itself(narrow: Review, make_review: Make) -> None:
    page = index_page([narrow, make_review("b", status="correct")])
    assert f'<span class="badge warning">{NARROW}</span>' in page
    assert f'data-status="correct_but_not_in_general">{NARROW} <b>1</b>' in page
    both = index.render([entry(narrow), entry(make_review("b", status="correct"))])
    assert f"2 samples: 1 correct, 1 {NARROW}." in both
    summary = summarise([line(narrow)])
    assert (summary.counts, summary.shown) == ({"correct": 1}, {NARROW: 1})
    assert summary.lines[0].verdict == NARROW


def test_a_review_says_with_what_it_fails(narrow: Review) -> None:
    said = {fact.name: fact.value for fact in facts(narrow)}
    assert said["in general"] == "no, not with other weights"
    assert f"# a: `{NARROW}`" in markdown.render(narrow)
    assert f'<span class="badge warning">{NARROW}</span>' in html.page(narrow)
    assert json.loads(line(narrow))["fails_with"] == "other weights"
