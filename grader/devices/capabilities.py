"""What a device may be able to do beside building and running; whoever wants it asks with `isinstance`."""

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
        """Return the seconds that the next guest may take."""

    def within(self, seconds: float) -> Device:
        """Return the device as it is until so many seconds from now, as on an idle machine, in which all its guests end."""


@runtime_checkable
class Warm(Protocol):
    """A device that can begin to load what its guests need before it is asked for one."""

    def warm_up(self) -> None:
        """Begin, and return."""


@runtime_checkable
class CallBuilder(Protocol):
    """A device on which a program may compile something only in a call."""

    def build_by_call(
        self, submission: Submission, build: Build, task: Task, references: References
    ) -> Build:
        """Call a program whose build made nothing, and return the build with what that compiled.

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
    """A device with tools that look at a program at many times the cost of a run."""

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
        """Say whether their results are equal but for rounding.

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class Tracer(Protocol):
    """A device that can say where the values of a result come from."""

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
        """Run one workload and say what elements (output, flat index) of its results were made of.

        Nothing is said of them where a `larger` launch than the program's is asked for.

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class Changer(Protocol):
    """A device that can run a program with other code in its kernels, without building it again."""

    def literal(self, submission: Submission, build: Build, workload: Workload) -> Build:
        """Return a build whose code is that of the text, step by step, where there is one."""

    def run_changed(
        self,
        submission: Submission,
        build: Build,
        task: Task,
        references: References,
        workload: Workload,
        asked: JsonValue,
    ) -> Changed:
        """Run one workload under each change that is asked for (`grader.simulator.changes`).

        Raises:
            GraderError: the device can't be used any more.

        """


@runtime_checkable
class DryRunner(Protocol):
    """A device that can't compute a task's full size, and calls forward there without computing."""

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
        *,
        library: bool,
    ) -> tuple[Evidence, ...]:
        """Return what goes wrong, or was seen to be right, at full size with the values of a part of the task.

        `find` gives the part; `library` says that torch computes some of the result.

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
    """Whether it has a clock or tools of its own, which take many times as long as a run."""
    return isinstance(device, Timer | Sanitizer)
