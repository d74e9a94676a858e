"""The search among small changes for those that make the program right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.diagnose import Program
from grader.languages import names_in
from grader.records import Build, Evaluation, Fix, Submission, Workload
from grader.repair.candidates import triton
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.order import candidates
from grader.repair.candidates.screen import Allowance, Call, Outcome, Screen
from grader.repair.candidates.weave import candidates_named, weave
from grader.sandbox.limits import crowding
from grader.source import parse

FIRST = 120
"""Candidates in the first program: what was meant is among them more often than not."""
MOST = 280
"""Candidates in the second one; those beyond are too unlikely to be tried."""
ROUND = 40
"""Candidates that are run before the best of them are looked at."""
FEW = 6
"""Candidates up to which all other workloads are run in one go."""
BUILDS = 3
"""Builds of a woven program: what doesn't compile is left out of the next."""
FAR = 40
"""Lines from an error's in which the candidates are looked for that it is about."""
PATIENCE = 5.0
"""Factor on the usual time limit of a candidate that was right once, since wrong programs that stop early are quick."""
CONFIRMING = 10.0
"""Wall time on an idle machine that one which was right on the first workload has beyond that, for the others."""
SECONDS = 30.0
"""Wall time that a search may take on an idle machine, where nobody says another."""


@dataclass(frozen=True)
class Guesses:
    """The result of a search."""

    fixes: tuple[Fix, ...] = ()
    """Changes that are right on every workload that was tried, or else come nearer; the likeliest first."""
    right: bool = False
    """Whether the fixes were right everywhere."""
    decides: bool = False
    """Whether they were right on what decides, the task's own sizes, at least."""
    tried: int = 0
    """Number of candidates run."""
    wrong: float = 1.0
    """Share of wrong elements that the best of them left of the first workload."""

    def and_then(self, other: Guesses) -> Guesses:
        """Return the candidates of both that reduce the error, if none is right."""
        near = other if other.wrong < self.wrong else self
        return replace(near, tried=self.tried + other.tried)


def guess(
    program: Program, screen: Screen, seconds: float = SECONDS, most: int = FIRST + MOST
) -> Guesses:
    """Try small changes of a built program's CUDA texts on the smallest wrong workload.

    No further round begins after `seconds` of wall time on an idle machine, without waiting for a GPU.
    """
    wrong = screen.suspects(program.evaluation)
    source = parse(program.submission.code)
    in_triton = names_in(source) == {"triton"}
    most = triton.MOST if in_triton else most
    seconds *= triton.LONGER if in_triton else 1.0
    every = candidates(source, program, wrong[0].name, most) if wrong else []
    allowance = Allowance(time.monotonic() + seconds * crowding())
    nearest = Guesses()
    for chosen in _batches(every):
        found = _in_one_build(program, screen, chosen, allowance)
        if found.decides:
            return found
        nearest = nearest.and_then(found)
        if allowance.spent:
            break
    return nearest


def _batches(every: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    batches = (every[:FIRST], every[FIRST:])
    yield from (batch for batch in batches if batch)


def _in_one_build(
    program: Program, screen: Screen, chosen: Sequence[Candidate], allowance: Allowance
) -> Guesses:
    numbered = dict(enumerate(chosen, start=1))
    woven, build, numbered = _build_woven(program.submission, numbered, screen)
    if woven is None or build is None:
        return Guesses()
    size = triton.ROUND if names_in(parse(program.submission.code)) == {"triton"} else ROUND
    return _Rounds(program.evaluation, screen, woven, build, numbered, allowance, size).play()


def _build_woven(
    submission: Submission, numbered: dict[int, Candidate], screen: Screen
) -> tuple[Submission | None, Build | None, dict[int, Candidate]]:
    for attempt in range(BUILDS):
        try:
            woven = weave(submission, numbered)
        except ValueError:
            break
        build = screen.build(woven)
        if build.status == "built":
            return woven, build, numbered
        bad = _refused_candidates(woven, build, numbered, by_number=attempt == 0)
        numbered = {n: candidate for n, candidate in numbered.items() if n not in bad}
        if not bad or not numbered:
            break
    return None, None, numbered


def _refused_candidates(
    woven: Submission, build: Build, numbered: Mapping[int, Candidate], *, by_number: bool
) -> set[int]:
    """Return the candidates that caused errors, by their numbers on each named line or the nearest lines with candidates.

    Of several that don't fit where one expression stands, a compiler names the first: the second time all of these go. Of a
    macro it names the first line, whatever stands in it.
    """
    there = {item.place.line for item in build.errors if item.place is not None}
    bad: set[int] = set()
    for line in there:
        rings = ({line - away, line + away} for away in range(FAR))
        named = ((ring, candidates_named(numbered, woven.code, ring)) for ring in rings)
        ring, found = next((one for one in named if one[1]), (set(), set()))
        bad |= found if by_number and ring == {line} else found | _beside(numbered, found)
    return bad


def _beside(numbered: Mapping[int, Candidate], named: set[int]) -> set[int]:
    """Return the candidates that change the same node as one of these."""
    changed = {(p.lines, p.span) for number in named for p in numbered[number].pieces}
    return {
        n for n, one in numbered.items() if any((p.lines, p.span) in changed for p in one.pieces)
    }


@dataclass
class _Rounds:
    evaluation: Evaluation
    screen: Screen
    woven: Submission
    build: Build
    numbered: Mapping[int, Candidate]
    allowance: Allowance
    """Once it is spent no further round begins."""
    size: int = ROUND
    """Candidates in one round."""

    def play(self) -> Guesses:
        """Run the candidates in rounds, until one holds on every workload.

        One that is right at the task's own sizes also ends the search, a round later.
        """
        suspects = self.screen.suspects(self.evaluation)
        seen: dict[int, Outcome] = {}
        kept: list[int] = []
        for numbers in _rounds(self.numbered, self.size):
            outcomes = self._on((suspects[0],), numbers)
            seen.update({number: outcome for (_, number), outcome in outcomes.items()})
            right = [n for n in numbers if n in seen and seen[n].right]
            deciding, everywhere = self._hold(right) if right else ([], [])
            if everywhere:
                fixes = self._fixes(everywhere)
                return Guesses(fixes, right=True, decides=True, tried=len(seen), wrong=0.0)
            if kept or self.allowance.spent:
                break
            kept = deciding
        if kept:
            return Guesses(self._fixes(kept), decides=True, tried=len(seen), wrong=0.0)
        return self._nearest(seen, suspects[0].name)

    def _on(
        self, workloads: Sequence[Workload], numbers: Sequence[int], patience: float = 1.0
    ) -> Mapping[Call, Outcome]:
        return self.screen.run(
            self.woven, self.build, workloads, numbers, self.evaluation, self.allowance, patience
        )

    def _hold(self, numbers: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the candidates that are right on the deciding workloads, and on all."""
        self.allowance.extend(CONFIRMING)
        first = self.screen.suspects(self.evaluation)[0]
        others = [w for w in self.screen.task.judged if w is not first]
        deciding = self._right_on([w for w in others if w.role != "general"], numbers)
        rest = [w for w in others if w.role == "general"]
        return deciding, self._right_on(rest, deciding)

    def _right_on(self, workloads: Sequence[Workload], numbers: Sequence[int]) -> list[int]:
        left = list(numbers)
        for some in _shares(sorted(workloads, key=self.screen.size), len(left)):
            outcomes = self._on(some, left, PATIENCE)
            right = {call for call, outcome in outcomes.items() if outcome.right}
            left = [n for n in left if all((one.name, n) in right for one in some)]
            if not left:
                break
        return left

    def _nearest(self, seen: Mapping[int, Outcome], workload: str) -> Guesses:
        """Return the changes that make fewer elements wrong, as steps towards a right program."""
        before = next(
            (
                c.mismatch.fraction
                for c in self.evaluation.comparisons
                if c.workload == workload and c.mismatch
            ),
            1.0,
        )
        better = sorted((o.wrong, n) for n, o in seen.items() if o.wrong < 0.98 * before)
        fixes = self._fixes([n for _, n in better[:2]])
        return Guesses(fixes, tried=len(seen), wrong=better[0][0] if better else 1.0)

    def _fixes(self, numbers: Sequence[int]) -> tuple[Fix, ...]:
        likeliest = sorted(numbers, key=lambda n: self.numbered[n].as_a_slip)
        fixes = (self.numbered[n].fix() for n in likeliest)
        return tuple(fix for fix in fixes if fix is not None)


def _shares(workloads: Sequence[Workload], count: int) -> Iterator[Sequence[Workload]]:
    """Yield all workloads at once for few candidates; for many, the smaller ones first, where most fail."""
    some = len(workloads) if count <= FEW else 1
    yield from (workloads[k : k + some] for k in range(0, len(workloads), max(some, 1)))


def _rounds(numbered: Mapping[int, Candidate], size: int) -> Iterator[list[int]]:
    """Yield the candidates by cost: a few first, among which one is usually right, then larger batches."""
    ordered = sorted(numbered, key=lambda n: numbered[n].cost)
    few = size // 3
    yield ordered[:few]
    for start in range(few, len(ordered), size):
        yield ordered[start : start + size]
