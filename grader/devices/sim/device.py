"""The CPU simulator as a device: the submission's own build and calls, no GPU anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from grader import build as building
from grader.build.guest_environment import read_only
from grader.build.prepare import prepare
from grader.config import Options
from grader.devices.base import Changed, LargerLaunch, Readiness, RunResult, Traced
from grader.devices.guests import GuestDevice
from grader.devices.outcome import run_of
from grader.devices.sim.changed import VALUES_ALONE, run_changed
from grader.devices.sim.dry_run import dry_run, launched_at_full_size
from grader.devices.sim.exact import exactly
from grader.devices.sim.first_block import full_size
from grader.devices.sim.first_rows import first_rows
from grader.devices.sim.provenance import trace
from grader.errors import GraderError
from grader.execution.full_size_part import FullSizePart
from grader.judge import Group, References
from grader.languages import compiles_when_launched
from grader.records import (
    Build,
    Evidence,
    Exact,
    JsonValue,
    Run,
    Submission,
    Task,
    Workload,
    digest,
)
from grader.sandbox import Form, GuestJob, GuestReply, GuestResult, require_reach, warm_up
from grader.simulator.gpus import Gpu, gpu
from grader.source import Source, parse
from grader.store import Store

SHARE = 0.45
"""Share of a program's wall time for the kernels of one workload."""
ALONE = 0.75
"""The same for a costly workload, which is its task's only one."""


@dataclass(frozen=True)
class Simulator(GuestDevice):
    """Device `sim`, which models one GPU."""

    gpu: Gpu
    idle: bool = False
    """Whether kernels are left out."""
    watching: bool = True
    """Whether accesses are marked for races and counted by line: no value hangs on it, and half of a kernel's time."""
    blocks: int = 0
    """Number of blocks of each launch that run; 0 for all."""
    exact_references: dict[str, GuestResult] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Reference results in exact arithmetic, shared by all answers to a task."""

    @property
    def name(self) -> str:
        """Return `sim`."""
        return "sim"

    @property
    def arch(self) -> str:
        """Return the compute capability of the modelled GPU."""
        return self.gpu.arch

    @cached_property
    def identity(self) -> str:
        """Return the content address of all that could change a result."""
        return digest("sim", self.prepared.address, repr(self.gpu), self.options.build)

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """Return what a review's environment says of it."""
        toolchain = self.prepared.toolchain
        return {
            "device": "sim: the kernels ran on the CPU simulator; no time is measured",
            "GPU simulated": self.gpu.name,
            "torch": toolchain.torch_version,
            "nvcc": toolchain.nvcc_version,
            **toolchain.triton,
        }

    def warm_up(self) -> None:
        """Start the fork servers of the guests."""
        prepared = self.prepared
        warm_up(self.form, (str(prepared.library), str(prepared.torch_library)))

    def ready(self) -> Readiness:
        """Say whether it can build and run."""
        if self.prepared.library is None:
            return Readiness(ok=False, reason="the simulator's library is not built")
        return Readiness(ok=True)

    def record(
        self, workload: Workload, result: GuestResult, reply: GuestReply, source: Source
    ) -> Run:
        """Return the record of one workload's run, with the simulator's evidence."""
        return run_of(workload, result, reply, source, self._seconds(alone=workload.costly))

    def job(
        self,
        submission: Submission,
        build: Build,
        group: Group,
        workloads: Sequence[Workload],
        references: References,
    ) -> GuestJob:
        """Return the job of a guest; a costly workload has nearly all of its time."""
        job = super().job(submission, build, group, workloads, references)
        settings = job.options["simulator"]
        if not any(w.costly for w in workloads) or not isinstance(settings, Mapping):
            return job
        # Marking each access for races takes half of a kernel's time.
        alone = {**settings, "seconds": self._seconds(alone=True), "check_races": 0}
        return replace(job, options={**job.options, "simulator": alone})

    def dry_run(self, submission: Submission, build: Build, task: Task, seed: int) -> Run | None:
        """Do a dry run at the full size, with the kernels' first and last blocks."""
        return dry_run(self, submission, build, task, seed)

    def trace(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
        asked: Sequence[tuple[int, int]] = (),
        larger: LargerLaunch | None = None,
    ) -> Traced:
        """Run one workload with provenance, or with a larger launch."""
        return trace(self, submission, build, task, references, workload, asked, larger)

    def literal(self, submission: Submission, build: Build, workload: Workload) -> Build:
        """Return a build without optimisation; Triton's is unchanged."""
        if compiles_when_launched(parse(submission.code)):
            return build
        made = self.literal_build(submission, workload.init)
        return made if made.status == "built" else build

    def run_changed(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
        asked: JsonValue,
    ) -> Changed:
        """Run one workload under changes of the program's code."""
        return run_changed(self, submission, build, task, references, workload, asked)

    def exactly(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
    ) -> Exact:
        """Compare a program with its reference in exact arithmetic."""
        return exactly(self, submission, build, task, references, workload)

    def launched_at_full_size(
        self, submission: Submission, build: Build, task: Task, seed: int
    ) -> frozenset[str] | None:
        """Return the kernels that forward launches in such a dry run."""
        return launched_at_full_size(self, submission, build, task, seed)

    def look_at_full_size(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        find: Callable[[], FullSizePart | None],
        *,
        library: bool,
    ) -> tuple[Evidence, ...]:
        """Run the first block of each launch at full size; where that is inconclusive, run the first rows completely."""
        part = find()
        if part is None:
            return ()
        # A library's work isn't split into blocks.
        blocks = () if library else full_size(self, submission, build, task, part)
        return blocks or first_rows(self, submission, build, task, part)

    def run_idle(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> list[RunResult]:
        """Run the program on a simulator that checks launches and executes no kernel."""
        return self.without_kernels.run(submission, build, task, references)

    @property
    def without_kernels(self) -> Simulator:
        """Return a simulator that checks launches and executes no kernel."""
        return replace(self, idle=True)

    @property
    def for_values(self) -> Simulator:
        """Return a simulator that watches no accesses: the first run's evidence stands."""
        return replace(self, watching=False)

    def gives_up(self, results: Iterable[RunResult]) -> bool:
        """Whether one of them took too long, since it takes as long with other weights."""
        return any(item.run.status == "timeout" for item in results)

    def lost(self, result: GuestResult) -> bool:
        """Whether a sticky error took the context."""
        seen = result.report if isinstance(result.report, dict) else {}
        host = seen.get("simulator") or {}
        return isinstance(host, dict) and bool((host.get("host") or {}).get("sticky"))

    def guest_options(self, build: Build | None = None) -> dict[str, JsonValue]:
        """Return the options for `grader.guest.cuda_face.install`."""
        return {
            "library": str(self.prepared.library),
            "torch_library": str(self.prepared.torch_library),
            "gpu": self.gpu.fields(),
            "cuda_version": ".".join(self.prepared.toolchain.nvcc_version.split(".")[:2]),
            "simulator": {
                "seconds": self.seconds,
                "skip_kernels": self.idle,
                "max_blocks": self.blocks,
                "track_stores": self.blocks > 0,
                "gate": True,
                **({} if self.watching else VALUES_ALONE),
            },
            "registers": {r.kernel: r.registers for r in build.resources} if build else {},
            "log_operators": False,
        }

    @property
    def seconds(self) -> float:
        """Time limit of simulation for the kernels of one workload in seconds."""
        return self._seconds(alone=False)

    def _seconds(self, *, alone: bool) -> float:
        return max((ALONE if alone else SHARE) * self.options.run_seconds, 1.0)


def open_simulator(
    options: Options, form: Form, store: Store, preparing: Callable[[str], None]
) -> Simulator:
    """Prepare this machine for the simulator, once, and return the device.

    Raises:
        GraderError: a compiler is missing, or what it compiles does not, or guests can't read what they need.

    """
    model = gpu(options.gpu)
    toolchain = building.discover()
    prepared = prepare(toolchain, preparing)
    require_reach(form, read_only(prepared))
    if prepared.library is None or prepared.torch_place is None:
        raise GraderError("the simulator's libraries could not be built")
    return Simulator(options, form, store, prepared, model)
