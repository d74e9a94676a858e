"""What this process and another say to each other: a line of JSON each."""

from __future__ import annotations

import json
from typing import Self

from grader.config import Options
from grader.records import Assessment, Record, Sample, Task
from grader.report.folder import Written


class Line(Record):
    """A record that travels as one line of text."""

    def line(self) -> str:
        """Return it as a line of ASCII; half a surrogate pair in a sample's text is no hindrance."""
        return json.dumps(self.model_dump(mode="json")) + "\n"

    @classmethod
    def of(cls, line: str) -> Self:
        """Read it back."""
        return cls.model_validate(json.loads(line))


class Settings(Line):
    """What a process is told once."""

    options: Options
    seed: int
    processes: int
    """How many share this machine's memory."""


class Request(Line):
    """One sample to grade, or one task to prepare."""

    sample: Sample | None
    """None where the task is only prepared, for samples that come later."""
    folder: str | None = None
    """The run folder that its review is written to; None where the verdict alone is wanted."""
    task: Task | None = None
    """What was asked, where the verdict alone is wanted and the caller knows it."""


class Response(Line):
    """A stage that began; or what came of the request, which is then over."""

    stage: str = ""
    written: Written | None = None
    assessment: Assessment | None = None
    failure: str = ""
    """What of ours failed so that the whole run must stop, as a disk that is full."""
