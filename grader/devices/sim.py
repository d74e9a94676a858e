"""The CPU simulator as a device: the submission's own build and calls, no GPU anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from grader import build as building
from grader.build.prepare import Prepared, prepare
from grader.config import Options
from grader.devices.base import Readiness, RunResult
from grader.devices.outcome import run_of
from grader.errors import GraderError
from grader.judge import Group, References, groups
from grader.records import Build, JsonValue, Submission, Task, Workload, digest
from grader.sandbox import Form, GuestJob, GuestReply, GuestResult, GuestWorkload, Limits, converse
from grader.simulator.gpus import Gpu, gpu
from grader.source import Source, parse
from grader.store import Store

ENTRY = "ModelNew"
RESTARTS = 2
"""Guests that a list of workloads gets after the first, where a run took the process with it."""
SHARE = 0.45
"""Part of a program's wall time that the kernels of one workload may use."""


@dataclass(frozen=True)
class Simulator:
    """Device `sim`, for one GPU that it stands for."""

    options: Options
    form: Form
    store: Store
    prepared: Prepared
    gpu: Gpu

    @property
    def name(self) -> Literal["sim"]:
        """Return `sim`."""
        return "sim"

    @cached_property
    def identity(self) -> str:
        """Return the content address of all that could change a result."""
        names = (
            str(self.prepared.folder),
            str(self.prepared.library),
            str(self.prepared.torch_library),
        )
        return digest("sim", *names, repr(self.gpu), self.options.build)

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """Return what a review's environment says of it."""
        toolchain = self.prepared.toolchain
        return {
            "device": "sim: the kernels ran on the CPU simulator; no time is measured",
            "GPU simulated": self.gpu.name,
            "torch": toolchain.torch_version,
            "nvcc": toolchain.nvcc_version,
        }

    @cached_property
    def torch_version(self) -> tuple[int, int]:
        """Return major and minor version of torch."""
        major, minor = self.prepared.toolchain.torch_version.split("+")[0].split(".")[:2]
        return int(major), int(minor)

    def ready(self) -> Readiness:
        """Say whether it can build and run."""
        if self.prepared.library is None:
            return Readiness(ok=False, reason="the simulator's library is not built")
        return Readiness(ok=True)

    def build(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a submission; the artifact is kept beside the store's other files."""
        return building.build(
            submission,
            device="sim",
            mode=self.options.build,
            form=self.form,
            limits=self._limits(self.options.build_seconds),
            prepared=self.prepared,
            artifact_dir=self._artifacts,
            arch=self.gpu.arch,
            init=init,
            options=self._guest_options(),
        )

    def run(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> list[RunResult]:
        """Run every workload but the full-size ones; one guest for each set of weights."""
        workloads = [workload for workload in task.workloads if workload.role != "full"]
        source = parse(submission.code)
        found: dict[str, RunResult] = {}
        for group in groups(workloads):
            found.update(self._run_group(submission, build, source, group, references))
        return [found[workload.name] for workload in workloads]

    def _run_group(
        self,
        submission: Submission,
        build: Build,
        source: Source,
        group: Group,
        references: References,
    ) -> dict[str, RunResult]:
        found: dict[str, RunResult] = {}
        rest: Sequence[Workload] = group.workloads
        for _ in range(1 + RESTARTS):
            reply = converse(
                self._job(submission, build, group, rest, references),
                self.form,
                self._limits(self.options.run_seconds),
            )
            if reply.status == "grader_error":
                raise GraderError(f"a run on the simulator failed: {reply.reason}")
            found.update(self._results(rest, reply, source))
            rest = _rest(rest, reply)
            if not rest:
                break
        return found

    def _results(
        self, workloads: Sequence[Workload], reply: GuestReply, source: Source
    ) -> dict[str, RunResult]:
        results = {result.name: result for result in reply.results}
        missing = GuestResult("", "not_run", "not reached")
        given = [(w, results.get(w.name, missing)) for w in workloads]
        return {
            w.name: RunResult(run_of(w, result, reply, source, self._seconds), result)
            for w, result in given
        }

    def _job(
        self,
        submission: Submission,
        build: Build,
        group: Group,
        workloads: Sequence[Workload],
        references: References,
    ) -> GuestJob:
        environment = building.environment(self.prepared, "sim", self.options.build, self.gpu.arch)
        return GuestJob(
            role="submission",
            code=submission.code,
            entry=ENTRY,
            device="sim",
            workloads=tuple(
                GuestWorkload(w.name, tuple(references.inputs[w.name])) for w in workloads
            ),
            init=group.init,
            seed=references.guest_seed,
            state=references.states.get(group.workloads[0].name),
            artifact=building.artifact(self._artifacts, build) if build.key else None,
            env=environment.variables,
            read_only=environment.read_only,
            options={**self._guest_options(build), "log_operators": False},
        )

    def _guest_options(self, build: Build | None = None) -> dict[str, JsonValue]:
        """Return what `grader.guest.cuda_face.install` is given."""
        return {
            "library": str(self.prepared.library),
            "torch_library": str(self.prepared.torch_library),
            "gpu": self.gpu.fields(),
            "cuda_version": ".".join(self.prepared.toolchain.nvcc_version.split(".")[:2]),
            "simulator": {"seconds": self._seconds},
            "registers": {r.kernel: r.registers for r in build.resources} if build else {},
        }

    @property
    def _artifacts(self) -> Path:
        return self.store.root / "builds"

    @property
    def _seconds(self) -> float:
        return max(SHARE * self.options.run_seconds, 1.0)

    def _limits(self, wall: float) -> Limits:
        return Limits(wall=wall, memory=int(self.options.memory_gb * (1 << 30)))


def _rest(workloads: Sequence[Workload], reply: GuestReply) -> Sequence[Workload]:
    """Return the workloads that a new guest could still answer: those after one that ended this."""
    if reply.stage != "forward" or reply.status == "timeout":
        return ()
    results = {result.name: result for result in reply.results}
    for position, workload in enumerate(workloads):
        result = results.get(workload.name)
        if result is None or result.status == "crashed" or _context_lost(result):
            return workloads[position + 1 :]
    return ()


def _context_lost(result: GuestResult) -> bool:
    seen = result.report if isinstance(result.report, dict) else {}
    host = seen.get("simulator") or {}
    return isinstance(host, dict) and bool((host.get("host") or {}).get("sticky"))


def open_simulator(
    options: Options, form: Form, store: Store, preparing: Callable[[str], None]
) -> Simulator:
    """Prepare this machine for the simulator, once, and return the device.

    Raises:
        GraderError: a compiler is missing, or what it compiles does not.

    """
    model = gpu(options.gpu)
    toolchain = building.discover()
    prepared = prepare(toolchain, preparing)
    if prepared.library is None or prepared.torch_library is None:
        raise GraderError("the simulator's libraries could not be built")
    return Simulator(options, form, store, prepared, model)
