"""One program timed on one GPU: its guest, those of its baselines, and what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.cuda_error import cuda_error
from grader.devices.gpu import GpuFacts, condition
from grader.devices.outcome import brief
from grader.devices.timing import Match, Series, Timed, arguments, ratio, suspicions
from grader.devices.timing_player import Player, PlayerGoneError
from grader.judge import References
from grader.judge.inputs import generator
from grader.records import Run, RunStatus, Task, TensorSpec, Timing, Workload, digest
from grader.sandbox import GuestJob

if TYPE_CHECKING:
    from grader.devices.cuda import CudaDevice

BUDGET = 8.0
"""Seconds of alternating rounds for one pair."""
START = 240.0
"""Seconds that a guest may live, compiling included."""
COPIED = 1 << 28
"""float32 elements of the copy that bandwidth is measured by."""
_COPY = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.clone()
"""


@dataclass(frozen=True)
class Stand:
    """What the timing of one program hangs on."""

    device: CudaDevice
    gpu: GpuFacts
    task: Task
    workload: Workload
    references: References
    state: Mapping[str, np.ndarray]

    def time(self, job: GuestJob, *, measure: bool = True) -> Timed:
        """Time the program of a job; says why not where that can't be done.

        Without `measure` only its first result is held against the reference's.
        """
        try:
            with self._player(self._reference()) as eager:
                timed = self._against(job, eager, measure=measure)
                wanted = timed.speedup is not None and self.device.options.torch_compile
                compiled = self._compiled(eager) if wanted else None
        except PlayerGoneError as error:
            return Timed(note=f"not timed: the reference at {self.workload.name}: {error}")
        return replace(timed, timings=(*timed.timings, *([compiled] if compiled else [])))

    def _against(self, job: GuestJob, eager: Player, *, measure: bool) -> Timed:
        match = self._match()
        name = self.workload.name
        try:
            with self._player(job) as ours:
                wrong_at_first = match.first(ours, eager)
                if wrong_at_first is not None:
                    ran = Run(workload=name, device="cuda", status="ran")
                    return Timed(run=ran, comparison=wrong_at_first)
                if not measure:
                    return Timed()
                both = {"submission": ours, "eager": eager}
                series, wrong = match.play(both, BUDGET)
                seen = condition(self.gpu, len(both))
        except PlayerGoneError as error:
            return self._gone(error)
        if wrong:
            text = f"on {name}, right when it was tried and wrong in a timed batch: {wrong}"
            return Timed(dishonest=(text,))
        return self._outcome(match, series, seen)

    def _gone(self, error: PlayerGoneError) -> Timed:
        """Return how it failed, if that can't be the grader's doing, or the other guest's."""
        name = self.workload.name
        if error.how not in {"raised", "crashed"}:
            why = error.how.replace("_", " ")
            return Timed(note=f"not timed: on {name} beside eager torch: {why}: {error}"[:500])
        status: RunStatus = "raised" if error.how == "raised" else "crashed"
        reason = str(error)
        failed = Run(workload=name, device="cuda", status=status, reason=brief(reason))
        return Timed(run=failed.model_copy(update={"evidence": cuda_error(reason, name)}))

    def _outcome(self, match: Match, series: dict[str, Series], seen: str) -> Timed:
        ours, eager = series["submission"], series["eager"]
        floor = match.moved / self._bandwidth()
        calls = f"{len(ours.seconds)} batches of {match.calls} calls, no two on the same inputs"
        notes = {"submission": f"{calls}; {seen}", "eager": calls}
        timings = [one.timing(self.workload.name, notes[one.what]) for one in series.values()]
        timings.append(_floor(self.workload.name, floor, match.moved))
        found = suspicions(ours, eager, match.calls, floor)
        return Timed(
            timings=tuple(timings),
            dishonest=tuple(f"on {self.workload.name}, {text}" for text in found),
            speedup=ratio(ours, eager),
        )

    def _compiled(self, eager: Player) -> Timing | None:
        """Return torch.compile's time, measured in turns with eager torch once a task."""
        known = self.device.compiled
        key = f"{self.task.key} {self.gpu.uuid}"
        if key not in known:
            try:
                known[key] = self._compile(eager)
            except PlayerGoneError:
                known[key] = None
        return known[key]

    def _compile(self, eager: Player) -> Timing | None:
        match = self._match()
        with self._player(self._reference(compile=True)) as compiled:
            if match.first(compiled, eager) is not None:
                return None
            series, wrong = match.play({"compile": compiled, "eager": eager}, BUDGET)
        note = f"{ratio(series['compile'], series['eager'])[0]:.3g} times as fast as eager"
        return None if wrong else series["compile"].timing(self.workload.name, note)

    def _bandwidth(self) -> float:
        """Return the bytes a second that a copy of 1 GiB moves, counted both ways."""
        known = self.device.bandwidths
        if self.gpu.uuid not in known:
            spec = TensorSpec(shape=(COPIED,), distribution="uniform")
            workload = Workload(name="copy", role="full", inputs=(spec,))
            job = GuestJob("reference", _COPY, "Model", "cuda", init=(), env=self._environment())
            random = np.random.default_rng()
            series = Series("copy")
            with self._player(job) as player:
                player.prepare(arguments(workload), 8)
                overhead = min(player.overhead() for _ in range(5))
                for turn in range(8):
                    want = {"most": 1, "block": 64, "parts": [0.0, 1.0]}
                    batch = player.play(8, int(random.integers(1 << 40)), {**want})
                    if turn > 1:
                        series.add(batch, 8, overhead)
            known[self.gpu.uuid] = 8 * COPIED / float(np.median(series.seconds))
        return known[self.gpu.uuid]

    def _match(self) -> Match:
        def draw(turn: int) -> int:
            rng = generator(self.references.seed, self.task.name, "timing", nonce, turn)
            return int(rng.integers(1 << 61))

        nonce = digest("timing", self.workload.name)
        return Match(self.task, self.workload, self.gpu.memory, draw)

    def _reference(self, **options: bool) -> GuestJob:
        # Inductor asks for the user's name, and a guest's user id has none.
        more = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "USER": "guest"} if options else {}
        return GuestJob(
            role="reference",
            code=self.task.reference,
            entry="Model",
            device="cuda",
            init=self.workload.init,
            seed=self.references.guest_seed,
            state=self.state,
            env={**self._environment(), **more},
            options=dict(options),
        )

    def _environment(self) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": self.gpu.uuid}

    @contextlib.contextmanager
    def _player(self, job: GuestJob) -> Iterator[Player]:
        player = Player(job, self.device.form, self.device.limits(START))
        try:
            yield player
        finally:
            player.close()


def _floor(workload: str, seconds: float, moved: int) -> Timing:
    value = 1e3 * seconds
    return Timing(
        what="floor",
        workload=workload,
        median=value,
        low=value,
        high=value,
        iqr=0.0,
        samples=0,
        converged=True,
        note=f"{moved / 1e9:.3g} GB at the speed of a copy, measured in the same run",
    )
