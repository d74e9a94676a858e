"""What a device is to the rest of the package: somewhere to build a submission and to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from grader.judge import References
from grader.judge.inputs import Array
from grader.records import Build, Evidence, JsonValue, Run, Submission, Task
from grader.sandbox import GuestOutput, GuestResult


@dataclass(frozen=True)
class Readiness:
    """Whether a device can be used now, and why not."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class LargerLaunch:
    """One block more along an axis of a grid, or twice the threads along one of a block."""

    axis: Literal["x", "y", "z"]
    of: Literal["grid", "block"] = "grid"
    kernel: str = ""
    """In the names of the kernels that it is about."""

    @property
    def number(self) -> int:
        """Return what the simulator calls it."""
        return 1 + "xyz".index(self.axis) + (3 if self.of == "block" else 0)


@dataclass(frozen=True)
class Traced:
    """One workload's run in which the device kept where values come from."""

    outputs: tuple[Array, ...] = ()
    report: JsonValue = None
    """What it says of them; see `grader.simulator.provenance`."""
    kinds: frozenset[str] = frozenset()
    """Kinds of what it found on the way (`grader.simulator.wording.KINDS`)."""


@dataclass(frozen=True)
class Changed:
    """One workload's outputs under changes of a program's code, the unchanged first."""

    outputs: tuple[Array, ...] = ()
    """Of each output a row for each change."""
    programs: tuple[bytes, ...] = ()
    """The programs that were launched, as `grader.simulator.ptx.code` reads them."""
    seconds: float = 0.0
    """Processor time of the changed runs, as the guest says."""
    passed: JsonValue = None
    """What launches were given, as `grader.simulator.changes.arguments` reads it."""


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
    def spared(self) -> bool:
        """Whether it was not begun, as it would not have ended in time."""
        return self.result.spared

    @property
    def structure(self) -> str:
        """How they were wrapped: `tensor`, `tuple`, `list`, ..."""
        return self.result.structure


class Device(Protocol):
    """Builds and runs; what more it may be able to do is in `grader.devices.capabilities`."""

    @property
    def name(self) -> str:
        """Return the name that reports use."""

    @property
    def identity(self) -> str:
        """Return the content address of all that could change a result: tools, versions, GPU."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Return what a review's environment says of it."""

    @property
    def seconds(self) -> float:
        """Return the seconds that one workload may take."""

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
