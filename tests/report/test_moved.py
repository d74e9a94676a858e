"""Run against run, as a person reads it."""

from pathlib import Path

import pytest

from grader.compare import compare
from grader.errors import GraderError
from grader.report import html, moved
from grader.report.html.moved import write

from .conftest import Make
from .payloads import PAYLOADS
from .test_html import Shape


def test_each_change_has_its_table(make_review: Make) -> None:
    before = [make_review(f"s{n}", status="correct" if n < 3 else "incorrect") for n in range(12)]
    after = [make_review(f"s{n}", status="correct" if n > 1 else "hung") for n in range(12)]
    text = moved.render(compare([*before, make_review("gone")], after))
    assert (
        "12 samples in both runs: 9 newly right, 2 newly wrong, 0 faster, 0 slower, 1 same" in text
    )
    assert text.count("| `incorrect` | `correct` |") == 9
    assert "| s0 | `correct` | `hung` |  |" in text
    assert "9 won against 2 lost, p = 0.0654" in text
    assert "could well be chance" in text
    assert "Only before (1): gone." in text


def test_equal_runs_moved_nothing(make_review: Make) -> None:
    run = [make_review("a")]
    assert "No verdict changed" in moved.render(compare(run, run))


def test_what_was_not_judged_counts_neither_way(make_review: Make) -> None:
    before = [make_review("a", status="grader_error"), make_review("b", status="correct")]
    after = [make_review("a", status="correct"), make_review("b", status="not_run")]
    made = compare(before, after)
    assert made.count("not judged") == 2
    assert made.p_value == 1.0


def test_rules_that_moved_are_counted_by_sample(make_review: Make) -> None:
    run = [make_review("a"), make_review("b")]
    clean = [one.model_copy(update={"findings": ()}) for one in run]
    first, *_ = compare(run, clean).rules
    assert (first.rule, first.before, first.after) in {("SYN002", 2, 0), ("NUM001", 2, 0)}
    assert "| SYN002 missing-barrier | 2 | 0 |" in moved.render(compare(run, clean))
    assert compare(run, run).rules == ()


def test_the_page_has_what_the_markdown_has(make_review: Make) -> None:
    before = [make_review(f"s{n}", status="correct", speedup=1.0) for n in range(4)]
    after = [
        make_review("s0", status="correct", speedup=2.0),
        make_review("s1", status="correct", speedup=0.5),
        make_review("s2", status="hung"),
        make_review("s3", status="correct", speedup=1.01),
    ]
    page = html.moved(compare(before, after), "../old", "../new")
    assert "<b>1</b><span>faster</span>" in page
    assert "<b>1</b><span>slower</span>" in page
    assert '<a href="../old/pages/s2.html">' in page
    assert '<a href="../new/pages/s2.html">' in page
    assert "4 of 4 were right before, 3 after." in page
    assert "Of 3 measured in both runs 1 are faster and 1 slower" in page


def test_links_lead_from_the_page_to_the_runs(make_review: Make, tmp_path: Path) -> None:
    made = compare([make_review("a", status="correct")], [make_review("a", status="hung")])
    write(made, tmp_path / "deep" / "moved.html", tmp_path / "old", tmp_path / "deep" / "new")
    page = (tmp_path / "deep" / "moved.html").read_text()
    assert 'href="../old/pages/a.html"' in page
    assert 'href="new/index.html"' in page
    (tmp_path / "file").write_text("")
    with pytest.raises(GraderError, match="can't write"):
        write(made, tmp_path / "file" / "moved.html", tmp_path, tmp_path)


def test_runs_without_a_sample_in_common_have_a_page(make_review: Make) -> None:
    page = html.moved(compare([make_review("a")], [make_review("b")]), "old", "new")
    assert "Only before (1)" in page
    assert "No verdict changed" in page


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_words_stay_words(make_review: Make, payload: str) -> None:
    def page(words: str) -> Shape:
        before = [make_review("a", words=words, status="correct")]
        after = [make_review("a", words=words, status="hung")]
        folder = words.replace("\ud800", "")  # in no path
        return Shape(html.moved(compare(before, after), folder, folder))

    hostile = page(payload)
    assert [tag for tag in hostile.tags if tag != "br"] == page("two words").tags
    assert hostile.active == []
    assert not [link for link in hostile.links if ":" in link and link != "data:,"]
