"""Applies edits to a submission, with a map from each new line to its old one."""

import difflib
from collections.abc import Iterable, Sequence
from itertools import pairwise

from grader.records import Edit, Fix, Submission


class OverlappingEditsError(ValueError):
    """Two edits overlap."""


def apply(code: str, edits: Iterable[Edit]) -> str:
    """Return the code with all edits made; equal edits count once.

    Raises OverlappingEditsError if two of them touch the same text, ValueError if one lies outside.
    """
    ordered = sorted(set(edits), key=lambda edit: (edit.start, edit.end))
    for first, second in pairwise(ordered):
        if second.start < first.end or (second.start, second.end) == (first.start, first.end):
            msg = f"edits overlap at {second.start}"
            raise OverlappingEditsError(msg)
    parts: list[str] = []
    cursor = 0
    for edit in ordered:
        if not 0 <= edit.start <= edit.end <= len(code):
            msg = f"edit outside of the code: {edit.start}..{edit.end} of {len(code)}"
            raise ValueError(msg)
        parts += (code[cursor : edit.start], edit.text)
        cursor = edit.end
    return "".join((*parts, code[cursor:]))


def apply_fixes(submission: Submission, fixes: Sequence[Fix]) -> Submission:
    """Return the submission with the fixes applied and its line map carried over."""
    code = apply(submission.code, (edit for fix in fixes for edit in fix.edits))
    return Submission(
        sample=submission.sample,
        code=code,
        line_map=tuple(submission.sample_line(line) for line in old_lines(submission.code, code)),
        how=submission.how,
        notes=(*submission.notes, *(f"fixed: {fix.label}" for fix in fixes)),
    )


def old_lines(old: str, new: str) -> tuple[int, ...]:
    """Return, for each line of the new text, its line in the old text, or 0 for an inserted one.

    A changed line maps to the line that it replaced, so that findings in fixed code keep a place.
    """
    before, after = old.splitlines(), new.splitlines()
    lines = [0] * len(after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag in {"equal", "replace"}:
            for offset in range(j2 - j1):
                lines[j1 + offset] = i1 + 1 + min(offset, i2 - i1 - 1)
    return tuple(lines)


def unified_diff(old: str, new: str, name: str = "submission.py") -> str:
    """Return a unified diff with three lines of context."""
    return "\n".join(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", lineterm="", n=3
        )
    )
