"""The grader's own failures, which are never charged to a sample."""

from __future__ import annotations


class GraderError(Exception):
    """A failure of the grader or of this machine: no compiler, no memory, no sandbox.

    `hint` says what would help, in a sentence that starts with a verb.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class UsageError(GraderError):
    """The user's request is invalid: exit code 2."""
