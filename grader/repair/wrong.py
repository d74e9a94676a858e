"""Which programs need a fix, and which the search can't fix."""

from __future__ import annotations

import re

from grader.diagnose import Program
from grader.judge import proves_undefined
from grader.records import Comparison, Finding, Fix

HARMLESS = ("STY", "PRF")
"""Families whose findings are about speed and style: no fix of theirs makes a wrong program right."""
CANCELLATION = "NUM004"
"""Code of the rule on a variance computed as a difference of large numbers."""
LOST = 0.05
"""Largest relative error of the worst element that lost digits can explain."""
WAITS = re.compile(
    r"\bvolatile\b|\batomic\w*\s*\(|__threadfence|ld\.acquire|grid\.sync|this_grid|cuda::atomic"
)
"""Functions by which a block waits for another."""


def needs_fix(program: Program) -> bool:
    """Whether a program is wrong, or right by luck."""
    return program.goes_wrong


def asks_for_change(program: Program) -> bool:
    """Whether a program is wrong, or right only at the sizes that decide."""
    return needs_fix(program) or is_narrow(program)


def is_narrow(program: Program) -> bool:
    """Whether a program is right where it decides, and wrong at other sizes."""
    return program.status == "correct" and program.evaluation.verdict.general is False


def _lucky(finding: Finding) -> bool:
    """Whether it is right only by luck, with undefined behaviour in a run; a GPU may behave differently (in a race, say)."""
    return any(proves_undefined(item) for item in finding.evidence)


def doubtful(fixes: tuple[tuple[Finding, Fix], ...]) -> bool:
    """Whether one of several changes made at once may be unnecessary.

    Without one whose finding a run has shown, that would show again; but of several that write the same (a barrier),
    one often settles what the others are for.
    """
    alike = {tuple(edit.text.strip() for edit in fix.edits) for _, fix in fixes}
    shown = all(_is_shown_by_run(finding) for finding, _ in fixes)
    return len(fixes) > 1 and (not shown or len(alike) < len(fixes))


def _is_shown_by_run(finding: Finding) -> bool:
    """Whether it is an error of the kernel's that a run showed."""
    proven = finding.severity == "error" and finding.confidence == "proven"
    return proven and finding.rule.startswith(("SYN", "MEM", "RED", "IDX"))


def cancels(program: Program) -> bool:
    """Whether a formula that loses digits explains the error, which no small change fixes."""
    wrong = [one for one in program.evaluation.comparisons if one.decides and not one.equal]
    named = any(finding.rule == CANCELLATION for finding in program.findings)
    return named and all(one.half_precision or _loses_digits(one) for one in wrong)


def _loses_digits(one: Comparison) -> bool:
    """Whether only the first digit or two of the worst element are right, as after cancellation."""
    worst = one.mismatch
    if worst is None or worst.worst_value is None or worst.worst_reference is None:
        return False
    return abs(worst.worst_value - worst.worst_reference) <= LOST * abs(worst.worst_reference)


def waits(program: Program) -> bool:
    """Whether blocks wait for each other; removing such a wait may be right only in the simulator's order."""
    rules = {item.rule for item in program.findings}
    if program.status == "hung":
        return not rules & {"SYN003", "SYN004"}  # these only block threads of one block
    return "SYN006" in rules and WAITS.search(program.submission.code) is not None


def matters(program: Program, finding: Finding) -> bool:
    """Whether a finding's fix can change the verdict."""
    if program.status == "unsound":
        return _lucky(finding)
    return finding.severity != "note" and not finding.rule.startswith(HARMLESS)
