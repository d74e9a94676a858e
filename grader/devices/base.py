"""What a device is to the rest of the package: somewhere to build a submission and to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from grader.devices.cuda.timing import Timed
from grader.execution.full_size_part import FullSizePart
from grader.judge import References
from grader.records import Build, Evaluation, Evidence, JsonValue, Run, Submission, Task
from grader.sandbox import GuestOutput, GuestResult


@dataclass(frozen=True)
class Readiness:
    """Whether a device can be used now, and why not."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class Sanitized:
    """What a device's own tools found in a program, and why any of them did not run."""

    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Sanitized) -> Sanitized:
        """Return what both found."""
        return Sanitized(self.evidence + other.evidence, self.notes + other.notes)


@dataclass(frozen=True)
class RunResult:
    """One run as a record, and the outputs that came back beside it."""

    run: Run
    result: GuestResult

    @property
    def outputs(self) -> tuple[GuestOutput, ...]:
        """The tensors that forward returned."""
        return self.result.outputs

    @property
    def structure(self) -> str:
        """How they were wrapped: `tensor`, `tuple`, `list`, ..."""
        return self.result.structure


class Device(Protocol):
    """`sim` or `cuda`; both pass the conformance suite in tests/devices/."""

    @property
    def name(self) -> Literal["sim", "cuda"]:
        """Return the name that reports use."""

    @property
    def identity(self) -> str:
        """Return the content address of all that could change a result: tools, versions, GPU."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Return what a review's environment says of it."""

    @property
    def looks_closer(self) -> bool:
        """Whether it has a clock and tools of its own, which take many times as long as a run."""

    @property
    def seconds(self) -> float:
        """Return the seconds that one workload may take."""

    @property
    def torch_version(self) -> tuple[int, int]:
        """Return major and minor version of torch."""

    def ready(self) -> Readiness:
        """Say whether it can build and run."""

    def build_key(self, submission: Submission) -> str:
        """Return the content address of the submission's build on this device."""

    def build(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a submission; `init` constructs it where it builds lazily.

        Raises:
            GraderError: something of ours failed.

        """

    def draft(self, submission: Submission, init: tuple[JsonValue, ...] | None) -> Build:
        """Compile a candidate of ours: what the quick compilers refuse of it has failed.

        A failure is no verdict, a success is what `build` would have come to.

        Raises:
            GraderError: something of ours failed.

        """

    def run(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        *,
        in_place: bool = False,
    ) -> list[RunResult]:
        """Run a built submission on every workload of the task but the full-size ones, in order.

        With `in_place`, inputs of shapes that were there before get new values where they lie.

        Raises:
            GraderError: something of ours failed.

        """

    def dry_run(self, submission: Submission, build: Build, task: Task, seed: int) -> Run | None:
        """Call forward at the task's full size where nothing can compute it.

        Returns the run where it fails there (a launch is refused, a context lost, an exception
        raised), and the run with its operators alone where torch computes there; None where nothing
        of that was seen. `seed` is torch's in the guest.

        Raises:
            GraderError: something of ours failed.

        """

    def launched_at_full_size(
        self, submission: Submission, build: Build, task: Task, seed: int
    ) -> frozenset[str] | None:
        """Return the kernels that forward launches at the task's full size.

        None where that can't be seen, or forward does not get to its end there.

        Raises:
            GraderError: something of ours failed.

        """

    def look_at_full_size(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        find: Callable[[], FullSizePart | None],
    ) -> tuple[Evidence, ...]:
        """Return what goes wrong at full size with the values of a part of the task, if anything.

        `find` gives the part; a device that runs the full size anyway doesn't ask.

        Raises:
            GraderError: something of ours failed.

        """

    def run_idle(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> list[RunResult]:
        """Run it with every launch checked and no kernel executed; empty where that can't be done.

        Raises:
            GraderError: something of ours failed.

        """

    def sanitize(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        evaluation: Evaluation,
    ) -> Sanitized:
        """Look with the device's own tools at why a program went wrong.

        Raises:
            GraderError: something of ours failed.

        """

    def time(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Timed | None:
        """Time a correct program beside its baselines; None where the device has no clock.

        Raises:
            GraderError: something of ours failed.

        """
