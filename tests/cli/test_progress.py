"""What a run says of itself where nothing can be drawn."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console

from grader.cli.progress import Progress
from grader.ingest import Skipped
from grader.records import Sample, Status

GRADED: list[tuple[str, Status]] = [("a", "correct"), ("b", "incorrect"), ("c", "correct")]


def _sample(name: str) -> Sample:
    return Sample(id=name, origin=name, format="transcript", text="")


def _said(*, quiet: bool = False, **options: Any) -> list[str]:
    written = io.StringIO()
    with Progress(Console(file=written), quiet=quiet, **options) as progress:
        progress.preparing("[bold]headers")
        progress.preparing("")
        for name, status in GRADED:
            progress.watcher().finished(_sample(name), status)
    return written.getvalue().splitlines()


def test_a_log_gets_a_line_now_and_then() -> None:
    assert _said(every=0.0) == [
        "preparing: [bold]headers",
        "1 graded: 1 correct",
        "2 graded: 1 correct · 1 incorrect",
        "3 graded: 2 correct · 1 incorrect",
    ]
    assert _said(every=1e9) == ["preparing: [bold]headers"]


@pytest.mark.parametrize("every", [0.0, 1e9])
def test_quiet_is_silent(every: float) -> None:
    assert _said(every=every, quiet=True) == []


def test_the_total_is_counted_beside_the_grading() -> None:
    written = io.StringIO()
    with Progress(Console(file=written), quiet=False, every=0.0) as progress:
        progress.count(_sample(name) for name in "abcde")
        while progress.total is None:
            time.sleep(0.001)
        for name, status in GRADED:
            progress.watcher().finished(_sample(name), status)
    assert written.getvalue().splitlines() == [
        "1 of 5 graded: 1 correct",
        "2 of 5 graded: 1 correct · 1 incorrect",
        "3 of 5 graded, about 1 min left (estimated): 2 correct · 1 incorrect",
    ]


def test_what_is_skipped_is_named() -> None:
    written = io.StringIO()
    with Progress(Console(file=written), quiet=False) as progress:
        progress.name_skipped(Skipped("[red]a.jsonl:3", "not a JSON record"))
    assert written.getvalue() == "skipped [red]a.jsonl:3: not a JSON record\n"
    assert progress.skipped_so_far == 1


def test_a_log_says_how_long_preparing_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 10.0, 10.0, 20.0, 34.4, 34.4])
    console = Console(file=io.StringIO(), width=80)
    progress = Progress(console, quiet=False)
    monkeypatch.setattr("grader.cli.progress.time.monotonic", lambda: next(now))
    next(now)
    for what in ("headers", "the simulator", ""):
        progress.preparing(what)
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "preparing: headers",
        "preparing: the simulator",
        "prepared in 24 s",
    ]
