"""Execution of one request in the current process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.pipeline import GradingContext, review_key
from grader.pipeline.context import prepare_task
from grader.report.folder import RunFolder
from grader.scheduling.messages import Request, Response


def grade_one(grading: GradingContext, request: Request, stage: Callable[[str], None]) -> Response:
    """Grade the request's sample; its review is written, except for the row.

    Raises GraderError where the run folder can't be written.
    """
    from grader.pipeline.review import assess, review  # a run without work needs none

    if request.sample is None:
        if request.task is not None:
            prepare_task(grading, request.task)
        return Response()
    if request.folder is None:
        return Response(assessment=assess(grading, request.sample, request.task))
    made = review(grading, request.sample, stage)
    folder = RunFolder(Path(request.folder))
    return Response(written=folder.write(made, review_key(grading, request.sample)))
