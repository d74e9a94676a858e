"""Samples graded by threads of this process."""

from __future__ import annotations

from collections.abc import Callable

from grader.scheduling.executor import LocalExecutor
from grader.scheduling.grade_one import grade_one
from grader.scheduling.messages import Request, Response


class ThreadExecutor(LocalExecutor):
    """Grades in the calling thread."""

    def respond(self, request: Request, stage: Callable[[str], None]) -> Response:
        """Execute the request in this thread."""
        return grade_one(self.grading, request, stage)
