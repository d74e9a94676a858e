"""Grading of a program in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader import pipeline
from grader.config import Options
from grader.pipeline.review import review
from grader.records import Review, Sample
from grader.store import Store
from tests.whole import ENOUGH_FOR_RUNS

Graded = Callable[..., Review]


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Return a function that grades a program on the simulator by its runs, without other looks and repair."""
    folder: Path = tmp_path_factory.mktemp("triton")
    options = Options(device="sim", cache=folder, repair=False, sample_seconds=ENOUGH_FOR_RUNS)
    grading = pipeline.open_context(options, Store(folder), 7)

    def grade(code: str, task: str = "relu") -> Review:
        text = f"Here is the kernel.\n\n```python\n{code}```\n"
        sample = Sample(id="s", origin="s", format="transcript", text=text, task_hint=task)
        return review(grading, sample)

    return grade
