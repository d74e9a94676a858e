"""Messages between this process and a worker, each a line of JSON."""

from __future__ import annotations

import json
from typing import Self

from grader.config import Options
from grader.records import Assessment, Record, Sample, Task
from grader.report.folder import Written


class Line(Record):
    """A record sent as one line of text."""

    def line(self) -> str:
        """Return it as a line of ASCII, which can also represent lone surrogates in a sample's text."""
        return json.dumps(self.model_dump(mode="json")) + "\n"

    @classmethod
    def of(cls, line: str) -> Self:
        """Read it back."""
        return cls.model_validate(json.loads(line))


class Settings(Line):
    """The settings sent to a process once."""

    options: Options
    seed: int
    processes: int
    """Number of processes that share this machine's memory."""


class Request(Line):
    """One sample to grade, or one task to prepare."""

    sample: Sample | None
    """None where only the task is prepared, for later samples."""
    folder: str | None = None
    """The run folder that its review is written to; None where only the verdict is wanted."""
    task: Task | None = None
    """The task, where only the verdict is wanted and the caller knows the task."""


class Response(Line):
    """A started stage, or the result, which ends the request."""

    stage: str = ""
    written: Written | None = None
    assessment: Assessment | None = None
    failure: str = ""
    """A failure of the grader that must stop the whole run, such as a full disk."""
