"""A change of a file that GitHub applies with a click: whole lines, all of them in one changed stretch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.records import Finding, Repair, Review
from grader.report.changed_lines import Span, is_held
from grader.report.escape import clean
from grader.report.places import same_line
from grader.source import edits

MOST_LINES = 40
MOST_CHARACTERS = 10_000


class Suggestion(NamedTuple):
    """Lines of the file from `first` to `last` (1-based) become `text`."""

    first: int
    last: int
    text: str
    note: str
    """Its outcome, in a sentence."""

    def block(self) -> str:
        """Return the markdown that GitHub shows with a button."""
        longest = max((len(run) for run in re.findall(r"`+", self.text)), default=0)
        ticks = "`" * max(3, longest + 1)
        return f"{ticks}suggestion\n{self.text}\n{ticks}"


def suggestion(review: Review, finding: Finding, changed: Sequence[Span]) -> Suggestion | None:
    """Return the surest change for the finding that lies within one changed stretch."""
    for code, note in _changes(review, finding):
        made = _whole_lines(review, code, note, changed)
        if made is not None:
            return made
    return None


def _changes(review: Review, finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield changed programs, each with its outcome: first a program that passed with this change alone."""
    passed = next((one for one in review.repairs if one.kind != "reference"), None)
    if passed and {rule for rule, _ in passed.settles} == {finding.rule}:
        yield passed.code, f"With this change the kernel {_say_effect(passed)}."
    for fix in () if finding.after_fix else finding.fixes[:1]:
        try:
            changed = edits.apply(review.code or "", fix.edits)
        except ValueError:
            continue
        yield changed, _known_fix(passed, (finding.rule, fix.label))


def _known_fix(passed: Repair | None, settled: tuple[str, str]) -> str:
    if passed is None or settled not in passed.settles:
        return "This change has not been run by itself."
    others = len(passed.settles) - 1
    if not others:
        return f"With this change the kernel {_say_effect(passed)}."
    return f"The kernel {_say_effect(passed)} with this change and {others} more."


def _say_effect(passed: Repair) -> str:
    on = " every workload" if passed.outcome == "passes" else ""
    return f"{passed.outcome}{on}"


def _whole_lines(
    review: Review, code: str, note: str, changed: Sequence[Span]
) -> Suggestion | None:
    """Return the change as lines of the file, where each of them is changed and reads as in the submission."""
    old, new = (review.code or "").split("\n"), code.split("\n")
    if old == new:
        return None
    start, end = _differing_lines(old, new)
    tail = len(old) - end
    for first, last in ((start, end), (start, end + 1), (start - 1, end)):
        if not 0 <= first < last <= len(old):
            continue
        lines = [same_line(review, number + 1) for number in range(first, last)]
        text = "\n".join(new[first : len(new) - tail + last - end])
        if _consecutive(lines) and is_held(changed, lines[0], lines[-1]) and _plain(text):
            return Suggestion(lines[0], lines[-1], text, note)
    return None


def _differing_lines(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the range of lines (from, up to) of the old text that the new text changes."""
    most = min(len(old), len(new))
    start = next((n for n in range(most) if old[n] != new[n]), most)
    alike = next((n for n in range(most - start) if old[-1 - n] != new[-1 - n]), most - start)
    return start, len(old) - alike


def _consecutive(lines: Sequence[int]) -> bool:
    return bool(lines[0]) and list(lines) == list(range(lines[0], lines[0] + len(lines)))


def _plain(text: str) -> bool:
    """Whether a reader can see the whole change: few lines, no invisible characters."""
    short = text.count("\n") < MOST_LINES and len(text) <= MOST_CHARACTERS
    return short and clean(text, 2 * MOST_CHARACTERS) == text
