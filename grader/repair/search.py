"""The search for a repair: the author's own code, changed as little as makes it right, each try evaluated for real."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product

from grader.diagnose import Examiner, Program, try_fixes
from grader.languages import compiles_when_launched
from grader.records import RIGHT_VALUES, Finding, Fix, Repair, Submission
from grader.repair.candidates import Screen, guess
from grader.repair.candidates.rounds import SECONDS
from grader.repair.said import how_far
from grader.repair.wrong import cancels, doubtful, is_narrow, matters, needs_fix, waits
from grader.source import edits, parse

Chosen = tuple[tuple[Finding, Fix], ...]
SEVERITIES = {"error": 0, "warning": 1, "note": 2}
REVERTED = 4
"""Stretches of a repair that are taken back on trial at most."""
GUESSED = 2
"""Small changes that are evaluated in earnest, of those that held in the screening."""

GENERAL = 15.0
"""Seconds of the search for what makes a fixed program right at other sizes as well."""
ASIDE = 20.0
"""The same for small changes after fixes that change nothing alone."""


@dataclass
class Budget:
    """How many evaluations the search may still ask for, and what came of those it had."""

    left: int
    used: int = 0
    small: int = 0
    """How many small changes were tried beside them."""
    searched: set[str] = field(default_factory=set)
    """Keys of the programs that small changes were tried on: another search would find the same."""
    paid: set[tuple[str, tuple[Fix, ...]]] = field(default_factory=set)
    """Programs, and what was changed of them together: another step of the search asks for the same for nothing."""

    def take(self) -> bool:
        """Use one; False when none is left."""
        if self.left <= 0:
            return False
        self.left -= 1
        self.used += 1
        return True

    def affords(self, program: Program, chosen: Chosen) -> bool:
        """Whether a program with these changes may be evaluated; uses one where it was not before."""
        asked = program.submission.key, tuple(fix for _, fix in chosen)
        if asked not in self.paid and not self.take():
            return False
        self.paid.add(asked)
        return True


def find_repair(
    states: tuple[Program, ...],
    examiner: Examiner,
    tries: int,
    screen: Screen | None = None,
) -> tuple[Repair | None, str]:
    """Search from the deepest state for a right program; return it, or None, and how far the search got.

    The findings' own fixes come first; where they don't suffice, small changes are tried on `screen`.
    """
    budget = Budget(tries)
    best = states[-1]
    together = False
    while needs_fix(best):
        better = _improve(best, examiner, budget)
        if better is None:
            better = _behind(best, examiner, budget)
        if better is None or (better.status != "correct" and not _fixable(better)):
            better = _try_small_changes(better or best, examiner, budget, screen) or better
        if better is None:
            aside = _aside(best, examiner, budget)
            better = _try_small_changes(aside, examiner, budget, screen, ASIDE) if aside else None
        better = better or _afresh(states[-1], examiner, budget, screen)
        if better is None:
            return None, how_far(states[0], best, budget.used, budget.small)
        together = together or doubtful(better.fixes[len(best.fixes) :])
        best = better
    best = _generalise(best, examiner, budget, screen)
    if not best.fixes:
        return None, ""
    if together:  # a change that came alone has made the program better by itself
        best = _smallest(states[-1], best, examiner, budget)
    return _repair(states[0].submission, best), ""


def _generalise(
    program: Program, examiner: Examiner, budget: Budget, screen: Screen | None
) -> Program:
    """Return a right program made right at the other sizes as well, where a small change does that."""
    if not is_narrow(program):
        return program
    for one in _for_other_sizes(program, screen):
        if not budget.affords(program, (one,)):
            break
        tried = try_fixes(program, (one,), examiner)
        if tried is not None and tried.status == "correct" and tried.evaluation.verdict.general:
            return tried
    return program


def _for_other_sizes(program: Program, screen: Screen | None) -> Iterator[tuple[Finding, Fix]]:
    """Yield what the findings of a program ask for that is right where it decides alone, then small changes."""
    asked = (one for one in program.findings if one.fixes and matters(program, one))
    yield from ((one, one.fixes[0]) for one in islice(asked, GUESSED))
    if screen is None or cancels(program):
        return
    guesses = guess(program, screen, GENERAL)
    yield from ((_cause(program), fix) for fix in guesses.fixes[:GUESSED] if guesses.right)


def _fixable(program: Program) -> bool:
    return next(_candidates(program), None) is not None


def _try_small_changes(
    program: Program,
    examiner: Examiner,
    budget: Budget,
    screen: Screen | None,
    seconds: float = SECONDS,
) -> Program | None:
    """Return the program after a small change that makes it right, or comes nearer to it.

    `seconds` are what the search may take on an idle machine.
    """
    build = program.evaluation.build
    if screen is None or build is None:
        return None
    if build.status != "built" and not compiles_when_launched(parse(program.submission.code)):
        return None  # what no compiler takes holds no candidates either
    if program.status in RIGHT_VALUES:  # a screening looks at values alone
        return None
    if waits(program) or program.submission.key in budget.searched:
        return None
    budget.searched.add(program.submission.key)
    guesses = guess(program, screen, seconds)
    budget.small += guesses.tried
    best: Program | None = None
    for fix in guesses.fixes[:GUESSED]:
        chosen = ((_cause(program), fix),)
        # what held in the screening is always evaluated
        if not budget.affords(program, chosen) and not guesses.decides:
            break
        tried = try_fixes(program, chosen, examiner)
        if tried is not None and tried.rank > (best or program).rank:
            best = tried
        if tried is not None and tried.status == "correct":
            break
    return best


def _afresh(
    first: Program, examiner: Examiner, budget: Budget, screen: Screen | None
) -> Program | None:
    """Return the program that the search began with, right after a small change: fixes that come nearer may lead astray."""
    found = _try_small_changes(first, examiner, budget, screen, ASIDE)
    return found if found is not None and found.status == "correct" else None


def _only_on(workloads: Collection[str], finding: Finding) -> bool:
    seen = {item.workload for item in finding.evidence if item.workload}
    return bool(seen) and seen <= set(workloads)


def _cause(program: Program) -> Finding:
    """Return the finding that a change without a rule of its own settles: the gravest without a fix.

    One that shows only where nothing is decided is not what makes a program wrong.
    """
    beside = {one.workload for one in program.evaluation.comparisons if not one.decides}
    ordered = sorted(
        (one for one in program.findings if not _only_on(beside, one)),
        key=lambda item: (SEVERITIES[item.severity], bool(item.fixes), item.confidence != "proven"),
    )
    if ordered and ordered[0].severity == "error":
        return ordered[0]
    verdict = program.evaluation.verdict
    return Finding(
        rule="NUM001",
        name="computes-something-else",
        severity="error",
        confidence="proven",
        message=verdict.sentence,
    )


def _improve(program: Program, examiner: Examiner, budget: Budget) -> Program | None:
    """Return the first right program, or the one that came nearest; several fixes at once where no single one helps."""
    best: Program | None = None
    for number, chosen in enumerate(_candidates(program)):
        if number and len(chosen) > 1 and best is not None:
            break
        if not budget.affords(program, chosen):
            break
        tried = try_fixes(program, chosen, examiner)
        if tried is None:
            continue
        if tried.status == "correct":
            return tried
        if tried.rank > (best or program).rank:
            best = tried
    return best


def _behind(program: Program, examiner: Examiner, budget: Budget) -> Program | None:
    """Return the program right after two fixes, of which the first alone makes nothing better.

    A cause that a run proved may stand before another: a loop that ends too early, before reads without a guard.
    """
    for chosen in _candidates(program):
        alone = len(chosen) == 1 and chosen[0][0].confidence == "proven"
        if not alone or not budget.affords(program, chosen):
            continue
        tried = try_fixes(program, chosen, examiner)
        if tried is None or not _exposed_rules(program, tried):
            continue
        better = _improve(tried, examiner, budget)
        if better is not None and better.status == "correct":
            return better
    return None


def _exposed_rules(before: Program, after: Program) -> set[str]:
    """Return the rules of proven errors with a fix that show after a change alone."""
    errors = (one for one in after.findings if one.severity == "error" and one.fixes)
    proven = {one.rule for one in errors if one.confidence == "proven"}
    return proven - {one.rule for one in before.findings}


def _aside(program: Program, examiner: Examiner, budget: Budget) -> Program | None:
    """Return the program after all that its errors ask for, where that makes it no worse: small changes may do the rest."""
    chosen = next(_candidates(program), ())
    errors = all(finding.severity == "error" for finding, _ in chosen)
    if not chosen or not errors or not budget.affords(program, chosen):
        return None
    tried = try_fixes(program, chosen, examiner)
    return tried if tried is not None and tried.rank[:2] >= program.rank[:2] else None


def _candidates(program: Program) -> Iterator[Chosen]:
    """Yield single fixes, then one of each finding together, then pairs; the likeliest first."""
    done = {fix for _, fix in program.fixes}
    ordered = sorted(
        (item for item in program.findings if item.fixes and matters(program, item)),
        key=lambda item: (SEVERITIES[item.severity], item.confidence != "proven"),
    )
    findings = [item for item in ordered if item.severity == "error"] or ordered
    options = [[(item, fix) for fix in item.fixes if fix not in done] for item in findings]
    options = [choices for choices in options if choices]
    everything = _once(tuple(choices[0] for choices in options))
    if len(everything) > 1:
        yield everything
    yield from ((choice,) for choices in options for choice in choices)
    if len(options) > 1:
        yield from (picked for picked in map(_once, product(*options)) if picked != everything)
    if len(options) > 2:
        for first, second in combinations(options, 2):
            yield from product(first, second)


def _once(chosen: Chosen) -> Chosen:
    """Leave out what another finding proposes as well."""
    return tuple(
        item for at, item in enumerate(chosen) if item[1] not in [f for _, f in chosen[:at]]
    )


def _smallest(first: Program, right: Program, examiner: Examiner, budget: Budget) -> Program:
    """Take back each stretch of lines that the search changed, as long as the program stays right.

    `first` is where the search began: what had to be fixed to come that far is needed.
    """
    current = right
    stretches = _changes(first.submission.code, right.submission.code)
    for stretch in reversed(stretches[-REVERTED:]):
        if not budget.take():
            break
        reverted = _without(first.submission, current.submission, stretch)
        tried = examiner.examine(reverted)
        general = right.evaluation.verdict.general
        if tried.status == "correct" and tried.evaluation.verdict.general == general:
            current = replace(tried, fixes=current.fixes)
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
    settled = tuple(
        (finding.rule, fix.label) for finding, fix in right.fixes if _is_kept(fix, text)
    )
    return Repair(
        kind="fix",
        title="the submission, fixed",
        code=text,
        diff=edits.unified_diff(submission.code, text),
        settles=settled,
        evaluation=right.evaluation,
    )


def _is_kept(fix: Fix, text: str) -> bool:
    """Whether the fix is still in the text after what wasn't needed was taken back."""
    inserted = [edit.text.strip() for edit in fix.edits if edit.text.strip()]
    return not inserted or any(piece in text for piece in inserted)
