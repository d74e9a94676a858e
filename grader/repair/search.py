"""The mend: the author's own code, changed as little as makes it right, each try evaluated for real."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from grader.diagnose import Evaluate, Examine, Program, try_fixes
from grader.records import Evaluation, Finding, Fix, Repair, Submission
from grader.source import edits

Chosen = tuple[tuple[Finding, Fix], ...]
SEVERITIES = {"error": 0, "warning": 1, "note": 2}


@dataclass
class Budget:
    """How many evaluations the search may still ask for."""

    left: int
    used: int = 0

    def take(self) -> bool:
        """Use one; False when none is left."""
        if self.left <= 0:
            return False
        self.left -= 1
        self.used += 1
        return True


def mend(
    states: tuple[Program, ...], evaluate: Evaluate, examine: Examine, tries: int
) -> tuple[Repair | None, str]:
    """Search from the deepest state for a right program; return it, or None, and how far the search got."""
    budget = Budget(tries)
    best = states[-1]
    while best.status != "correct":
        better = _improve(best, evaluate, examine, budget)
        if better is None:
            return None, _how_far(best, budget)
        best = better
    final = _smallest(states[0], best, evaluate, examine, budget)
    return _repair(states[0].submission, final), ""


def _improve(
    program: Program, evaluate: Evaluate, examine: Examine, budget: Budget
) -> Program | None:
    best: Program | None = None
    for chosen in _candidates(program):
        if not budget.take():
            break
        tried = try_fixes(program, chosen, evaluate, examine)
        if tried is None:
            continue
        if tried.status == "correct":
            return tried
        if tried.rank > (best or program).rank:
            best = tried
    return best


def _candidates(program: Program) -> Iterator[Chosen]:
    """Yield single fixes, then one of each finding together, then pairs; the likeliest first."""
    done = {fix for _, fix in program.mends}
    ordered = sorted(
        (item for item in program.findings if item.fixes),
        key=lambda item: (SEVERITIES[item.severity], item.confidence != "proven"),
    )
    findings = [item for item in ordered if item.severity == "error"] or ordered
    options = [[(item, fix) for fix in item.fixes if fix not in done] for item in findings]
    options = [choices for choices in options if choices]
    if len(options) > 1:
        yield tuple(choices[0] for choices in options)
    yield from ((choice,) for choices in options for choice in choices)
    if len(options) > 1:
        everything = tuple(choices[0] for choices in options)
        yield from (picked for picked in product(*options) if picked != everything)
    if len(options) > 2:
        for first, second in combinations(options, 2):
            yield from product(first, second)


def _smallest(
    first: Program, right: Program, evaluate: Evaluate, examine: Examine, budget: Budget
) -> Program:
    """Take back each changed stretch of lines in turn, as long as the program stays right."""
    current = right
    if len(right.mends) < 2:
        return current
    for stretch in reversed(_changes(first.submission.code, right.submission.code)):
        if not budget.take():
            break
        reverted = _without(first.submission, current.submission, stretch)
        evaluation = evaluate(reverted)
        if evaluation.verdict.status == "correct":
            findings = examine(reverted, evaluation)
            current = Program(reverted, evaluation, findings, current.mends)
    return current


def _changes(old: str, new: str) -> list[tuple[int, int, int, int]]:
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def _without(
    first: Submission, current: Submission, stretch: tuple[int, int, int, int]
) -> Submission:
    """Return the current text with the stretch put back; later stretches were handled before it."""
    old, new = first.code.splitlines(), current.code.splitlines()
    old_start, old_end, new_start, new_end = stretch
    code = "\n".join((*new[:new_start], *old[old_start:old_end], *new[new_end:])) + "\n"
    lines = tuple(first.sample_line(line) for line in edits.old_lines(first.code, code))
    return current.model_copy(update={"code": code, "line_map": lines})


def _repair(submission: Submission, right: Program) -> Repair:
    text = right.submission.code
    settled = tuple((finding.rule, fix.label) for finding, fix in right.mends if _kept(fix, text))
    return Repair(
        kind="mend",
        title="the submission, mended",
        code=text,
        diff=edits.unified_diff(submission.code, text),
        settles=settled,
        evaluation=right.evaluation,
    )


def _kept(fix: Fix, text: str) -> bool:
    """Whether the fix is still in the text after what wasn't needed was taken back."""
    inserted = [edit.text.strip() for edit in fix.edits if edit.text.strip()]
    return not inserted or any(piece in text for piece in inserted)


def _how_far(best: Program, budget: Budget) -> str:
    tried = f"{budget.used} candidate change{'s' if budget.used != 1 else ''} tried"
    if not best.mends:
        return f"No change of this code was found that makes it right ({tried})."
    labels = "; ".join(fix.label for _, fix in best.mends)
    return f"Not mended ({tried}). Nearest: {labels}. After that it is {_state(best.evaluation)}."


def _state(evaluation: Evaluation) -> str:
    return f"{evaluation.verdict.status}: {evaluation.verdict.sentence}"
