"""What a run says of itself where nothing can be drawn."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from grader.progress import Progress
from grader.records import Review


def _reviewed(name: str, status: str) -> Review:
    return cast("Review", SimpleNamespace(sample=name, verdict=SimpleNamespace(status=status)))


def _said(*, quiet: bool = False, **options: Any) -> list[str]:
    written = io.StringIO()
    with Progress(Console(file=written), quiet=quiet, **options) as progress:
        progress.preparing("[bold]headers")
        progress.preparing("")
        for name, status in [("a", "correct"), ("b", "incorrect"), ("c", "correct")]:
            progress.watcher().finished(_reviewed(name, status))
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
