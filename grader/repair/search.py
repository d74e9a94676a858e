"""The search for a repair: the author's own code with as few changes as possible, each attempt fully evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from grader.diagnose import Examiner, Program
from grader.languages import compiles_when_launched
from grader.records import RIGHT_VALUES, Fix, Repair
from grader.repair.candidates import Screen, guess
from grader.repair.candidates.rounds import FIRST, SECONDS
from grader.repair.choices import cause_of, choices_of_fixes, has_fixes
from grader.repair.locate import VAGUE
from grader.repair.said import how_far
from grader.repair.smallest import repair_of, take_back_needless
from grader.repair.trials import Chosen, Trials, leads_around, only_hides
from grader.repair.wrong import cancels, doubtful, is_narrow, matters, needs_fix, waits
from grader.source import parse

GUESSED = 2
"""Small changes that are evaluated in earnest, of those that held in the screening."""
ASIDE = 20.0
"""Seconds that small changes of the program as it came may take, where fixes led nowhere."""


class Searched(NamedTuple):
    """The result of a search."""

    repair: Repair | None = None
    note: str = ""
    """How far it got, where there is no repair."""
    in_vain: frozenset[Fix] = frozenset()
    """Fixes of findings that made nothing better, and are no part of the repair."""


def find_repair(
    states: tuple[Program, ...], examiner: Examiner, tries: int, screen: Screen | None = None
) -> Searched:
    """Search from the deepest state for a right program.

    The findings' own fixes come first; if they don't suffice, small changes are tried on `screen`.
    """
    trials = Trials(examiner, tries)
    best = _Search(states[-1], trials, screen).best()
    vain = frozenset(trials.in_vain.difference(fix for _, fix in best.fixes))
    if needs_fix(best):
        return Searched(None, how_far(states[0], best, trials.used, trials.small), vain)
    return Searched(repair_of(states[0].submission, best) if best.fixes else None, "", vain)


@dataclass
class _Search:
    start: Program
    trials: Trials
    screen: Screen | None
    together: bool = field(default=False, init=False)
    """Whether several changes were made at once, some of which may be unnecessary."""

    def best(self) -> Program:
        """Return the right program that the search finds, else the nearest one."""
        best = self.start
        while needs_fix(best):
            better = self._next(best)
            if better is None:
                return best
            nearer = any(finding.rule in VAGUE for finding, _ in best.fixes)
            self.together |= nearer or doubtful(better.fixes[len(best.fixes) :])
            best = better
        best = self._general(best)
        return take_back_needless(self.start, best, self.trials) if self.together else best

    def _next(self, program: Program) -> Program | None:
        """Return a program that is nearer to a right one; None where no step improves it."""
        better = self._by_findings(program) or self._by_two_findings(program)
        better = None if better is not None and leads_around(program, better) else better
        if better is None or not (better.passes or has_fixes(better)):
            better = self._by_small_change(better or program) or better
        if better is None or not better.passes:
            other = self._by_findings(program, merely_possible=True)
            better = other if other is not None and other.passes else better
        return better or self._afresh()

    def _by_findings(self, program: Program, *, merely_possible: bool = False) -> Program | None:
        """Return the first right program, or the one that came nearest; several fixes at once where no single one helps."""
        best: Program | None = None
        for at, chosen in enumerate(choices_of_fixes(program, merely_possible=merely_possible)):
            combined = at > 0 and len(chosen) > 1
            if (combined and best is not None) or not self.trials.afford(program, chosen):
                break
            tried = self.trials.make(program, chosen)
            if tried is not None and tried.passes and not leads_around(program, tried):
                return tried
            if tried is not None and tried.rank > (best or program).rank:
                best = best if only_hides(chosen, tried) else tried
        return best

    def _by_two_findings(self, program: Program) -> Program | None:
        """Return the program that is right after two fixes, the first of which alone is no improvement.

        A cause that a run proved may stand before another: a loop that ends too early, before reads without a guard.
        """
        alone = (c for c in choices_of_fixes(program) if len(c) == 1 and c[0][0].confidence == "proven")  # fmt: skip
        for tried in self.trials.make_each(program, alone):
            better = self._by_findings(tried) if _exposed_rules(program, tried) else None
            if better is not None and better.passes:
                return better
        return None

    def _afresh(self) -> Program | None:
        """Return the program that the search began with, right after a small change: fixes that come nearer may lead astray."""
        found = self._by_small_change(self.start, ASIDE)
        return found if found is not None and found.passes else None

    def _by_small_change(self, program: Program, seconds: float = SECONDS) -> Program | None:
        """Return the program after a small change that makes it right, or comes nearer to it.

        `seconds` are what the search may take on an idle machine.
        """
        if self.screen is None or not self._may_be_guessed(program):
            return None
        self.trials.searched.add(program.submission.key)
        guesses = guess(program, self.screen, seconds)
        self.trials.small += guesses.tried
        best: Program | None = None
        for fix in guesses.fixes[:GUESSED]:
            chosen = ((cause_of(program), fix),)
            # a candidate that passed the screening is always evaluated
            if not self.trials.afford(program, chosen) and not guesses.decides:
                break
            tried = self.trials.make(program, chosen)
            if tried is not None and tried.passes and not leads_around(program, tried):
                return tried
            if tried is not None and tried.rank > (best or program).rank:
                best = tried
        return best

    def _may_be_guessed(self, program: Program) -> bool:
        """Whether small changes may help a program and were not tried on it; a screening only compares values."""
        build = program.evaluation.build
        if build is None or program.status in RIGHT_VALUES or waits(program):
            return False
        compiles = build.status == "built" or compiles_when_launched(parse(program.submission.code))
        return compiles and program.submission.key not in self.trials.searched

    def _general(self, program: Program) -> Program:
        """Return a right program made right at the other sizes as well, where a small change does that."""
        if is_narrow(program):
            for tried in self.trials.make_each(program, self._for_other_sizes(program)):
                if tried.passes and tried.evaluation.verdict.general:
                    return tried
        return program

    def _for_other_sizes(self, program: Program) -> Iterator[Chosen]:
        """Yield the fixes of a program that is right only where it decides, then small changes."""
        asked = (one for one in program.findings if one.fixes and matters(program, one))
        yield from (((one, one.fixes[0]),) for one in islice(asked, GUESSED))
        if self.screen is not None and not cancels(program):
            guesses = guess(program, self.screen, most=FIRST)
            yield from (((cause_of(program), fix),) for fix in guesses.fixes[:GUESSED] if guesses.right)  # fmt: skip


def _exposed_rules(before: Program, after: Program) -> set[str]:
    """Return the rules of proven errors with a fix that show after a change alone."""
    errors = (one for one in after.findings if one.severity == "error" and one.fixes)
    proven = {one.rule for one in errors if one.confidence == "proven"}
    return proven - {one.rule for one in before.findings}
