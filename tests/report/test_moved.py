"""Run against run, as a person reads it."""

from grader.compare import compare
from grader.report import moved

from .conftest import Make


def test_each_change_has_its_table(make_review: Make) -> None:
    before = [make_review(f"s{n}", status="correct" if n < 3 else "incorrect") for n in range(12)]
    after = [make_review(f"s{n}", status="correct" if n > 1 else "hung") for n in range(12)]
    text = moved.render(compare([*before, make_review("gone")], after))
    assert "12 samples in both runs: 9 newly right, 2 newly wrong, 0 faster, 0 slower, 1" in text
    assert text.count("| `incorrect` | `correct` |") == 9
    assert "| s0 | `correct` | `hung` |  |" in text
    assert "9 won against 2 lost, p = 0.0654" in text
    assert "could well be chance" in text
    assert "Only before (1): gone." in text


def test_equal_runs_moved_nothing(make_review: Make) -> None:
    run = [make_review("a")]
    assert "No verdict changed" in moved.render(compare(run, run))
