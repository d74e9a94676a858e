"""The input: the sample, and the submission extracted from it."""

from __future__ import annotations

from functools import cached_property

from grader.records.base import Name, Record, digest

SampleFormat = Name
"""Of `grader.ingest.read.FORMATS`."""


class KernelBenchId(Record):
    """The identity that KernelBench writes into a file name."""

    level: int
    problem: int
    sample: int


class Sample(Record):
    """One thing to grade, as it came, decoded to text."""

    id: str
    """Safe and unique in a run: letters, digits, dot, underscore, hyphen; at most 120 of them."""
    origin: str
    """Where it came from, as given; for display only, and always escaped."""
    format: SampleFormat
    text: str
    """The completion, with `\\n` line ends and without a byte order mark."""
    prompt: str | None = None
    """The prompt, where the format keeps it apart from the completion."""
    task_hint: str | None = None
    """A task's name from a side file or a record."""
    kernelbench: KernelBenchId | None = None
    notes: tuple[str, ...] = ()
    """How it was made readable (an encoding guessed, a part cut), for the review."""
    unreadable: str = ""
    """Why its file could not be read at all: the machine's failure, not the sample's."""

    @cached_property
    def key(self) -> str:
        """Content address of the graded text."""
        asked = (self.prompt or "", self.task_hint or "", str(self.kernelbench))
        return digest("sample", self.text, *asked, self.format, self.unreadable, *self.notes)


class Submission(Record):
    """The program taken from a sample."""

    sample: str
    """Id of the sample."""
    code: str
    """The Python text that is built and run."""
    line_map: tuple[int, ...]
    """For each line of `code` (the first at index 0) its line in the sample; 0 where inserted."""
    how: str
    """How it was chosen, e.g. "the last of 3 code blocks that define ModelNew"."""
    notes: tuple[str, ...] = ()
    """How it was made readable (a fence cut out, an unclosed block)."""
    borrowed: tuple[str, ...] = ()
    """Names of the problem's file that it reads without defining them; `code` begins with their statements."""

    @cached_property
    def key(self) -> str:
        """Content address of the program."""
        return digest("submission", self.code)

    def sample_line(self, line: int) -> int:
        """Return the sample's line of the submission's line (1-based), or 0 if there is none."""
        return self.line_map[line - 1] if 1 <= line <= len(self.line_map) else 0


class Prose(Record):
    """A run of text outside the chosen code."""

    line: int
    """Line of the sample on which it starts (1-based)."""
    text: str
    before_code: bool
    """Whether it stands before the submission (prompt or plan) or after it (claims, self-review)."""


class Extraction(Record):
    """Everything extracted from one sample."""

    submission: Submission | None
    reference: str | None = None
    """Source of a reference `Model` embedded in the prompt part, if any."""
    bound_to_reference: bool = False
    """Whether the submission was completed from the prompt's `reference`, so that it answers no other task."""
    found: str = ""
    """What the sample had instead, when there is no submission."""
    prose: tuple[Prose, ...] = ()
