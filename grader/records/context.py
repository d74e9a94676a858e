"""What is known of a program beside its text: task, evidence from tools and runs, outcome."""

from __future__ import annotations

from dataclasses import dataclass

from grader.records.finding import Evidence
from grader.records.run import Build, Comparison, KernelResources, Launch, LineCount, Run
from grader.records.sample import Extraction, Sample
from grader.records.task import Task

LAUNCHED = frozenset({"ran", "raised", "crashed", "hung", "timeout", "out_of_memory"})
"""Statuses of runs that began; the others say nothing of the program."""


@dataclass(frozen=True)
class Outcome:
    """A program's build, runs and comparisons; all are empty where only its text was read."""

    build: Build | None = None
    runs: tuple[Run, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    checked: tuple[Run, ...] = ()
    """The same runs on another device, which checks each access and counts each line's instructions."""

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that began, so that they say something of the program."""
        return tuple(run for run in self.runs if run.status in LAUNCHED)

    @property
    def examined(self) -> tuple[Run, ...]:
        """The runs with the most detail on its lines: those on the checker, where there was one."""
        return tuple(run for run in self.checked if run.status in LAUNCHED) or self.begun

    @property
    def ended(self) -> bool:
        """Whether it ran, and each run completed."""
        return bool(self.begun) and all(run.status == "ran" for run in self.begun)

    @property
    def built(self) -> bool:
        """Whether compilers and loader accepted all of it; code that is compiled at run time must have run."""
        lazy = self.build is not None and self.build.lazy
        built = self.build is not None and self.build.status == "built"
        return built and (not lazy or any(run.status == "ran" for run in self.runs))

    @property
    def failed(self) -> bool:
        """Whether there was a failure that a finding may explain."""
        refused = self.build is not None and self.build.status == "failed"
        return refused or (bool(self.begun) and not self.ended) or not self.is_right()

    def is_right(self, *, general: bool = False, workload: str = "") -> bool:
        """Whether no comparison that counts shows a difference: at the task's sizes, at others as well, or at one workload's."""
        return not any(
            item.decides and not item.equal
            for item in self.comparisons
            if (general or item.role != "general") and workload in {"", item.workload}
        )


@dataclass(frozen=True)
class Context:
    """What is known beside the submission's text; every field may be empty."""

    task: Task | None = None
    evidence: tuple[Evidence, ...] = ()
    """Evidence from compilers, the simulator, probes and sanitizers."""
    resources: tuple[KernelResources, ...] = ()
    counts: tuple[LineCount, ...] = ()
    launches: tuple[Launch, ...] = ()
    extraction: Extraction | None = None
    sample: Sample | None = None
    device: str = "none"
    """Where it ran: `sim`, `cuda`, or `none` where only its text was read."""
    outcome: Outcome | None = None
    """The outcome, by which its findings are weighed; None leaves them as the rules gave them."""

    def evidence_of(self, *kinds: str) -> tuple[Evidence, ...]:
        """Return the evidence of these kinds, in the order in which it was observed."""
        return tuple(item for item in self.evidence if item.kind in kinds)
