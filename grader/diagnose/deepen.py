"""Layered diagnosis: a submission that fails early gets the fewest fixes needed to reach its later failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from grader.diagnose.program import STAGES, Examiner, Program
from grader.records import AppliedFix, Finding, Fix
from grader.source import edits, parse

MAX_FIXES = 6
EARLY = {"build_failed", "build_timeout", "crashed"}
EARLY_FAMILIES = ("EXT", "BLD", "API")


def deepen(first: Program, examiner: Examiner, has_time: Callable[[], bool]) -> tuple[Program, ...]:
    """Return the states from the original submission to the deepest one reached in time.

    Each step applies one fix of a finding that explains why the build (or the load) fails, or why results could not be
    compared. The last state's runs show what the first failure hid.
    """
    states = [first]
    for _ in range(MAX_FIXES):
        step = next(_steps(states[-1], examiner), None) if has_time() else None
        if step is None:
            break
        states.append(step)
    return tuple(states)


def _steps(program: Program, examiner: Examiner) -> Iterator[Program]:
    """Yield the program after a fix of each finding, those that reach a later stage first."""
    early = program.status in EARLY or program.stage == STAGES["build_failed"]
    for finding in early_findings(program) if early else _of_form(program):
        moved = []
        for better in _made_with(finding, program, examiner):
            if better.stage > program.stage:
                yield better
            elif _differs(program, better):
                moved.append(better)
        yield from moved


def _made_with(finding: Finding, program: Program, examiner: Examiner) -> Iterator[Program]:
    """Yield the program after each untried fix of a finding."""
    made = {fix for _, fix in program.fixes}
    tried = (try_fixes(program, ((finding, fix),), examiner) for fix in finding.fixes if fix not in made)  # fmt: skip
    yield from (one for one in tried if one is not None)


def early_findings(program: Program) -> tuple[Finding, ...]:
    """Return the findings that may explain an early failure, the proven ones first."""
    candidates = [
        finding
        for finding in program.findings
        if finding.rule.startswith(EARLY_FAMILIES) and finding.fixes and finding.severity != "note"
    ]
    order = {"proven": 0, "likely": 1, "possible": 2}
    return tuple(sorted(candidates, key=lambda finding: order[finding.confidence]))


def _of_form(program: Program) -> tuple[Finding, ...]:
    """Return the findings about results in a wrong form, whose values were not compared."""
    if program.status != "incorrect":
        return ()
    found = (one for one in early_findings(program) if one.confidence == "proven")
    return tuple(one for one in found if one.other_form)


def try_fixes(
    program: Program, chosen: tuple[tuple[Finding, Fix], ...], examiner: Examiner
) -> Program | None:
    """Apply the fixes and evaluate; None where they contradict each other, change nothing, or break the Python syntax."""
    try:
        submission = edits.apply_fixes(program.submission, [fix for _, fix in chosen])
    except ValueError:
        return None
    if submission.code == program.submission.code:
        return None
    if parse(submission.code).syntax_error and not parse(program.submission.code).syntax_error:
        return None
    tried = examiner.examine(submission)
    if tried.status == "grader_error":
        return None
    return replace(tried, fixes=(*program.fixes, *chosen))


def _differs(before: Program, after: Program) -> bool:
    """Whether the fix made progress: a later stage, fewer wrong results, another first error, or fewer errors."""
    if before.status == "incorrect":
        return after.rank[:2] > before.rank[:2]
    moved = _first_error(after) != _first_error(before)
    return after.rank[0] > before.rank[0] or moved or _errors(after) < _errors(before)


def _errors(program: Program) -> int:
    build = program.evaluation.build
    return len(build.errors) if build else 0


def _first_error(program: Program) -> str:
    build = program.evaluation.build
    crashed = program.status == "crashed"
    rest = program.evaluation.verdict.sentence if crashed else program.status
    return build.errors[0].text if build and build.errors else rest


def fixes(states: tuple[Program, ...]) -> tuple[AppliedFix, ...]:
    """Return the changes between the states, each as a diff."""
    found = []
    for before, after in pairwise(states):
        finding, fix = after.fixes[-1]
        found.append(
            AppliedFix(
                label=fix.label,
                rule=finding.rule,
                diff=edits.unified_diff(before.submission.code, after.submission.code),
                status=after.evaluation.verdict.status,
            )
        )
    return tuple(found)
