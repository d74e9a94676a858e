"""The records about a graded sample: verdict, evaluation, repair, review."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from grader.records.base import JsonValue, Name, Record
from grader.records.exact import Exact
from grader.records.finding import Evidence, Finding
from grader.records.run import Build, Comparison, KernelProfile, Run, Timing, Work

SCHEMA = "kernel-grader/1"

Status = Literal[
    "no_code",
    "no_task",
    "rejected",
    "build_failed",
    "build_timeout",
    "crashed",
    "hung",
    "timeout",
    "not_run",
    "incorrect",
    "dishonest",
    "unsound",
    "correct",
    "grader_error",
]
RIGHT_VALUES: frozenset[Status] = frozenset({"correct", "unsound"})
"""Statuses with every deciding value right; an `unsound` program's are right by luck."""
Form = Literal["plain", "fast"]
"""The two forms of a reference-fixed kernel: as in a textbook, or fast on a GPU."""
DeviceName = Name
"""A name from `grader.devices.devices()`, or `none`."""
SeenAt = Literal["full", "first rows", "sampled blocks", "reduced sizes"]
"""The largest size at which values were compared: the task's own in full, on its first rows, or in some blocks, or
smaller ones."""


FailsWith = Literal["other weights", "other values", "other sizes"]
"""The first two at the sizes that the task names: a step is missing, which its own weights and values don't show."""


class Verdict(Record):
    """Where a submission stands."""

    status: Status
    sentence: str
    """The verdict in one sentence."""
    compiled: bool | None = None
    """None where the build never ran or the grader failed."""
    correct: bool | None = None
    general: bool | None = None
    """Right at the other sizes as well; None where that was not tested."""
    fails_with: FailsWith | None = None
    """What a right program that is not general was seen to fail with."""
    honest: bool | None = None
    speedup: float | None = None
    """Over eager torch, measured on a GPU; None without a measurement."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    reasons: tuple[str, ...] = ()
    kernelbench: bool | None = None
    """KernelBench's verdict on the original sample, at its own tolerance; None where unknown."""
    seen_at: SeenAt | None = None
    """What `correct` rests on; None where no values were compared."""
    unhurt: bool | None = None
    """Where the task is unknown and values are not judged: whether it builds, and runs without undefined behaviour."""
    cause: int | None = None
    """Position among the review's findings of the one that the sentence states; None where no finding explains it."""

    @property
    def passes(self) -> bool:
        """Whether it is correct or, where values are not judged, passes everything that is judged."""
        return self.status == "correct" or self.unhurt is True


class Evaluation(Record):
    """Build, runs and verdict of one program: the same for a submission, a reference, a repair."""

    submission: str
    """Content address of the program."""
    device: DeviceName
    sandbox: str
    """Name of the sandbox form that it ran in."""
    build: Build | None = None
    runs: tuple[Run, ...] = ()
    checked: tuple[Run, ...] = ()
    """The same workloads on a device that checks each access, where `device` doesn't: undefined behaviour that they
    prove counts, their status does not."""
    comparisons: tuple[Comparison, ...] = ()
    smallest: str = ""
    """The smallest workload that decides: where it is wrong, a reward asks for no other."""
    timings: tuple[Timing, ...] = ()
    work: Work | None = None
    """Where it was timed: the work of a call, and the peaks of this GPU."""
    profile: tuple[KernelProfile, ...] = ()
    """One for each kernel, where profiling was requested."""
    probes: tuple[Evidence, ...] = ()
    """Behaviour beside the values of one call: changes to inputs or to earlier results, and repeated calls in another
    order."""
    verdict: Verdict
    exact: Exact | None = None
    """Present with `--exact`, where the values came out right or wrong."""
    own_share: float | None = None
    """Share of the work that its own kernels did; None for a program that isn't right, and where unknown."""
    seconds: dict[str, float] = {}

    @property
    def observed(self) -> tuple[Run, ...]:
        """The runs that tell which kernels were launched and which operators ran: those on the device that checks."""
        return self.checked or self.runs


class AppliedFix(Record):
    """A fix applied to reach the next failure, whether or not it led to a right program."""

    label: str
    rule: str
    diff: str
    """Unified diff against the program before it."""
    status: Status
    """The program's status after it."""


class Assessment(Record):
    """A verdict without diagnosis and repair, for a training loop."""

    evaluation: Evaluation
    findings: tuple[Finding, ...] = ()


class Repair(Record):
    """A changed submission together with the evaluation that it passed."""

    kind: Literal["fix", "reference", "model"]
    form: Form | None = None
    """Of a reference-fixed kernel; None for all else."""
    code: str
    diff: str = ""
    """Unified diff against the submission; empty for a reference-fixed kernel."""
    settles: tuple[tuple[str, str], ...] = ()
    """Pairs of rule code and label of the edit that fixes it."""
    evaluation: Evaluation
    title: str = ""

    @model_validator(mode="after")
    def _check_passed(self) -> Self:
        if not self.evaluation.verdict.passes:
            msg = f"a repair must have passed; this one is {self.evaluation.verdict.status}"
            raise ValueError(msg)
        return self

    @property
    def outcome(self) -> str:
        """Its outcome as a verb: without a known task no values were judged."""
        correct = self.evaluation.verdict.status == "correct"
        return "passes" if correct else "runs without a fault"


class Claim(Record):
    """A statement in the transcript about its own code."""

    line: int
    """Line of the sample."""
    quote: str
    outcome: Literal["true", "false", "not checked"]
    because: str


class Doubt(Record):
    """A defect that the transcript admits after the code."""

    line: int
    """Line of the sample."""
    quote: str
    outcome: Literal["found", "minor", "imagined", "not checked"]
    """`minor`: worth no more than a note."""
    because: str


class SelfReview(Record):
    """The author's own review of the code against ours."""

    doubts: tuple[Doubt, ...]
    missed: tuple[str, ...] = ()
    """Errors and warnings that the author does not mention, each with its line."""


class TaskSummary(Record):
    """The task as a review names it."""

    name: str | None
    source: str
    reason: str
    confidence: float = 1.0
    title: str = ""
    weak: tuple[str, ...] = ()
    reference: str = ""
    roles: dict[str, str] = {}
    """Role of each workload, by its name."""


class Review(Record):
    """The whole result for one sample, as a person or a tool reads it."""

    schema_: str = SCHEMA
    sample: str
    origin: str
    format: str
    text: str
    """The sample's text, for the reports."""
    code: str | None
    """The submission's code; None if there is none."""
    line_map: tuple[int, ...] = ()
    how: str = ""
    """How the code was found, or what the sample had instead."""
    notes: tuple[str, ...] = ()
    task: TaskSummary
    evaluation: Evaluation
    findings: tuple[Finding, ...] = ()
    fixes: tuple[AppliedFix, ...] = ()
    """Fixes applied to reach the next failure, in order."""
    repairs: tuple[Repair, ...] = ()
    repair_note: str = ""
    """How far the search for a repair got, where none passed."""
    reference_note: str = ""
    """Why there is no reference-fixed kernel; empty where there is one, or none was asked for."""
    claims: tuple[Claim, ...] = ()
    self_review: SelfReview | None = None
    """None where the author admits no defect after the code."""
    summary: str = ""
    """A model's words, only with --llm; marked as such."""
    environment: dict[str, str] = {}
    """Facts that stay the same between two gradings on one kind of machine."""
    machine: dict[str, JsonValue] = {}
    """Times and paths of this machine; never in the markdown."""

    @model_validator(mode="after")
    def _in_keeping(self) -> Self:
        error = next((one for one in self.findings if one.severity == "error"), None)
        if self.verdict.status == "correct" and error is not None:
            msg = f"what is correct has no error, and this has {error.rule}: {error.message}"
            raise ValueError(msg)
        return self

    @property
    def reference(self) -> Repair | None:
        """The reference-fixed kernel to show: the plain form, or the only one."""
        return next((one for one in self.repairs if one.kind == "reference"), None)

    @property
    def reference_fast(self) -> Repair | None:
        """The fast form, where there are both; None otherwise."""
        shown = self.reference
        others = (one for one in self.repairs if one.kind == "reference" and one is not shown)
        return next(others, None)

    def advice(self, finding: Finding) -> str:
        """Return how to fix a finding; nothing where a verified repair shows it: one that settles the rule, or leaves no error."""
        fixed = [one for one in self.repairs if one.kind != "reference"]
        rules = {rule for one in fixed for rule, _ in one.settles}
        clean = any(one.evaluation.verdict.general is not False for one in fixed)
        said = finding.rule in rules or (clean and finding.severity == "error")
        return finding.fixes[0].label if finding.fixes and not said else ""

    @property
    def further_fixes(self) -> tuple[AppliedFix, ...]:
        """The fixes applied to reach the next failure, without one that is itself a verified repair."""
        shown = {one.diff for one in self.repairs}
        return tuple(one for one in self.fixes if one.diff not in shown)

    @property
    def verdict(self) -> Verdict:
        """The submission's own verdict."""
        return self.evaluation.verdict
