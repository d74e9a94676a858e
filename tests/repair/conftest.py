"""The program that many tests of small changes begin with."""

from __future__ import annotations

import pytest

from grader.diagnose import Program
from grader.records import Evaluation, Submission, Verdict

from .mean import MEAN


@pytest.fixture(scope="module")
def program() -> Program:
    submission = Submission(sample="s", code=MEAN, line_map=(), how="")
    verdict = Verdict(status="incorrect", sentence="wrong")
    evaluation = Evaluation(
        submission=submission.key, device="sim", sandbox="none", verdict=verdict
    )
    return Program(submission, evaluation, ())
