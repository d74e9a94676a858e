"""What a run says of itself where nothing can be drawn."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from grader.progress import Progress
from grader.records import Sample, Status


def _said(*, quiet: bool = False, **options: Any) -> list[str]:
    written = io.StringIO()
    with Progress(Console(file=written), quiet=quiet, **options) as progress:
        progress.preparing("[bold]headers")
        progress.preparing("")
        graded: list[tuple[str, Status]] = [("a", "correct"), ("b", "incorrect"), ("c", "correct")]
        for name, status in graded:
            sample = Sample(id=name, origin=name, format="transcript", text="")
            progress.watcher().finished(sample, status)
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
