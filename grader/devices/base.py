"""The core interface of a device, which builds a submission and runs it."""

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
    """Whether a device can be used now, and if not, the reason."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class LargerLaunch:
    """One block more along an axis of a grid, or twice the threads along one of a block."""

    axis: Literal["x", "y", "z"]
    of: Literal["grid", "block"] = "grid"
    kernel: str = ""
    """Part of the names of the kernels concerned."""

    @property
    def number(self) -> int:
        """Return the simulator's number of the axis."""
        return 1 + "xyz".index(self.axis) + (3 if self.of == "block" else 0)


@dataclass(frozen=True)
class Traced:
    """One workload's run with provenance."""

    outputs: tuple[Array, ...] = ()
    report: JsonValue = None
    """The reported provenance; see `grader.simulator.provenance`."""
    kinds: frozenset[str] = frozenset()
    """Kinds of its evidence (`grader.simulator.wording.KINDS`)."""


@dataclass(frozen=True)
class Changed:
    """One workload's outputs under changes of a program's code, the unchanged first."""

    outputs: tuple[Array, ...] = ()
    """For each output an array with a row for each change."""
    programs: tuple[bytes, ...] = ()
    """The launched programs, as `grader.simulator.ptx.code` reads them."""
    seconds: float = 0.0
    """CPU time of the changed runs, reported by the guest."""
    passed: JsonValue = None
    """Arguments of launches, as `grader.simulator.changes.arguments` reads them."""


@dataclass(frozen=True)
class Sanitized:
    """Evidence of a device's own tools on a program, and why any of them did not run."""

    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: Sanitized) -> Sanitized:
        """Return the combined evidence."""
        return Sanitized(self.evidence + other.evidence, self.notes + other.notes)


@dataclass(frozen=True)
class RunResult:
    """One run as a record, with its outputs."""

    run: Run
    result: GuestResult

    @property
    def outputs(self) -> tuple[GuestOutput, ...]:
        """The tensors that forward returned."""
        return self.result.outputs

    @property
    def spared(self) -> bool:
        """Whether it was skipped, as it would not have ended in time."""
        return self.result.spared

    @property
    def structure(self) -> str:
        """Container of the outputs: `tensor`, `tuple`, `list`, ..."""
        return self.result.structure


class Device(Protocol):
    """A device that builds and runs; optional abilities are in `grader.devices.capabilities`."""

    @property
    def name(self) -> str:
        """Return the name that reports use."""

    @property
    def identity(self) -> str:
        """Return the content address of everything that could change a result: tools, versions, GPU."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Return the review's environment entries for it."""

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
        """Compile a candidate of the search with the quick compilers only.

        A failure is no verdict, a success equals that of `build`.

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

        With `in_place`, inputs with shapes of earlier ones reuse their memory.

        Raises:
            GraderError: something of ours failed.

        """
