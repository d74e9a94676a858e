"""`unsound` is a class of its own wherever a verdict goes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from grader.cli.grading import _exit_code
from grader.compare import compare
from grader.config import Options
from grader.records import Review
from grader.report import html, index, kernelbench, markdown, moved
from grader.report.entry import entry
from grader.report.rows import line, row
from grader.report.status import FAILED, group
from grader.report.summary import summarise
from grader.stats import scores

from .conftest import index_page

Make = Callable[..., Review]
NAME = "level_1_problem_23_sample_0"


@pytest.fixture
def lucky(make_review: Make) -> Review:
    review = make_review(NAME, status="unsound", speedup=2.0)
    verdict = review.verdict.model_copy(update={"kernelbench": True})
    evaluation = review.evaluation.model_copy(update={"verdict": verdict})
    return review.model_copy(update={"evaluation": evaluation})


def test_it_has_a_colour_and_a_count(lucky: Review, make_review: Make) -> None:
    assert group("unsound") == "unsound"
    assert "unsound" in FAILED
    text = index_page([lucky, make_review("b", status="correct"), make_review("c")])
    assert '<span class="badge unsound">unsound</span>' in text
    assert 'data-status="unsound">unsound <b>1</b>' in text
    assert "1/3" in text
    assert "soundness, SYN002: 1" in text
    for css in (".badge.unsound {", ".chip.unsound {", "rect.unsound {"):
        assert css in text
    assert "3 samples: 1 correct, 1 incorrect, 1 unsound." in index.render(
        [entry(review) for review in (lucky, make_review("b", status="correct"), make_review("c"))]
    )


def test_pages_say_that_the_values_are_right_by_luck(lucky: Review) -> None:
    assert "right <b>by luck</b>" in html.page(lucky)
    assert '<span class="badge unsound">unsound</span>' in html.page(lucky)
    assert "right **by luck**" in markdown.render(lucky)


def test_rows_keep_kernelbenchs_answer(lucky: Review) -> None:
    made = row(lucky)
    assert (made["status"], made["correct"], made["kernelbench_correct"]) == (
        "unsound",
        False,
        True,
    )


def test_kernelbenchs_file_says_why(lucky: Review) -> None:
    (found,) = json.loads(kernelbench.render([lucky]))["23"]
    assert found["correctness"] is False
    assert found["metadata"]["status"] == "unsound"
    assert found["metadata"]["correctness_issue"] == lucky.verdict.sentence
    (found,) = json.loads(kernelbench.render([lucky], own_tolerance=True))["23"]
    assert found["correctness"] is True


def test_scores_count_it_apart(lucky: Review, make_review: Make) -> None:
    made = scores(map(entry, (lucky, make_review("b", status="correct"))))
    assert made.correct is not None
    assert made.unsound is not None
    assert (made.correct.value, made.unsound.value) == (0.5, 0.5)
    assert made.speedup is None, "its speed counts for nothing"


def test_to_become_sound_is_to_become_right(lucky: Review, make_review: Make) -> None:
    right = make_review(NAME, status="correct")
    made = compare([lucky], [right])
    assert made.count("newly right") == 1
    assert "| `unsound` | `correct` |" in moved.render(made)
    assert compare([right], [lucky]).count("newly wrong") == 1
    assert "unsound" in html.moved(made, "a", "b")


@pytest.mark.parametrize("gate", ["incorrect", "error"])
def test_it_trips_the_gates(lucky: Review, gate: str) -> None:
    assert _exit_code(summarise([line(lucky)]), Options(fail_on=gate)) == 1
