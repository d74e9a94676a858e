"""The timing session of one program on one GPU: its guest, those of its baselines, and the results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.cuda import peaks
from grader.devices.cuda.gpu import GpuFacts, clock, condition
from grader.devices.cuda.timing import Match, arguments, suspicions
from grader.devices.cuda.timing_checks import Checks, Doubt
from grader.devices.cuda.timing_replays import PLAIN, SHOWN, Replays, failed_run
from grader.devices.cuda.timing_series import Series, ratio
from grader.devices.cuda.timing_worker import Cost, TimingWorker, WorkerGoneError
from grader.devices.timed import Timed
from grader.judge import References
from grader.judge.inputs import generator
from grader.records import (
    Task,
    TensorSpec,
    Timing,
    Work,
    Workload,
    digest,
)
from grader.sandbox import GuestJob

if TYPE_CHECKING:
    from grader.devices.cuda.device import CudaDevice

BUDGET = 8.0
"""Seconds of alternating rounds for one pair."""
START = 240.0
"""Time limit of a guest in seconds, including compilation."""
OURS, EAGER = "submission", "eager"


@dataclass(frozen=True)
class TimingSession:
    """The inputs and state of one program's timing."""

    device: CudaDevice
    gpu: GpuFacts
    task: Task
    workload: Workload
    references: References
    state: Mapping[str, np.ndarray] | None
    """Weights loaded on both sides; None where each draws its own under one seed."""

    def time(self, job: GuestJob, *, measure: bool = True) -> Timed:
        """Time the program of a job; returns the reason where that is impossible.

        Without `measure` only its first result is compared with the reference's.
        """
        try:
            with self._worker(self._reference(), EAGER) as eager:
                timed = self._against(job, eager, measure=measure)
                wanted = timed.speedup is not None and self.device.options.torch_compile
                compiled = self._time_compiled(eager) if wanted else None
        except WorkerGoneError as error:
            return Timed(note=f"not timed: the reference at {self.workload.name}: {error}")
        return replace(timed, timings=(*timed.timings, *([compiled] if compiled else [])))

    def _against(self, job: GuestJob, eager: TimingWorker, *, measure: bool) -> Timed:
        match, replays = self._match(), self._replays(job)
        try:
            with self._worker(job, OURS) as ours:
                ours.ready()
                eager.ready()
                doubt = match.first(ours, eager)
                found = replays.first_result(doubt) if doubt else None
                if found is not None or not measure:
                    return found or Timed()
                series, doubts, seen = self._play_rounds(match, {OURS: ours, EAGER: eager}, BUDGET)
        except WorkerGoneError as error:
            if error.who == EAGER and error.how in SHOWN:
                raise
            return self._outcome_of_lost_worker(replays, eager, error)
        eager.prepare(arguments(self.workload), 1)  # free memory for a batch
        found = replays.batches(doubts) if doubts else None
        return found or self._outcome(match, series, seen, eager)

    def _replays(self, job: GuestJob) -> Replays:
        plain = replace(job, options={**job.options, "plain": True})
        return Replays(
            Checks(self.task, self.workload),
            plain=lambda: self._worker(plain, PLAIN),
            exact=lambda: self._worker(self._reference(double=True), "float64"),
        )

    def _play_rounds(
        self, match: Match, workers: dict[str, TimingWorker], seconds: float
    ) -> tuple[dict[str, Series], list[Doubt], str]:
        """Run the rounds, once more if the GPU's clock changed; also return a note on it."""
        series, doubts = match.play(workers, seconds)
        seen = condition(self.gpu, len(workers))
        if match.unsteady is None:
            return series, doubts, seen
        low, high = match.unsteady
        series, more = match.play(workers, seconds)
        again = "again" if match.unsteady else "no more"
        changed = f"its clock changed from {low} to {high} MHz, and {again} when measured again"
        return series, doubts + more, f"{condition(self.gpu, len(workers))}; {changed}"

    def _outcome_of_lost_worker(
        self, replays: Replays, eager: TimingWorker, error: WorkerGoneError
    ) -> Timed:
        """Return how it failed, if that is neither the grader's nor the other guest's fault."""
        if error.how in SHOWN:
            return replays.failure(eager, failed_run(self.workload.name, error))
        why = error.how.replace("_", " ")
        text = f"not timed: on {self.workload.name} beside eager torch: {why}: {error}"
        return Timed(note=text[:500])

    def _outcome(
        self, match: Match, series: dict[str, Series], seen: str, reference: TimingWorker
    ) -> Timed:
        ours, eager = series[OURS], series[EAGER]
        work = self._work(match, reference)
        calls = f"{len(ours.seconds)} batches of {match.calls} calls, no two on the same inputs"
        notes = {OURS: f"{calls}; {seen}", EAGER: calls}
        timings = [one.timing(self.workload.name, notes[one.what]) for one in series.values()]
        # Another algorithm may need fewer operations; bytes that were not moved were not used.
        found = suspicions(ours, eager, match.calls, work.bytes / work.bandwidth)
        return Timed(
            timings=(*timings, _floor(work)),
            dishonest=tuple(f"on {self.workload.name}, {text}" for text in found),
            speedup=ratio(ours, eager),
            work=work,
        )

    def _work(self, match: Match, reference: TimingWorker) -> Work:
        """Return the reference's work, and the GPU's peaks."""
        counted = Cost(0, 0, 0)
        with contextlib.suppress(WorkerGoneError):  # a model whose operations torch can't count
            reference.prepare(arguments(self.workload), 1)
            counted = reference.cost(count=True)
        return Work(
            workload=self.workload.name,
            bytes=match.moved,
            products=counted.products,
            others=counted.others,
            bandwidth=self._peak("copy"),
            rate=self._peak(self._dtype) if counted.products else None,
        )

    @property
    def _dtype(self) -> str:
        """Dtype of products: that of the first floating-point input."""
        specs = [item for item in self.workload.inputs if isinstance(item, TensorSpec)]
        kinds = [spec.dtype for spec in specs if "float" in spec.dtype]
        return kinds[0] if kinds else "float32"

    def _time_compiled(self, eager: TimingWorker) -> Timing | None:
        """Return torch.compile's time, measured in alternation with eager torch once for each task."""
        known = self.device.compiled
        key = f"{self.task.key} {self.gpu.uuid}"
        if key not in known:
            try:
                known[key] = self._compile(eager)
            except WorkerGoneError:
                known[key] = None
        return known[key]

    def _compile(self, eager: TimingWorker) -> Timing | None:
        match = self._match()
        with self._worker(self._reference(compiled=True), "compile") as compiled:
            if match.first(compiled, eager) is not None:
                return None
            series, doubts, _ = self._play_rounds(
                match, {"compile": compiled, EAGER: eager}, BUDGET
            )
        note = f"{ratio(series['compile'], series[EAGER])[0]:.3g} times as fast as eager"
        return None if doubts else series["compile"].timing(self.workload.name, note)

    def _peak(self, what: str) -> float:
        """Return this GPU's peak for a copy or a product, measured once in each grading."""
        known, key = self.device.peaks, f"{self.gpu.uuid} {what}"
        if key not in known:
            own = self._environment()
            known[key] = (
                peaks.bandwidth(self._worker, own)
                if what == "copy"
                else peaks.product_rate(self._worker, own, what)
            )
        return known[key]

    def _match(self) -> Match:
        def draw(turn: int) -> int:
            rng = generator(self.references.seed, self.task.name, "timing", nonce, turn)
            return int(rng.integers(1 << 61))

        nonce = digest("timing", self.workload.name)
        watched = partial(clock, self.gpu)
        return Match(self.task, self.workload, self.gpu.memory, draw, watched)

    def _reference(self, *, double: bool = False, compiled: bool = False) -> GuestJob:
        # Inductor queries the user's name, and a guest's user id has none.
        more = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "USER": "guest"} if compiled else {}
        return GuestJob(
            role="reference",
            code=self.task.reference,
            entry="Model",
            device="cuda",
            init=self.workload.init,
            seed=self.references.guest_seed,
            state=self.state,
            env={**self._environment(), **more},
            options={"compile": True} if compiled else {"count": True},
            double=double,
        )

    def _environment(self) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": self.gpu.uuid}

    @contextlib.contextmanager
    def _worker(self, job: GuestJob, who: str = "") -> Iterator[TimingWorker]:
        worker = TimingWorker(job, self.device.form, self.device.limits(START), who)
        try:
            yield worker
        finally:
            worker.close()


def _floor(work: Work) -> Timing:
    value = 1e3 * work.seconds
    moving, computing = work.bytes / work.bandwidth, work.seconds
    note = f"{work.bytes / 1e9:.3g} GB at the speed of a copy"
    if work.rate and computing > moving:
        note = f"{work.products / 1e12:.3g} TFLOP at the rate of a matrix product"
    return Timing(
        what="floor",
        workload=work.workload,
        median=value,
        low=value,
        high=value,
        iqr=0.0,
        samples=0,
        converged=True,
        note=f"{note}, measured in the same run",
    )
