"""One program's exclusive turn on a GPU: timed beside eager torch, then profiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.cuda import share as gpu_share
from grader.devices.cuda.gpu import GpuFacts
from grader.devices.cuda.health import HEALTH, prove_healthy
from grader.devices.cuda.profiler import profile
from grader.devices.cuda.timing_session import TimingSession
from grader.devices.timed import Timed
from grader.errors import GraderError
from grader.judge import Group, References
from grader.judge.inputs import draw_state
from grader.judge.tolerance import element_count
from grader.records import Build, Submission, Task, Workload
from grader.sandbox import GuestJob, converse

if TYPE_CHECKING:
    from grader.devices.cuda.device import CudaDevice

PROFILING = 240.0
"""Time limit of a program under the profiler in seconds."""


def time_program(
    device: CudaDevice, submission: Submission, build: Build, task: Task, references: References
) -> Timed:
    """Time a correct program; without the option `timing` only its result at full size is compared.

    Raises:
        GraderError: the GPU can't be used any more.

    """
    session = _Session(device, submission, build, task, references, workload_to_time(task))
    try:
        weights = session.weights()
    except GraderError as error:
        return Timed(note=f"not timed: {error}"[:500])
    if device.options.timing:
        with gpu_share.alone(device.gpus, device.locks) as gpu:
            return session.on(gpu, weights)
    return gpu_share.shared_then_alone(
        device.gpus, device.locks, lambda gpu: session.on(gpu, weights), lambda t: bool(t.note)
    )


def workload_to_time(task: Task) -> Workload:
    """Return the workload to time: the full-size one, else the largest nominal one."""
    nominal = [w for w in task.workloads if w.role == "nominal"] or list(task.workloads)
    return task.full or max(nominal, key=element_count)


@dataclass(frozen=True)
class _Weights:
    """Weights loaded into both models, and the reference's initial ones."""

    state: Mapping[str, np.ndarray] | None = None
    initial: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class _Session:
    device: CudaDevice
    submission: Submission
    build: Build
    task: Task
    references: References
    workload: Workload

    def on(self, gpu: GpuFacts, weights: _Weights) -> Timed:
        """Time it on this GPU, and check the GPU's health afterwards."""
        device, options = self.device, self.device.options
        stand = TimingSession(device, gpu, self.task, self.workload, self.references, weights.state)
        job = self._job(gpu, weights)
        seen = stand.time(job, measure=options.timing)
        if options.profile and not (seen.note or seen.run or seen.dishonest):
            counted = profile(job, device.form, device.limits(PROFILING), self.workload, self.build)
            seen = replace(seen, profile=counted.kernels, note=counted.note)
        if seen.note or seen.run:
            prove_healthy(gpu, device.form, device.limits(HEALTH))
        return seen

    def _job(self, gpu: GpuFacts, weights: _Weights) -> GuestJob:
        group = Group(self.workload.init, self.workload.weights, (self.workload,))
        job = self.device.job(self.submission, self.build, group, (), self.references)
        own = {**job.env, "CUDA_VISIBLE_DEVICES": gpu.uuid}
        return replace(job, state=weights.state, initial=weights.initial, env=own)

    def weights(self) -> _Weights:
        """Return the weights loaded on both sides; none where each draws its own, as in other runs."""
        if self.workload.weights == "initial":
            return _Weights()
        device, seed = self.device, self.references.guest_seed
        job = GuestJob(
            role="reference",
            code=self.task.reference,
            entry="Model",
            device="cpu",
            init=self.workload.init,
            seed=seed,
            want_state=True,
        )
        limits = device.limits(device.options.run_seconds)
        reply = converse(job, device.form, replace(limits, output=limits.memory))
        if reply.status != "done":
            raise GraderError(f"the reference could not be constructed: {reply.reason}")
        return _Weights(draw_state(reply.state, self.references.seed), reply.state)
