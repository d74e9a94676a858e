"""What was observed (evidence) and what is claimed (findings)."""

from __future__ import annotations

from typing import Literal

from grader.records.base import Name, Record
from grader.records.evidence import Actor, Details, Raised, ToolMessage

Severity = Literal["error", "warning", "note"]
Confidence = Literal["proven", "likely", "possible"]
PlaceLanguage = Name
"""`python`, `text` for the prose around the code, or the name that a language of `grader/languages/` gives its
lines."""
TOOLS: frozenset[str] = frozenset({"compiler", "ptxas", "python", "link"})
"""Kinds of evidence whose text is another tool's."""
EvidenceKind = Literal[
    "compiler",
    "ptxas",
    "python",
    "link",
    "mismatch",
    "probe",
    "provenance",
    "simulator",
    "sanitizer",
    "profile",
    "timing",
    "dispatch",
    "text",
]

Prediction = Literal[
    "nothing",
    "elsewhere",
    "build-fails",
    "raises",
    "launch-fails",
    "traps",
    "out-of-bounds",
    "race",
    "unwritten-read",
    "barrier",
    "writes-input",
    "wrong-values",
    "no-launch",
]
"""The observation in a build or a run that a right finding predicts (`grader.rules.refuted`)."""


class Place(Record):
    """A stretch of a submission, in its own lines and in the sample's."""

    line: int
    """Line of the submission's Python text (1-based); also for places inside a CUDA string."""
    end_line: int
    column: int = 0
    """First column (0-based, in characters)."""
    end_column: int = 0
    """Column after the last character; 0 with `column` 0 means the whole lines."""
    sample_line: int = 0
    """Line of the sample (1-based); 0 where the line is not in the sample."""
    language: PlaceLanguage = "python"
    string_line: int | None = None
    """Line inside the CUDA or C++ string (1-based), where the place is in one."""
    excerpt: str = ""
    """The text at the place, at most 200 characters of its first line."""


class Evidence(Record):
    """Something observed: a compiler error, a mismatch, a race between two lines."""

    kind: EvidenceKind
    code: str
    """Machine-readable name of the observation: `uninit-shared-read`, `race`, `constant-factor`, ..."""
    text: str
    """One sentence for a person, with the values."""
    place: Place | None = None
    related: tuple[Place, ...] = ()
    """Other places that take part, e.g. the second line of a race."""
    workload: str | None = None
    count: int = 1
    kernel: str = ""
    """The kernel that it is about; empty if there is none, or the place says it."""
    actor: Actor | None = None
    """The thread that did it, where one is known."""
    other_actor: Actor | None = None
    """The thread that takes part at `related`: the first of a race."""
    device: str = ""
    """The device that showed it, if not the one that the program is judged on."""
    details: Details | None = None
    """The details of this kind of observation; None where it has none."""

    @property
    def said(self) -> str:
        """The words of another tool (a compiler, a linker, Python); empty for our own observations.

        Rules may look for a tool's words. Our own sentence, `text`, is only for people.
        """
        if isinstance(self.details, ToolMessage | Raised):
            return self.details.said
        return self.text if self.kind in TOOLS and self.details is None else ""


class Edit(Record):
    """A change of a submission's text: `code[start:end]` becomes `text`."""

    start: int
    """Offset into the submission's code, in characters."""
    end: int
    text: str


class Fix(Record):
    """A set of edits that belong together."""

    label: str
    """Its effect, in the imperative: "store each partial sum before the tree reads it"."""
    edits: tuple[Edit, ...]
    certain: bool = False
    """Whether it can't change the meaning of a right program (a missing include)."""
    hides: bool = False
    """Whether it may only hide a defect's symptom, like a fill of unwritten memory: only a right program proves it."""


class AccessShape(Record):
    """How the lanes of a warp access memory, for a finding about that access."""

    lines: tuple[int, ...] = ()
    """Lines of the submission with such an access."""
    stride: int = 0
    """Stride between neighbouring lanes, in elements; 0 where the finding is about something else."""
    turns: int = 0
    """Passes that one access to shared memory takes; 0 where the finding is about something else."""


class Finding(Record):
    """A rule's claim about a submission, at a place."""

    rule: str
    """Code, e.g. `SYN001`."""
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    """One sentence in the user's terms: the defect and its effect."""
    place: Place | None = None
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[str, ...] = ()
    """Its consequences, in order ("the build fails", "would hang after that")."""
    also: tuple[str, ...] = ()
    """Codes of other rules with the same cause, merged into this finding."""
    after_fix: tuple[str, ...] = ()
    """Labels of the fixes after which it showed; empty for the submission as it is."""
    fixes: tuple[Fix, ...] = ()
    predicts: Prediction = "nothing"
    """The observation in a build or a run that it predicts if it is right."""
    conditions: str = ""
    """The condition under which it shows, beyond a run that reaches its lines: "a row of no whole vectors"."""
    workload: str = ""
    """The workload at whose sizes it was computed; empty where any run may show it."""
    kernels: tuple[str, ...] = ()
    """Names of the kernels concerned."""
    names: tuple[str, ...] = ()
    """Other names concerned, for a later stage: undefined names."""
    access: AccessShape | None = None
    """How a warp's lanes access memory; None where the finding is about something else."""
    cause: str = ""
    """Names the defect: findings of several rules with the same cause become one."""
    root_cause: bool = False
    """Whether it takes precedence over all others of its cause."""
    last_resort: bool = False
    """Whether it only describes a wrong result; any finding that explains the result replaces it."""
    other_form: bool = False
    """Whether the result's form is wrong, so that no values could be compared."""
    rejects: bool = False
    """Whether the text alone proves cheating by construction."""
    delegates: bool = False
    """Whether a library does the work, and the submission says so."""
    reads_no_input: bool = False
    """Whether the result is made without reading the input."""
    folded: bool = False
    """Whether it holds for nearly every submission: reports collect such notes into one line."""
