"""Minimises a repair: combined changes are reverted as long as the program stays right."""

from __future__ import annotations

import difflib
from dataclasses import replace

from grader.diagnose import Program
from grader.records import Fix, Repair, Submission
from grader.repair.trials import Trials
from grader.source import edits

REVERTED = 4
"""Stretches of a repair that are taken back on trial at most."""
Stretch = tuple[int, int, int, int]
"""First and last line in the old text, and in the new one."""


def take_back_needless(first: Program, right: Program, trials: Trials) -> Program:
    """Return a right program without unnecessary changed stretches of lines.

    `first` is the search's starting state, whose own fixes are necessary.
    """
    current = right
    for stretch in reversed(_changes(first.submission.code, right.submission.code)[-REVERTED:]):
        tried = trials.examine(_without(first.submission, current.submission, stretch))
        if tried is None:
            break
        general = right.evaluation.verdict.general
        if tried.passes and tried.evaluation.verdict.general == general:
            current = replace(tried, fixes=current.fixes)
    return current


def _changes(old: str, new: str) -> list[Stretch]:
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def _without(first: Submission, current: Submission, stretch: Stretch) -> Submission:
    """Return the current text with the stretch reverted; later stretches were handled before."""
    old, new = first.code.splitlines(), current.code.splitlines()
    old_start, old_end, new_start, new_end = stretch
    code = "\n".join((*new[:new_start], *old[old_start:old_end], *new[new_end:])) + "\n"
    lines = tuple(first.sample_line(line) for line in edits.old_lines(first.code, code))
    return current.model_copy(update={"code": code, "line_map": lines})


def repair_of(submission: Submission, right: Program) -> Repair:
    """Return a right program as the repair of a submission."""
    text = right.submission.code
    kept = ((finding, fix) for finding, fix in right.fixes if _is_kept(fix, text))
    return Repair(
        kind="fix",
        title="the submission, fixed",
        code=text,
        diff=edits.unified_diff(submission.code, text),
        settles=tuple((finding.rule, fix.label) for finding, fix in kept),
        evaluation=right.evaluation,
    )


def _is_kept(fix: Fix, text: str) -> bool:
    """Whether the fix is still in the text after minimisation."""
    inserted = [edit.text.strip() for edit in fix.edits if edit.text.strip()]
    return not inserted or any(piece in text for piece in inserted)
