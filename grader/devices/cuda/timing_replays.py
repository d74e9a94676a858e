"""Replays of single calls, before a failure of a timed guest is charged.

A timed guest runs batches in our buffers and at our requests. A failure is charged to the program only where the same
call also fails in a plain guest (`grader.guest.plain_run`), by the verdict's tolerance against float64. A result that
is wrong in a batch but always right alone is dishonest, and only where it is far off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from secrets import SystemRandom

from grader.devices.cuda.errors import cuda_error
from grader.devices.cuda.timing import CHECKED_FIRST, arguments, wanted_elements
from grader.devices.cuda.timing_checks import CLEARLY, Checks, Doubt
from grader.devices.cuda.timing_worker import UNSEEN, Batch, TimingWorker, WorkerGoneError
from grader.devices.outcome import brief
from grader.devices.timed import Timed
from grader.records import Mismatch, Run, RunStatus

MOST = 8
"""Suspicious calls of batches that are examined: the worst of them, and some at random."""
REPLAYS = 6
"""Replays of a call alone before it counts as always right there."""
CALLS = 4
"""Calls on new inputs in which a failed program may fail again."""
SHOWN = frozenset({"raised", "crashed"})
"""Statuses of a guest whose program failed."""
PLAIN = "plain"
"""The name of the plain guest."""

Enter = Callable[[], AbstractContextManager[TimingWorker]]


@dataclass(frozen=True)
class Suspect:
    """A call that is wrong by the verdict's tolerance in a timed guest."""

    doubt: Doubt
    exact: Batch | None
    """The float64 result; None if unavailable, for lack of memory or operators."""
    mismatch: Mismatch


@dataclass(frozen=True)
class Replays:
    """Replays single calls of one program and of its reference."""

    checks: Checks
    plain: Enter
    """A guest with the program and without any instrumentation."""
    exact: Enter
    """A guest with the reference in float64."""

    def first_result(self, doubt: Doubt) -> Timed | None:
        """Return the outcome of the doubt about a program's first result; None where that is right."""
        suspect = next(iter(self._suspects([doubt])), None)
        if suspect is None:
            return None
        try:
            with self.plain() as worker:
                again = self._again(worker, suspect)
        except WorkerGoneError as error:
            return self._outcome_without_result(error)
        if again is None:
            return self._ours(f"its result was wrong there: {suspect.mismatch.text}")
        return self._wrong_replay(suspect, again)

    def batches(self, doubts: Sequence[Doubt]) -> Timed | None:
        """Return the outcome of doubts about timed batches; None where they are unfounded."""
        suspects = self._suspects(_some(doubts))
        if not suspects:
            return None
        try:
            with self.plain() as worker:
                found = (self._of_a_batch(worker, suspect) for suspect in suspects)
                return next(filter(None, found), None)
        except WorkerGoneError as error:
            return self._outcome_without_result(error)

    def failure(self, reference: TimingWorker, failed: Run) -> Timed:
        """Return the outcome of a failure in a timed guest: charged where a plain guest fails as well."""
        try:
            with self.plain() as worker:
                right = self._plainly_right(worker, reference)
        except WorkerGoneError as error:
            if error.who != PLAIN:
                raise
            return Timed(run=failed) if error.how in SHOWN else self._outcome_without_result(error)
        return (
            self._ours(f"there it {failed.status}: {failed.reason}") if right else Timed(run=failed)
        )

    def _plainly_right(self, worker: TimingWorker, reference: TimingWorker) -> bool:
        random = SystemRandom()
        for each in (worker, reference):
            each.prepare(arguments(self.checks.workload), 1)
        for _ in range(CALLS):
            seed, want = random.getrandbits(60), wanted_elements(random, 1, CHECKED_FIRST // CALLS)
            ours, theirs = worker.play(1, seed, want), reference.play(1, seed, want)
            mismatch = self.checks.against_eager(ours, theirs)
            if mismatch and self._suspects([Doubt(seed, want, ours, theirs, mismatch)]):
                return False
        return True

    def _suspects(self, doubts: Sequence[Doubt]) -> list[Suspect]:
        """Return the doubts confirmed by the verdict's tolerance, with the float64 results."""
        found = []
        for doubt, exact in zip(doubts, self._exactly(doubts), strict=True):
            mismatch = self._mismatch(doubt, doubt.ours, exact)
            found += [Suspect(doubt, exact, mismatch)] if mismatch else []
        return found

    def _exactly(self, doubts: Sequence[Doubt]) -> list[Batch | None]:
        """Return the float64 results of these calls; None if there is none of the same shapes."""
        found: list[Batch | None] = []
        with contextlib.suppress(WorkerGoneError), self.exact() as worker:
            for doubt in doubts:
                found.append(self._replay(worker, doubt))
        same = [
            e if e and e.shapes == d.theirs.shapes else None
            for d, e in zip(doubts, found, strict=False)
        ]
        return same + [None] * (len(doubts) - len(same))

    def _replay(self, worker: TimingWorker, doubt: Doubt) -> Batch:
        worker.prepare(arguments(self.checks.workload), 1)
        for seed in doubt.before:
            worker.play(1, seed, UNSEEN)
        return worker.play(1, doubt.seed, doubt.want)

    def _mismatch(
        self, doubt: Doubt, ours: Batch, exact: Batch | None, times: float = 1.0
    ) -> Mismatch | None:
        if exact is None:
            return self.checks.against_eager(ours, doubt.theirs, times)
        return self.checks.against_exact(ours, doubt.theirs, exact, times)

    def _again(self, worker: TimingWorker, suspect: Suspect) -> Mismatch | None:
        """Run the call alone in a plain guest; return the mismatch of its result."""
        doubt = suspect.doubt
        return self._mismatch(doubt, self._replay(worker, doubt), suspect.exact)

    def _of_a_batch(self, worker: TimingWorker, suspect: Suspect) -> Timed | None:
        doubt = suspect.doubt
        clear = self._mismatch(doubt, doubt.ours, suspect.exact, CLEARLY)
        replays = (self._again(worker, suspect) for _ in range(REPLAYS if clear else 1))
        wrong = next(filter(None, replays), None)
        if wrong is not None:
            return self._wrong_replay(suspect, wrong)
        if clear is None:
            return None
        name = self.checks.workload.name
        text = (
            f"on {name}, wrong in a timed batch and right {REPLAYS} times out of {REPLAYS} when the same "
            f"call is made alone: {clear.text}"
        )
        return Timed(dishonest=(text,))

    def _wrong_replay(self, suspect: Suspect, mismatch: Mismatch) -> Timed:
        ran = Run(workload=self.checks.workload.name, device="cuda", status="ran")
        return Timed(run=ran, comparison=self.checks.comparison(suspect.doubt, mismatch))

    def _outcome_without_result(self, error: WorkerGoneError) -> Timed:
        """Return the outcome for a plain guest without a result."""
        if error.how not in SHOWN:
            why = error.how.replace("_", " ")
            return self._ours(f"it could not be measured again without the clock: {why}: {error}")
        return Timed(run=failed_run(self.checks.workload.name, error))

    def _ours(self, what: str) -> Timed:
        """Return the grader's own failure: a plain script doesn't show this behaviour."""
        name = self.checks.workload.name
        reason = f"on {name} only the timed guest went wrong; a plain guest did not: {what}"
        run = Run(workload=name, device="cuda", status="grader_error", reason=brief(reason)[:2000])
        return Timed(run=run)


def failed_run(name: str, error: WorkerGoneError) -> Run:
    """Return the run of a guest in which the program failed."""
    status: RunStatus = "raised" if error.how == "raised" else "crashed"
    reason = str(error)
    return Run(
        workload=name,
        device="cuda",
        status=status,
        reason=brief(reason),
        evidence=cuda_error(reason, name),
    )


def _some(doubts: Sequence[Doubt]) -> list[Doubt]:
    """Return the worst of the doubts, and some of the others."""
    worst, *others = sorted(doubts, key=lambda doubt: doubt.mismatch.fraction, reverse=True)
    return [worst, *SystemRandom().sample(others, min(MOST - 1, len(others)))]
