"""Optional capabilities of a device beside building and running; callers test for them with `isinstance`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from grader.devices.base import Changed, Device, LargerLaunch, RunResult, Sanitized, Traced
from grader.devices.timed import Timed
from grader.execution.full_size_part import FullSizePart
from grader.judge import References
from grader.records import (
    Build,
    Evaluation,
    Evidence,
    Exact,
    JsonValue,
    Run,
    Submission,
    Task,
    Workload,
)


@runtime_checkable
class Bounded(Protocol):
    """A device whose guests can be given less time than the options say."""

    @property
    def left(self) -> float:
        """Return the time limit of the next guest in seconds."""

    def within(self, seconds: float) -> Device:
        """Return the device with a deadline for all its guests, in seconds from now on an idle machine."""


@runtime_checkable
class Warm(Protocol):
    """A device that can start loading its guests' libraries ahead."""

    def warm_up(self) -> None:
        """Start loading, and return."""


@runtime_checkable
class CallBuilder(Protocol):
    """A device on which a program may compile code only in a call."""

    def build_by_call(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Build:
        """Call a program whose build compiled nothing, and return the build with the files compiled in the call.

        Raises:
            GraderError: something of ours failed.

        """


@runtime_checkable
class Timer(Protocol):
    """A device with a clock that programs can't reach."""

    def time(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Timed:
        """Time a correct program beside its baselines.

        Raises:
            GraderError: something of ours failed.

        """


@runtime_checkable
class Sanitizer(Protocol):
    """A device with tools that examine a program at many times the cost of a run."""

    def sanitize(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        evaluation: Evaluation,
    ) -> Sanitized:
        """Examine with the device's own tools why a program went wrong.

        Raises:
            GraderError: something of ours failed.

        """


@runtime_checkable
class ExactDevice(Protocol):
    """A device that can run a program, and its task's reference, in an exact algebra."""

    def exactly(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
    ) -> Exact:
        """Return whether their results are equal but for rounding.

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class Tracer(Protocol):
    """A device that records the provenance of a result's values."""

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
        """Run one workload and return the provenance of elements (output, flat index) of its results.

        There is none where a `larger` launch than the program's is requested.

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class Changer(Protocol):
    """A device that can run a program with changed kernel code without rebuilding it."""

    def literal(self, submission: Submission, build: Build, workload: Workload) -> Build:
        """Return a build without optimisation, whose code follows the text, if there is one."""

    def run_changed(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
        asked: JsonValue,
    ) -> Changed:
        """Run one workload under each requested change (`grader.simulator.changes`).

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class DryRunner(Protocol):
    """A device that can't compute a task's full size, but can do a dry run there."""

    def dry_run(self, submission: Submission, build: Build, task: Task, seed: int) -> Run | None:
        """Do a dry run of forward at the task's full size.

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

        None where unknown, or forward does not complete there.

        Raises:
            GraderError: something of ours failed.

        """

    def look_at_full_size(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        find: Callable[[], FullSizePart | None],
        *,
        library: bool,
    ) -> tuple[Evidence, ...]:
        """Return evidence of wrong or right results at full size, with the values of a part of the task.

        `find` returns the part; `library`: torch computes some of the result.

        Raises:
            GraderError: something of ours failed.

        """


@runtime_checkable
class IdleRunner(Protocol):
    """A device that can leave kernels out."""

    def run_idle(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> list[RunResult]:
        """Run a program with every launch checked and no kernel executed.

        Raises:
            GraderError: something of ours failed.

        """


def looks_closer(device: Device | None) -> bool:
    """Whether it has a clock or its own tools, which take many times as long as a run."""
    return isinstance(device, Timer | Sanitizer)
