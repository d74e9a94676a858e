"""A run as a pull request's review: on changed lines alone, with changes that apply, hostile words kept quiet."""

from __future__ import annotations

import difflib
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from grader.records import Edit, Fix, Review
from grader.report.changed_lines import Span, is_held, spans
from grader.report.github_review import MOST_COMMENTS, SUMMARY_MARK, PullReview, pull_review
from grader.report.suggestion import suggestion
from grader.source import edits

from .conftest import CODE, review
from .payloads import PAYLOADS

ALL = (Span(1, 100_000),)
HERE = Path("/repository")
HEAD = 3
"""Lines of the transcript before its code."""
RACE = next(n for n, line in enumerate(CODE.split("\n"), 1) if "sums[t + s]" in line)
lines = st.lists(st.sampled_from("abcd"), max_size=12)


@given(lines, lines, st.integers(0, 3))
def test_changed_lines_are_those_of_the_diff(old: list[str], new: list[str], context: int) -> None:
    patch = "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm="", n=context))
    opcodes = difflib.SequenceMatcher(None, old, new).get_opcodes()
    brought = {n + 1 for tag, _, _, j1, j2 in opcodes if tag != "equal" for n in range(j1, j2)}
    found = spans(patch)
    assert {n for first, last in found for n in range(first, last + 1)} == brought
    assert all(second.first > first.last + 1 for first, second in pairwise(found))


def test_what_stands_before_the_hunks_is_not_counted() -> None:
    patch = (
        "--- a/x\n+++ b/x\n@@ -0,0 +5,2 @@ def f():\n+one\n+++ two\n\\ No newline at end of file"
    )
    assert spans(patch) == (Span(5, 6),)
    assert spans("") == ()


def with_fix(fix: Fix, **more: object) -> Review:
    made = review(code=CODE, **more)
    first = made.findings[0].model_copy(update={"fixes": (fix,)})
    return made.model_copy(update={"findings": (first, *made.findings[1:])})


LAST = len(CODE) - 1
"""Behind it is the end of the code block, which is no line of the submission."""
places = st.integers(0, LAST)


@given(places, st.integers(0, 60), st.text("ab\n `", max_size=12))
def test_an_applied_suggestion_gives_the_fixed_code(start: int, length: int, text: str) -> None:
    change = Edit(start=start, end=min(start + length, LAST), text=text)
    made = with_fix(Fix(label="change it", edits=(change,)))
    wanted = edits.apply(CODE, (change,))
    offer = suggestion(made, made.findings[0], ALL)
    if wanted == CODE:
        assert offer is None
        return
    assert offer is not None
    file = made.text.split("\n")
    file[offer.first - 1 : offer.last] = offer.text.split("\n")
    applied = "\n".join(file)
    assert wanted in applied
    assert len(applied) - len(made.text) == len(wanted) - len(CODE)
    (block,) = MarkdownIt("commonmark").parse(offer.block())
    assert (block.type, block.info) == ("fence", "suggestion")
    assert block.content == offer.text + "\n"


@given(places, st.integers(1, 60), st.integers(1, 40), st.integers(0, 6))
def test_a_suggestion_stays_within_one_changed_stretch(
    start: int, length: int, first: int, more: int
) -> None:
    change = Edit(start=start, end=min(start + length, LAST), text="changed")
    made = with_fix(Fix(label="change it", edits=(change,)))
    changed = (Span(first, first + more),)
    offer = suggestion(made, made.findings[0], changed)
    assert offer is None or is_held(changed, offer.first, offer.last)


def test_a_change_with_hidden_characters_is_not_offered() -> None:
    for text in ("x\u202e;", "x\x1b[2J;", "\n" * 50, "x" * 20_000):
        made = with_fix(Fix(label="change it", edits=(Edit(start=0, end=0, text=text),)))
        assert suggestion(made, made.findings[0], ALL) is None


def test_what_is_known_of_a_suggestion_is_said() -> None:
    made = review()
    passed = made.repairs[0].model_copy(update={"code": CODE.replace("t < s", "t < s / 2")})
    whole = made.model_copy(update={"repairs": (passed,)})
    offer = suggestion(whole, made.findings[0], ALL)
    assert offer is not None
    assert "s / 2" in offer.text
    assert offer.note == "With this change the kernel passes every workload."
    label = made.findings[0].fixes[0].label
    settles = (("SYN002", label), ("NUM001", "another"))
    part = made.model_copy(update={"repairs": (passed.model_copy(update={"settles": settles}),)})
    offer = suggestion(part, made.findings[0], ALL)
    assert offer is not None
    assert "__syncthreads" in offer.text
    assert offer.note == "The kernel passes every workload with this change and 1 more."
    offer = suggestion(made.model_copy(update={"repairs": ()}), made.findings[0], ALL)
    assert offer is not None
    assert offer.note == "This change has not been run by itself."


def pull(made: Review, *changed: Span) -> PullReview:
    return pull_review([made], {"samples/total_race.md": changed}, HERE)


def test_only_changed_lines_are_commented_on() -> None:
    line = RACE + HEAD
    (comment,) = pull(review(), Span(line, line)).comments
    assert (comment.path, comment.first, comment.last) == ("samples/total_race.md", line, line)
    assert "SYN002 missing-barrier" in comment.body
    assert "```suggestion\n        __syncthreads();\n        if (t < s)" in comment.body
    nothing = pull(review(), Span(1, line - 2), Span(line + 1, line + 9))
    assert not nothing.comments
    assert f"`samples/total_race.md:{line}` SYN002" in nothing.summary()


def test_a_finding_without_a_place_is_listed_and_notes_are_not_said() -> None:
    made = pull(review(), *ALL)
    assert [comment.path for comment in made.comments] == ["samples/total_race.md"]
    assert [text for text in made.elsewhere if "NUM001" in text]
    assert "STY001" not in made.summary()


def test_a_run_in_another_folder_of_the_repository_is_found_by_its_path() -> None:
    for origin in (
        "samples/total_race.md",
        "./samples/total_race.md",
        f"{HERE}/samples/total_race.md",
    ):
        assert pull(review(origin=origin), *ALL).comments
    assert not pull(review(origin="/elsewhere/samples/total_race.md"), *ALL).comments


def test_a_mark_stays_when_lines_are_added_above() -> None:
    first = pull(review(), *ALL).comments[0]
    later = pull(review(before="One more.\n\nHere is the kernel.\n\n```python\n"), *ALL).comments[0]
    assert first.mark == later.mark
    assert first.last + 2 == later.last
    assert re.fullmatch(r"<!-- kernel-grader: [0-9a-f]{16} -->", first.mark)


def test_equal_findings_have_marks_of_their_own() -> None:
    made = review()
    twice = made.model_copy(update={"findings": (made.findings[0],) * 2})
    comments = pull(twice, *ALL).comments
    assert len({comment.mark for comment in comments}) == 2
    assert sum("```suggestion" in comment.body for comment in comments) == 1


def test_a_record_of_a_jsonl_file_is_commented_on_its_line() -> None:
    made = review(form="jsonl", origin="answers.jsonl:7")
    found = pull_review([made], {"answers.jsonl": (Span(7, 7),)}, HERE)
    assert [(c.path, c.first, c.last) for c in found.comments] == [("answers.jsonl", 7, 7)] * 2
    assert "```suggestion" not in found.comments[0].body


def test_the_summary_counts_what_changed_and_what_did_not() -> None:
    reviews = [review("one"), review("two", status="correct"), review("far", origin="b.md")]
    summary = pull_review(reviews, {"samples/total_race.md": ()}, HERE).summary("the end")
    assert summary.splitlines()[0] == SUMMARY_MARK
    assert "1 of 2 changed kernels are correct" in summary
    assert "| `one` | 🛑 incorrect |" in summary
    assert "does not change: 1 incorrect." in summary
    assert summary.endswith("the end\n")
    read = pull_review([review("read", status="not_run")], {"samples/total_race.md": ()}, HERE)
    assert "the changed kernel is not judged" in read.summary()
    assert "changes none of the graded kernels" in pull_review(reviews, {}, HERE).summary()


@pytest.mark.parametrize(
    "words", [*PAYLOADS, "@octocat #1 octo/repo#2 @org/team", "`@a` x @b `#3` #4"]
)
def test_a_sample_calls_nobody_and_brings_no_markup(words: str) -> None:
    made = pull(review(words=words, sample="a-@me-#5"), *ALL)
    for text in (made.summary(), *(comment.body for comment in made.comments)):
        rendered = MarkdownIt("commonmark").enable("table").parse(text)
        inline = [child for token in rendered for child in token.children or ()]
        plain = "".join(child.content for child in inline if child.type.startswith("text"))
        assert not re.search(r"(?<![\w`])@\w|#\d", plain)
        ours = re.compile(r"</?(details|summary)>|<!-- kernel-grader: summary -->")
        html = [t.content for t in (*rendered, *inline) if t.type in {"html_block", "html_inline"}]
        assert not re.search(r"<\w|javascript", ours.sub("", "".join(html)))
        assert not [child for child in inline if child.type in {"link_open", "image"}]


def test_github_takes_the_longest_summary() -> None:
    reviews = [review(f"sample_{n}", words="<&@#" * 500) for n in range(200)]
    made = pull_review(reviews, {"samples/total_race.md": ALL}, HERE)
    assert len(made.summary()) < 65_536
    assert len(made.comments) == MOST_COMMENTS
    assert all(len(comment.body) < 65_000 for comment in made.comments)
