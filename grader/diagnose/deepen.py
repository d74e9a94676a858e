"""Layered diagnosis: a submission that fails early is mended as little as needed to see further."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from grader.diagnose.program import Evaluate, Examine, Program
from grader.records import Finding, Fix, Mend, Place
from grader.source import edits

MAX_MENDS = 6
EARLY = {"build_failed", "build_timeout", "crashed"}
EARLY_FAMILIES = ("EXT", "BLD", "API")


def deepen(first: Program, evaluate: Evaluate, examine: Examine) -> tuple[Program, ...]:
    """Return the states from the submission as it is to the deepest one that could be reached.

    Each step applies one fix of a finding that explains why the build (or the load) fails. The last state's
    runs show what the first failure hid.
    """
    states = [first]
    for _ in range(MAX_MENDS):
        step = next(_steps(states[-1], evaluate, examine), None)
        if step is None:
            break
        states.append(step)
    return tuple(states)


def _steps(program: Program, evaluate: Evaluate, examine: Examine) -> Iterator[Program]:
    if program.status not in EARLY:
        return
    for finding in early_findings(program):
        for fix in finding.fixes:
            if any(fix == done for _, done in program.mends):
                continue
            better = try_fixes(program, ((finding, fix),), evaluate, examine)
            if better is not None and _differs(program, better):
                yield better


def early_findings(program: Program) -> tuple[Finding, ...]:
    """Return the findings that may explain an early failure, the proven ones first."""
    candidates = [
        finding
        for finding in program.findings
        if finding.rule.startswith(EARLY_FAMILIES) and finding.fixes and finding.severity != "note"
    ]
    order = {"proven": 0, "likely": 1, "possible": 2}
    return tuple(sorted(candidates, key=lambda finding: order[finding.confidence]))


def try_fixes(
    program: Program, chosen: tuple[tuple[Finding, Fix], ...], evaluate: Evaluate, examine: Examine
) -> Program | None:
    """Apply the fixes and evaluate; None where they contradict each other or change nothing."""
    try:
        submission = edits.mended(program.submission, [fix for _, fix in chosen])
    except ValueError:
        return None
    if submission.code == program.submission.code:
        return None
    evaluation = evaluate(submission)
    if evaluation.verdict.status == "grader_error":
        return None
    return Program(
        submission, evaluation, examine(submission, evaluation), (*program.mends, *chosen)
    )


def _differs(before: Program, after: Program) -> bool:
    """Whether the mend moved the failure: a later stage, or another first error."""
    return after.rank[0] > before.rank[0] or _first_error(after) != _first_error(before)


def _first_error(program: Program) -> str:
    build = program.evaluation.build
    return build.errors[0].text if build and build.errors else program.status


def mends(states: tuple[Program, ...]) -> tuple[Mend, ...]:
    """Return what was changed between the states, each as a diff."""
    found = []
    for before, after in pairwise(states):
        finding, fix = after.mends[-1]
        found.append(
            Mend(
                label=fix.label,
                rule=finding.rule,
                diff=edits.unified_diff(before.submission.code, after.submission.code),
                status=after.evaluation.verdict.status,
            )
        )
    return tuple(found)


def gather(states: tuple[Program, ...]) -> tuple[Finding, ...]:
    """Return the findings of all states with places in the first one's lines.

    A finding of the first state that a later state proves takes over its evidence; one that only a later state shows
    says after which mends.
    """
    first = states[0]
    found = {_identity(finding): finding for finding in first.findings}
    for state in states[1:]:
        labels = tuple(fix.label for _, fix in state.mends)
        back = edits.old_lines(first.submission.code, state.submission.code)
        for finding in state.findings:
            moved = _moved(finding, back, first.submission.line_map)
            known = found.get(_identity(moved))
            if known is None:
                found[_identity(moved)] = moved.model_copy(
                    update={"after_mend": labels, "fixes": ()}
                )
            elif known.confidence != "proven" and moved.confidence == "proven":
                found[_identity(moved)] = known.model_copy(
                    update={
                        "confidence": "proven",
                        "evidence": (*known.evidence, *moved.evidence),
                        "message": moved.message,
                        "after_mend": labels,
                    }
                )
    return tuple(found.values())


def _identity(finding: Finding) -> tuple[str, int]:
    return finding.rule, finding.place.line if finding.place else 0


def _moved(finding: Finding, back: tuple[int, ...], line_map: tuple[int, ...]) -> Finding:
    if finding.place is None:
        return finding
    return finding.model_copy(update={"place": moved_place(finding.place, back, line_map)})


def moved_place(place: Place, back: tuple[int, ...], line_map: tuple[int, ...]) -> Place:
    """Return the place in the older text's lines; an inserted line becomes the last old one above it."""
    line = _older(place.line, back)
    end = max(line, _older(place.end_line, back))
    sample_line = line_map[line - 1] if 1 <= line <= len(line_map) else 0
    return place.model_copy(update={"line": line, "end_line": end, "sample_line": sample_line})


def _older(line: int, back: tuple[int, ...]) -> int:
    for number in range(min(line, len(back)), 0, -1):
        if back[number - 1]:
            return back[number - 1]
    return 1
