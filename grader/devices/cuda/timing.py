"""Timing of a program on a GPU, by a clock that it can't reach; see docs/timing.md."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from math import prod
from secrets import SystemRandom

import numpy as np

from grader.devices.cuda.timing_checks import Checks, Doubt
from grader.devices.cuda.timing_series import Series, narrow
from grader.devices.cuda.timing_worker import UNSEEN, Batch, TimingWorker, WorkerGoneError
from grader.guest.kinds import SEED_STEP
from grader.judge.inputs import numpy_dtype, plain
from grader.records import (
    JsonValue,
    Task,
    TensorSpec,
    Workload,
)

BATCH_SECONDS = 0.03
"""Least seconds of a batch, where memory allows; a request takes 0.1 ms."""
MOST_CALLS = 512
MEMORY_SHARE = 0.4
"""Share of the GPU's memory for each of the two guests."""
LEAST_ROUNDS, MOST_ROUNDS = 7, 200
CHECKED = 1 << 16
"""Elements compared after each round, in all of its calls."""
CHECKED_FIRST = 1 << 23
"""Elements compared before anything is timed."""
DRIFT = 0.05
"""Relative change of the clock over the rounds above which they are repeated."""
BLOCK = 64
MOST_BLOCKS = 4096
HIDDEN = 0.5
"""Share of its time that a program may spend outside the timed bracket before that is dishonest."""
NOISE = 0.01
"""Seconds by which times outside the bracket may differ by chance."""


def arguments(workload: Workload) -> list[JsonValue]:
    """Return the description of the inputs for a guest."""
    return [
        ["made", item.model_dump(mode="json")]
        if isinstance(item, TensorSpec)
        else ["value", plain(item)]
        for item in workload.inputs
    ]


def input_bytes(workload: Workload) -> int:
    """Return the bytes of the workload's input tensors."""
    specs = [item for item in workload.inputs if isinstance(item, TensorSpec)]
    return sum(prod(spec.shape) * numpy_dtype(spec.dtype).itemsize for spec in specs)


def output_bytes(batch: Batch) -> int:
    """Return the bytes of all outputs of one call."""
    return sum(
        prod(shape) * array.itemsize
        for shape, array in zip(batch.shapes, batch.outputs, strict=False)
    )


def wanted_elements(random: SystemRandom, calls: int, elements: int) -> dict[str, JsonValue]:
    """Return the elements to fetch: all of a small output, else random blocks.

    First and last block are always included, since tails go wrong there.
    """
    each = max(elements // calls, 4 * BLOCK)
    block = max(BLOCK, each // MOST_BLOCKS)
    parts = [0.0, 1.0, *(random.random() for _ in range(each // block - 2))]
    return {"most": each, "block": block, "parts": [round(part, 12) for part in parts]}


class Match:
    """Candidate against reference on one workload, in alternating rounds."""

    def __init__(
        self,
        task: Task,
        workload: Workload,
        memory: int,
        draw: Callable[[int], int],
        clock: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._checks = Checks(task, workload)
        self._workload = workload
        self._memory = memory
        self._draw = draw
        self._clock = clock
        self._random = SystemRandom()
        self.calls = 1
        self.moved = 0
        """Least bytes that one call must move."""
        self.clocks: list[int | None] = []
        """The multiprocessors' clock after each round, in MHz."""

    def first(self, candidate: TimingWorker, reference: TimingWorker) -> Doubt | None:
        """Run one call on each, and choose the number of calls in a batch; return the difference."""
        for worker in (candidate, reference):
            worker.prepare(arguments(self._workload), 1)
        # The first call loads modules and tunes; the second is compared.
        for turn, want in enumerate((UNSEEN, wanted_elements(self._random, 1, CHECKED_FIRST))):
            seed = self._draw(turn)
            ours, theirs = candidate.play(1, seed, want), reference.play(1, seed, want)
        given, made = input_bytes(self._workload), output_bytes(theirs)
        self.moved = given + made
        room = int(MEMORY_SHARE * self._memory / max(given + 3 * made, 1))
        enough = int(BATCH_SECONDS / max(min(ours.seconds, theirs.seconds), 1e-6)) + 1
        self.calls = max(1, min(room, enough, MOST_CALLS))
        mismatch = self._checks.against_eager(ours, theirs)
        return (
            None
            if mismatch is None
            else Doubt(seed, want, ours, theirs, mismatch, (self._draw(0),))
        )

    def _doubts(
        self, seed: int, want: Mapping[str, JsonValue], ours: Batch, theirs: Batch
    ) -> list[Doubt]:
        """Return the call of a batch that differs most from eager torch's, and one more that differs."""
        if self._checks.against_eager(ours, theirs) is None:
            return []
        found = []
        for call in range(self.calls):
            mine, eager = ours.of_call(call), theirs.of_call(call)
            mismatch = self._checks.against_eager(mine, eager)
            if mismatch is not None:
                found.append(Doubt(seed + SEED_STEP * call, want, mine, eager, mismatch))
        found.sort(key=lambda doubt: doubt.mismatch.fraction, reverse=True)
        return found[:1] + self._random.sample(found[1:], min(1, len(found[1:])))

    def play(
        self, workers: dict[str, TimingWorker], seconds: float
    ) -> tuple[dict[str, Series], list[Doubt]]:
        """Alternate until the intervals are narrow or the time is up.

        The first of the workers is checked against the second after each round: the reference computes a round's result
        only after the candidate has returned its own. Returns the series, and calls whose results differ, which are
        only suspicions and stop nothing.
        """
        series = {what: Series(what) for what in workers}
        doubts: list[Doubt] = []
        self.clocks.clear()
        for worker in workers.values():
            worker.prepare(arguments(self._workload), self.calls)
        overhead = min(list(workers.values())[1].overhead() for _ in range(5))
        end = time.monotonic() + seconds
        due = LEAST_ROUNDS  # the intervals are computed from time to time, since that takes the host's time
        for turn in range(MOST_ROUNDS + 1):
            seed, want = self._draw(100 + turn), wanted_elements(self._random, self.calls, CHECKED)
            batches = {what: p.play(self.calls, seed, want) for what, p in workers.items()}
            first, second = list(batches.values())[:2]
            doubts += self._doubts(seed, want, first, second)
            if turn == 0:
                continue  # the first batch fills the allocators' pools
            for what, batch in batches.items():
                series[what].add(batch, self.calls, overhead)
            self.clocks.append(self._clock())
            if time.monotonic() > end and turn >= LEAST_ROUNDS:
                break
            if turn == due:
                if narrow(series.values()):
                    break
                due += -(-due // 4)
        with contextlib.suppress(WorkerGoneError):  # explanations decide nothing
            self._explain(series, workers)
        return series, doubts

    def _explain(self, series: dict[str, Series], workers: dict[str, TimingWorker]) -> None:
        """Query each guest for the parts of its time, and the memory of a call."""
        for what, one in series.items():
            bracket = self.calls * float(np.median(one.seconds))
            one.peak = workers[what].cost(count=False).peak
            one.queued = workers[what].queued_seconds(self.calls, 1.5 * bracket)

    @property
    def unsteady(self) -> tuple[int, int] | None:
        """The GPU's lowest and highest clock over the rounds, in MHz, where they are far apart."""
        known = [clock for clock in self.clocks if clock]
        if not known or min(known) >= (1 - DRIFT) * max(known):
            return None
        return min(known), max(known)


def suspicions(ours: Series, theirs: Series, calls: int, floor: float) -> Sequence[str]:
    """Return reasons to doubt the candidate's times, each with both figures."""
    bracket = calls * float(np.median(ours.seconds))
    claimed = calls * float(np.median(ours.claimed))
    outside = float(np.median(np.array(ours.outside) - np.array(theirs.outside)))
    found = []
    if claimed < HIDDEN * bracket and bracket - claimed > NOISE:
        found.append(
            f"the events of its own stream say {1e3 * claimed:.3g} ms for a batch that took "
            f"{1e3 * bracket:.3g} ms by the host's clock: work is hidden from its stream"
        )
    if outside > HIDDEN * bracket and outside > NOISE:
        found.append(
            f"a batch took {1e3 * bracket:.3g} ms, and taking the inputs and handing over the results took "
            f"{1e3 * outside:.3g} ms longer than for the reference: work is done there"
        )
    mine, eager = float(np.median(ours.seconds)), float(np.median(theirs.seconds))
    if floor and mine < HIDDEN * floor <= eager:
        found.append(
            f"a call takes {1e3 * mine:.3g} ms, and moving its inputs and outputs once takes "
            f"{1e3 * floor:.3g} ms: it can't have read and written them"
        )
    return found
