"""A real GPU as a device: timing runs alone on it, and a health check follows every accident."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader import build as building
from grader.build.cache import cache_folder
from grader.build.guest_environment import read_only
from grader.build.prepare import prepare
from grader.config import Options
from grader.devices.base import RunResult, Sanitized
from grader.devices.cuda import guard_zones
from grader.devices.cuda import share as gpu_share
from grader.devices.cuda.autotuning import read_autotuned
from grader.devices.cuda.errors import cuda_error
from grader.devices.cuda.gpu import GpuFacts, Watch
from grader.devices.cuda.health import HEALTH, prove_healthy, suspicious
from grader.devices.cuda.plain_guest import PlainGuest
from grader.devices.cuda.sanitizer import (
    HUNG_SECONDS,
    SECONDS,
    is_examined,
    sanitize,
    telling_workload,
    tools_for,
)
from grader.devices.cuda.timing_turn import time_program
from grader.devices.guests import GuestDevice
from grader.devices.outcome import brief, cut_log, outcome_of_unreached
from grader.devices.timed import Timed
from grader.errors import GraderError
from grader.judge import References
from grader.records import (
    Build,
    Evaluation,
    Evidence,
    JsonValue,
    Run,
    RunStatus,
    Submission,
    Task,
    Timing,
    Workload,
    digest,
)
from grader.sandbox import (
    Form,
    GuestJob,
    GuestReply,
    GuestResult,
    GuestWorkload,
    Limits,
    converse,
    require_reach,
)
from grader.simulator.report import switches
from grader.source import Source
from grader.store import Store

HANG = 20.0
"""Seconds after which one call of forward counts as hung if the GPU is busy throughout."""
_LOST = re.compile(
    r"illegal memory access|unspecified launch failure|misaligned address|illegal instruction|"
    r"device-side assert|invalid program counter|hardware stack error|launch timed out|"
    r"invalid address space|illegal address|CUDA-capable device\(s\) is/are busy"
)


@dataclass(frozen=True)
class CudaDevice(GuestDevice):
    """Device `cuda`: every NVIDIA GPU of one kind that this machine has."""

    gpus: tuple[GpuFacts, ...]
    peaks: dict[str, float] = field(default_factory=dict, compare=False)
    """Measured peaks, by GPU and kind of work."""
    compiled: dict[str, Timing | None] = field(default_factory=dict, compare=False)
    """Measured times of torch.compile, by task and GPU."""
    guarded: bool = False
    """Whether guests' allocations lie between guard zones."""

    @property
    def name(self) -> str:
        """Return `cuda`."""
        return "cuda"

    @property
    def arch(self) -> str:
        """Return the GPU's compute capability."""
        return self.gpus[0].arch

    @cached_property
    def identity(self) -> str:
        """Return the content address of all that could change a result."""
        gpu = self.gpus[0]
        zones = str(self.prepared.guard_zones)
        names = (self.prepared.address, gpu.name, gpu.driver, self.options.build, zones)
        return digest("cuda", *names)

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """Return what a review's environment says of it."""
        gpu, toolchain = self.gpus[0], self.prepared.toolchain
        return {
            "device": f"cuda: {gpu.name}",
            "driver": gpu.driver,
            "torch": toolchain.torch_version,
            "nvcc": toolchain.nvcc_version,
            **toolchain.triton,
            "guard zones": guard_zones.fact(self.prepared),
        }

    @property
    def seconds(self) -> float:
        """Time limit of one call of forward in seconds."""
        return min(HANG, self.options.run_seconds)

    def guest_options(self, build: Build | None = None) -> dict[str, JsonValue]:  # noqa: ARG002
        """Return the allocator option of a guest whose values are judged."""
        return {"guard_zones": str(self.prepared.guard_zones)} if self.guarded else {}

    @property
    def without_kernels(self) -> CudaDevice:
        """Return the device for compilation in calls."""
        return replace(self, guarded=False)

    def converse(self, job: GuestJob, limits: Limits) -> GuestReply:
        """Run a job beside others on the GPU; repeat it alone where its failure could be the others' fault."""
        return gpu_share.shared_then_alone(
            self.gpus, self.locks, lambda gpu: self._converse(gpu, job, limits), _crowded_out
        )

    def observe(self, job: GuestJob, limits: Limits) -> GuestReply:
        """Run a job beside others' on the GPU, once."""
        with gpu_share.hold_seat(self.gpus, self.locks) as gpu:
            return self._converse(gpu, job, limits)

    @property
    def locks(self) -> Path:
        """Folder of the locks that all graders of this user share."""
        return cache_folder() / "gpus"

    def _converse(self, gpu: GpuFacts, job: GuestJob, limits: Limits) -> GuestReply:
        """Run a job on this GPU, and leave it healthy behind."""
        own = replace(job, env={**job.env, "CUDA_VISIBLE_DEVICES": gpu.uuid})
        with Watch(gpu) as watch:
            reply = converse(own, self.form, limits)
        if reply.status == "timeout" and watch.busy():
            reply = _hung_reply(reply)
        if suspicious(reply):
            prove_healthy(gpu, self.form, self.limits(HEALTH))
        return reply

    def run(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        *,
        in_place: bool = False,
    ) -> list[RunResult]:
        """Run every workload but the full-size ones; between guard zones, except those `in_place`.

        Running out of memory where the reference does as well is not the submission's fault, and neither is a failure
        that a plain guest does not show.
        """

        def run(asked: Task, guarded: bool) -> list[RunResult]:
            device = replace(self, guarded=guarded)
            program = (submission, build, asked, references)
            return GuestDevice.run(device, *program, in_place=in_place)

        zones = self.prepared.guard_zones is not None and not in_place
        found = guard_zones.run_between_zones(task, run) if zones else run(task, False)
        found = [
            _not_its_fault(item)
            if item.run.status == "out_of_memory" and not self._fits(task, workload, references)
            else item
            for workload, item in zip(task.judged, found, strict=True)
        ]
        plain = PlainGuest(self, submission, build, task, references, in_place)
        return plain.charged_runs(found)

    def gives_up(self, results: Iterable[RunResult]) -> bool:
        """Whether one of them never ended, since each such run holds the GPU twice for `HANG` seconds."""
        return any(item.run.status == "hung" for item in results)

    def _fits(self, task: Task, workload: Workload, references: References) -> bool:
        """Whether the reference alone runs on the GPU."""
        job = GuestJob(
            role="reference",
            code=task.reference,
            entry="Model",
            device="cuda",
            workloads=(GuestWorkload(workload.name, tuple(references.inputs[workload.name])),),
            init=workload.init,
            seed=references.guest_seed,
        )
        reply = self.converse(job, self.limits(self.options.run_seconds))
        return reply.status == "done" and all(r.status == "ran" for r in reply.results)

    def sanitize(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        evaluation: Evaluation,
    ) -> Sanitized:
        """Run compute-sanitizer on a program that went wrong; on every or no program if requested.

        Not where the checker has found the cause, or has shown that accesses are not the cause.
        """
        status = evaluation.verdict.status
        tools = tools_for(status, self.options.sanitize)
        workload = telling_workload(task, evaluation)
        if not tools or workload is None:
            return Sanitized()
        if self.options.sanitize is None and is_examined(evaluation, workload):
            return Sanitized()
        seconds = HUNG_SECONDS if status == "hung" else SECONDS
        return sanitize(self, submission, build, references, workload, tools, seconds)

    def time(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Timed:
        """Time a correct program beside eager torch and torch.compile; see docs/timing.md.

        Without the option `timing` its result at full size is still compared.

        Raises:
            GraderError: the GPU can't be used any more.

        """
        return time_program(self, submission, build, task, references)

    def record(
        self,
        workload: Workload,
        result: GuestResult,
        reply: GuestReply,
        source: Source,
    ) -> Run:
        """Return the record of one workload's run, with a CUDA error as evidence."""
        status: RunStatus = result.status
        reason = result.reason
        if status == "not_run":
            status, reason = outcome_of_unreached(reply)
        elif status == "crashed" and reply.reason:
            reason = reply.reason
        return Run(
            workload=workload.name,
            device="cuda",
            status=status,
            reason=brief(reason),
            evidence=(*_evidence(workload, result, source), *guard_zones.strays(result)),
            unguarded=guard_zones.why_not(result),
            operators=_operators(result.report),
            switches=switches(result.report),
            seconds=result.seconds,
            output=cut_log(reply.log),
            autotuned=read_autotuned(reply.log),
        )

    def lost(self, result: GuestResult) -> bool:
        """Whether an error took the CUDA context: every later call of the process fails."""
        return result.status == "raised" and bool(_LOST.search(result.reason))


def _hung_reply(reply: GuestReply) -> GuestReply:
    """Return the reply with unfinished runs marked as hung, since the GPU was busy to the end."""
    results = [
        replace(r, status="hung", reason=f"{r.reason}; its kernels were still running on the GPU")
        if r.status == "timeout"
        else r
        for r in reply.results
    ]
    return replace(reply, results=tuple(results))


def _crowded_out(reply: GuestReply) -> bool:
    """Whether other guests on the GPU could have caused it, by using up memory or time."""
    statuses = {result.status for result in reply.results}
    return reply.status == "timeout" or bool(statuses & {"timeout", "out_of_memory"})


def _not_its_fault(item: RunResult) -> RunResult:
    why = "the GPU's memory is too small even for the reference"
    return replace(item, run=item.run.model_copy(update={"status": "not_run", "reason": why}))


def _evidence(workload: Workload, result: GuestResult, source: Source) -> tuple[Evidence, ...]:
    known = result.line is not None and result.line <= len(source.lines)
    place = source.line_place(result.line) if known and result.line else None
    return cuda_error(result.reason, workload.name, place, result.traceback)


def _operators(report: JsonValue) -> dict[str, int]:
    seen = report.get("operators") if isinstance(report, dict) else None
    if not isinstance(seen, dict):
        return {}
    counts = [(name, count) for name, count in seen.items() if type(count) is int]
    return {str(name)[:200]: min(count, 1 << 40) for name, count in counts[:500] if count >= 0}


def open_cuda(
    options: Options,
    form: Form,
    store: Store,
    gpus: tuple[GpuFacts, ...],
    preparing: Callable[[str], None],
) -> CudaDevice:
    """Prepare this machine's compilers, once, and return the device.

    GPUs of another model than the first are ignored, since times on them can't be compared.

    Raises:
        GraderError: a compiler is missing or fails, or guests can't read their files.

    """
    toolchain = building.discover()
    if not toolchain.torch_cuda:
        raise GraderError("this torch is built without CUDA", "Install a CUDA build of torch.")
    prepared = prepare(toolchain, preparing)
    require_reach(form, read_only(prepared))
    same = tuple(gpu for gpu in gpus if gpu.name == gpus[0].name)
    return CudaDevice(options, form, store, prepared, same)
