"""A review in a terminal of 80 columns: what is folded stays folded, and words stay words."""

import io
import unicodedata
from pathlib import Path

import pytest
from rich.console import Console
from rich.markdown import Markdown

from grader.cli import grading
from grader.report import markdown, rows
from grader.report.summary import summarise
from grader.report.terminal import terminal

from .conftest import Make
from .payloads import PAYLOADS


def printed(text: str) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print(Markdown(text, hyperlinks=False))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_first_screen_holds_verdict_facts_and_findings(make_review: Make) -> None:
    shown = printed(terminal(markdown.render(make_review())))
    first = "\n".join(shown.splitlines()[:40])
    assert "Wrong on 3 of 5 workloads." in first
    assert "task total · device simulator · builds yes · right no" in first
    assert "SYN002 missing-barrier" in first
    assert "sums[t] += sums[t + s]" in first
    assert max(map(len, shown.splitlines())) <= 80


def test_folds_are_a_line_each_unless_all_is_wanted(make_review: Make) -> None:
    text = markdown.render(make_review())
    assert "<details><summary>" in text
    few, everything = terminal(text), terminal(text, everything=True)
    assert "▸ Workloads (1) (`--all` shows it)" in few
    assert "| 4x1000 | nominal |" not in few
    assert "| 4x1000 | nominal |" in everything
    assert "details>" not in few
    assert "details>" not in everything


def test_a_tag_within_code_is_code() -> None:
    text = "a\n```text\n</details>\n<details><summary>x</summary>\n```\nb\n"
    assert terminal(text) == text


def test_a_table_of_several_rows_stays_one() -> None:
    text = "| a | b |\n|---|---|\n| c | d |\n| e | f |\n"
    assert terminal(text) == text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_payload_steers_the_terminal(make_review: Make, payload: str) -> None:
    for text in (markdown.render(make_review(words=payload)), payload):  # the second: any file
        shown = printed(terminal(text, everything=True)).encode("utf-8", "replace")
        kinds = {unicodedata.category(c) for c in shown.decode().replace("\n", "")}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_table_of_a_run_holds_text_alone(
    tmp_path: Path, make_review: Make, monkeypatch: pytest.MonkeyPatch, payload: str
) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(grading, "out", console)
    line = rows.line(make_review(words=payload))
    grading._summary(summarise([line]), 0, tmp_path)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    odd = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf"}} - {"\n"}
    assert not odd


def test_what_was_not_run_shows_what_its_text_says(make_review: Make) -> None:
    said = [summarise([rows.line(make_review(status=s))]).lines[0] for s in ("not_run", "hung")]
    assert (
        said[0].sentence == "SYN002, line 11: `sums` is read before all have written it. two words"
    )
    assert said[1].sentence == "Wrong on 3 of 5 workloads. two words"
