"""The grader's own failures; none of them is ever charged to a sample."""

from __future__ import annotations


class GraderError(Exception):
    """Something of ours or of this machine failed: no compiler, no memory, no sandbox.

    `hint` says what would help, in a sentence that starts with a verb.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class UsageError(GraderError):
    """What the user asked for can't be done as asked: exit code 2."""
