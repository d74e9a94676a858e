"""The common base of `sim` and `cuda`: one guest to build, one to run each set of weights."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from grader import build as building
from grader.build.prepare import Prepared
from grader.build.workspace import ARTIFACT
from grader.config import Options
from grader.devices.base import Readiness, RunResult
from grader.devices.built_when_called import call_once
from grader.devices.guest_job import job_of
from grader.devices.next_guest import still_open
from grader.errors import GraderError
from grader.judge import Group, References, groups
from grader.languages import compiles_when_launched, guest_options
from grader.records import (
    DECIDING,
    Build,
    JsonValue,
    Run,
    Submission,
    Task,
    Workload,
)
from grader.sandbox import Form, GuestJob, GuestReply, GuestResult, Limits, converse, crowding
from grader.source import Source, parse
from grader.store import Store

SHORTEST = 5.0
"""Least time limit of a guest in seconds, enough for its start."""
RESTARTS = 2
"""Further guests for a list of workloads after a run ended the process."""


@dataclass(frozen=True)
class GuestDevice(ABC):
    """A device whose runs are jobs of sandboxed guests."""

    options: Options
    form: Form
    store: Store
    prepared: Prepared
    until: float = field(default=math.inf, kw_only=True)
    """Deadline of all its guests, by the host's clock."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name that reports use."""

    @property
    @abstractmethod
    def arch(self) -> str:
        """Return the compute capability to build for, e.g. `9.0`."""

    @abstractmethod
    def guest_options(self, build: Build | None = None) -> dict[str, JsonValue]:
        """Return the options of the device's guest side."""

    @abstractmethod
    def record(
        self, workload: Workload, result: GuestResult, reply: GuestReply, source: Source
    ) -> Run:
        """Return the record of one workload's run."""

    @abstractmethod
    def lost(self, result: GuestResult) -> bool:
        """Whether the process can't run anything after this."""

    def converse(self, job: GuestJob, limits: Limits) -> GuestReply:
        """Run a job in a new guest on this device.

        Raises:
            GraderError: the device can't be used any more.

        """
        return converse(job, self.form, limits)

    def observe(self, job: GuestJob, limits: Limits) -> GuestReply:
        """Run a job whose failure decides nothing, so it is not repeated.

        Raises:
            GraderError: the device can't be used any more.

        """
        return self.converse(job, limits)

    @property
    def seconds(self) -> float:
        """Time limit of one workload in seconds; the guest's limit where that is as long."""
        return self.options.run_seconds

    @property
    def without_kernels(self) -> GuestDevice:
        """Return the device that executes no kernel, if there is one; else this one."""
        return self

    @property
    def for_values(self) -> GuestDevice:
        """Return the device as it runs a program of which its values alone are asked, where that is cheaper; else this."""
        return self

    def ready(self) -> Readiness:
        """Say whether it can build and run."""
        return Readiness(ok=True)

    def build_key(self, submission: Submission) -> str:
        """Return the content address of the submission's build here."""
        mode = self.options.build
        return building.build_key(submission, self.prepared, self.name, mode, self.arch)

    def build(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a submission; the artifact is kept beside the store's other files."""
        return self._build(submission, init, self.options.build)

    def draft(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a candidate of the search with the quick compilers only."""
        stock = self.options.build == "stock"
        return self._build(submission, init, "stock" if stock else "draft")

    def exact_build(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a submission with named math functions, for exact arithmetic."""
        return self._build(submission, init, "exact")

    def literal_build(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a submission without optimising its device code, for changes of it."""
        return self._build(submission, init, "literal")

    def _build(
        self, submission: Submission, init: tuple[JsonValue, ...] | None, mode: building.Mode
    ) -> Build:
        return building.build(
            submission,
            device=self.name,
            mode=mode,
            form=self.form,
            limits=self.limits(self.options.build_seconds),
            prepared=self.prepared,
            artifact_dir=self.artifacts,
            arch=self.arch,
            init=init,
            options={**self.guest_options(), **guest_options(parse(submission.code))},
        )

    def run(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        *,
        in_place: bool = False,
    ) -> list[RunResult]:
        """Run every workload but the full-size ones; one guest for each set of weights.

        With `in_place`, inputs of shapes that were there before get new values where they lie; it is a second run, which
        is asked for its values alone.
        """
        device = self.for_values if in_place else self
        source = parse(submission.code)
        found: dict[str, RunResult] = {}
        chosen = groups(task.judged)
        self.build_by_call(submission, build, task, references)
        deciding = {w.name for w in task.judged if w.role in DECIDING}
        for group in chosen:
            if self.gives_up(found[name] for name in deciding & found.keys()):
                found.update({w.name: self._left_out(w) for w in group.workloads})
            else:
                program = (submission, build, source)
                found.update(device._run_group(program, group, references, in_place=in_place))
        return [found[workload.name] for workload in task.judged]

    def gives_up(self, results: Iterable[RunResult]) -> bool:  # noqa: ARG002 - cuda's
        """Whether the results of deciding workloads make runs with other weights pointless."""
        return False

    def _left_out(self, workload: Workload) -> RunResult:
        reason = "not begun: on another workload it never ended"
        run = Run(workload=workload.name, device=self.name, status="not_run", reason=reason)
        return RunResult(run, GuestResult(workload.name, "not_run", reason))

    def build_by_call(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Build:
        """Compile code that is compiled only in a call, before a run's clock starts."""
        chosen = groups(task.judged)
        if not build.lazy or not build.key or not chosen:
            return build
        record = building.record_of_call(self.artifacts, build, task)
        if known := building.read_record(record):
            return known
        device = self.without_kernels
        if not compiles_when_launched(parse(submission.code)):
            chosen = (replace(chosen[0], workloads=chosen[0].workloads[:1]),)
        jobs = [device.job(submission, build, g, g.workloads, references) for g in chosen]
        limits = replace(self.limits(self.options.build_seconds), output=ARTIFACT)
        kept = building.artifact(self.artifacts, build)
        replies = call_once(jobs, kept, lambda job: device.converse(job, limits))
        deciding = {w.name for w in task.judged if w.role in DECIDING}
        called = building.after_call(build, replies, deciding, submission, kept)
        return building.write_record(record, called)

    def _run_group(
        self,
        program: tuple[Submission, Build, Source],
        group: Group,
        references: References,
        *,
        in_place: bool,
    ) -> dict[str, RunResult]:
        submission, build, source = program
        found: dict[str, RunResult] = {}
        rest: Sequence[Workload] = group.workloads
        for _ in range(1 + RESTARTS):
            job = self.job(submission, build, group, rest, references)
            job = replace(job, options={**job.options, "in_place": in_place})
            reply = self.converse(job, self.limits(self.options.run_seconds))
            if reply.status == "grader_error":
                raise GraderError(f"a run on {self.name} failed: {reply.reason}")
            found.update(self.results(rest, reply, source))
            rest = still_open(rest, reply, found, self.lost)
            if not rest:
                break
        return found

    def results(
        self, workloads: Sequence[Workload], reply: GuestReply, source: Source
    ) -> dict[str, RunResult]:
        """Return the result of each workload of a guest's job, by name."""
        results = {result.name: result for result in reply.results}
        missing = GuestResult("", "not_run", "not reached")
        found: dict[str, RunResult] = {}
        lost = ""
        for workload in workloads:
            result = results.get(workload.name, missing)
            run = self.record(workload, result, reply, source)
            if lost:  # a broken context's errors say nothing about later calls
                reason = f"not reached: {lost} ended the process"
                run = Run(workload=workload.name, device=self.name, status="not_run", reason=reason)
            elif self.lost(result):
                lost = workload.name
            found[workload.name] = RunResult(run, result)
        return found

    def job(
        self,
        submission: Submission,
        build: Build,
        group: Group,
        workloads: Sequence[Workload],
        references: References,
    ) -> GuestJob:
        """Return the job of a guest that runs these workloads of one set of weights."""
        environment = building.environment(self.prepared, self.name, self.options.build, self.arch)
        job = job_of(
            submission,
            group,
            workloads,
            references,
            device=self.name,
            deadline=self.seconds if self.name == "cuda" else None,
            options=self.guest_options(build),
        )
        return replace(
            job,
            artifact=building.artifact(self.artifacts, build) if build.key else None,
            env=environment.variables,
            read_only=environment.read_only,
        )

    @property
    def artifacts(self) -> Path:
        """Return the folder of builds."""
        return self.store.builds

    def limits(self, wall: float) -> Limits:
        """Return the limits of one guest with `wall` seconds."""
        allowed = min(wall, self.left)
        return Limits(wall=allowed, memory=int(self.options.memory_gb * (1 << 30)))

    @property
    def left(self) -> float:
        """Return the seconds until the deadline of its guests; at least those for a guest's start."""
        return max(SHORTEST, (self.until - time.monotonic()) / crowding())

    def within(self, seconds: float) -> Self:
        """Return the device with an earlier deadline."""
        some = min(seconds, self.options.run_seconds)
        options = self.options.model_copy(update={"run_seconds": some})
        until = min(self.until, time.monotonic() + seconds * crowding())
        return replace(self, options=options, until=until)
