"""The markdown review: what stands first, how long it is, and that words stay words."""

import re

import pytest
from markdown_it import MarkdownIt

from grader.records import Run
from grader.report import index, markdown
from grader.report.entry import entry
from grader.report.log import readable

from .conftest import CODE, Make
from .payloads import PAYLOADS

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
PLAIN = {"text", "text_special", "softbreak", "code_inline"}
OURS = ("<details>", "</details>", "<summary>", "</summary>")


def shape(text: str) -> list[str]:
    """Return the kinds of all blocks and of what stands in them, but for text and code."""
    found: list[str] = []
    for token in MARKDOWN.parse(text):
        found.append(f"{token.type} {token.tag}")
        found += [child.type for child in token.children or () if child.type not in PLAIN]
    return found


def raw_html(text: str) -> list[str]:
    return [
        child.content.strip()
        for token in MARKDOWN.parse(text)
        for child in (token, *(token.children or ()))
        if child.type in {"html_block", "html_inline"}
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_words_never_become_markup(make_review: Make, payload: str) -> None:
    plain, hostile = (
        markdown.render(make_review(words=words, status=status))
        for words in ("two words", payload)
        for status in ("build_failed",)
    )
    assert shape(hostile) == shape(plain)
    assert raw_html(hostile) == raw_html(plain)
    assert all(html.startswith(OURS) for html in raw_html(hostile))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_index_has_one_row_a_sample(make_review: Make, payload: str) -> None:
    plain, hostile = (
        index.render([entry(make_review(f"s{n}", words=words, task=words)) for n in range(3)])
        for words in ("two words", payload)
    )
    assert shape(hostile) == shape(plain)
    assert raw_html(hostile) == []


@pytest.mark.parametrize(
    ("form", "origin", "said"),
    [
        ("transcript", "a/b.md", "`python grade.py a/b.md`"),
        ("transcript", "a b; rm x.md", "`python grade.py 'a b; rm x.md'`"),
        ("transcript", "$(touch x).md", "`python grade.py '$(touch x).md'`"),
        ("jsonl", "a/b.jsonl:7", "`python grade.py a/b.jsonl --only total_race`"),
        ("parquet", "a/b.parquet#7", "`python grade.py a/b.parquet --only total_race`"),
    ],
)
def test_the_command_to_grade_again_is_one_whatever_a_file_is_called(
    make_review: Make, form: str, origin: str, said: str
) -> None:
    assert f"- again: {said}\n" in markdown.render(make_review(form=form, origin=origin))


def test_the_verdict_stands_first(make_review: Make) -> None:
    lines = markdown.render(make_review()).splitlines()
    assert lines[0] == "# total_race: `incorrect`"
    assert lines[2].startswith("**Wrong on 3 of 5 workloads.")
    assert lines[4].startswith("| task | device |")


def test_the_gravest_finding_stands_first(make_review: Make) -> None:
    review = make_review()
    review = review.model_copy(update={"findings": review.findings[::-1]})
    text = markdown.render(review)
    assert text.index("SYN002") < text.index("NUM001") < text.index("STY001")
    assert "11 |         if (t < s) sums[t] += sums[t + s];" in text
    assert "   |                    ^^^^" in text


def test_a_review_is_short_but_for_whole_files(make_review: Make) -> None:
    review = make_review(status="build_failed")
    text = markdown.render(review)
    assert text.count("\n") - CODE.count("\n") < 150


def test_the_same_results_give_the_same_bytes(make_review: Make) -> None:
    review = make_review()
    elsewhere = review.model_copy(update={"machine": {"host": "another", "seconds": 99}})
    assert markdown.render(review) == markdown.render(elsewhere)


def test_what_every_workload_raises_is_said_once(make_review: Make) -> None:
    review = make_review()
    runs = tuple(
        Run(workload=name, device="sim", status="raised", reason=reason)
        for name, reason in (("a", "TypeError: x"), ("b", "TypeError: x"), ("c", "IndexError: y"))
    )
    evaluation = review.evaluation.model_copy(update={"runs": runs, "comparisons": ()})
    rows = markdown.workloads(review.model_copy(update={"evaluation": evaluation}))
    assert [row["detail"] for row in rows] == ["TypeError: x", "as above", "IndexError: y"]


def test_a_log_says_what_the_tools_said() -> None:
    log = "\n".join(
        (
            "[1/2] /x/kg-nvcc -c cuda.cu -o cuda.o",
            "FAILED: [code=1] cuda.o",
            "/x/bin/kg-nvcc -c cuda.cu -o cuda.o",
            "cuda.cu(3): error: expected a `;`",
            "ptxas info    : Compile time = 78.228 ms",
            "ninja: build stopped: subcommand failed.",
        )
    )
    assert readable(log) == "FAILED: [code=1] cuda.o\ncuda.cu(3): error: expected a `;`"


def test_what_is_not_folded_fits_a_screen_or_two(make_review: Make) -> None:
    made = make_review(code=CODE * 12)
    findings = [f.model_copy(update={"fixes": ()}) for f in made.findings[:2] for _ in range(20)]
    diff = "\n".join(f"+line {n}" for n in range(300))
    repairs = [r.model_copy(update={"diff": diff}) for r in made.repairs]
    text = markdown.render(
        made.model_copy(update={"findings": tuple(findings), "repairs": tuple(repairs)})
    )
    folded = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
    assert folded.count("\n") < 170
    assert "<summary>36 more findings</summary>" in text
    assert text.count("missing-barrier") == 20
