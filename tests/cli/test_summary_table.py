"""The table at the end of a run."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli import grading
from grader.report.summary import Line, Summary

NAME = "a_run__level_1_problem_23_sample_0_kernel"
SENTENCE = "Line 6: the barrier is not reached by every thread of the block"


def test_a_long_name_is_folded_and_leaves_room_for_the_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = StringIO()
    monkeypatch.setattr(grading, "out", Console(file=said, width=80))
    line = Line(NAME, "incorrect", 1, fixed=False, sentence=SENTENCE)
    grading._summary(Summary(Counter(incorrect=1), lines=[line]), 0, tmp_path)
    rows = said.getvalue().splitlines()[1:4]
    assert "".join(row[:26].strip() for row in rows) == NAME
    assert "barrier is not reached" in " ".join(row[26:].split("1", 1)[-1].strip() for row in rows)
