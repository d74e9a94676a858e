"""Weighs findings by builds and runs: a finding never contradicts evidence on its prediction."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from grader.records import Context, Finding, Outcome, Prediction
from grader.records.observed import FATAL, KERNELS_MATTER, RUN_KINDS
from grader.source import Source
from grader.source.analysis.cases import spans
from grader.source.python_code import Function

Answer = Literal["upheld", "refuted", "unseen", "uncovered"]
"""`upheld`: shown, or nothing can show it. `refuted`: a run came by its lines and did not show it.
`unseen`: runs went well around it, and whether they came by it is not known. `uncovered`: nothing
got that far."""
BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.While, ast.For, ast.BoolOp, ast.Lambda, ast.comprehension)  # fmt: skip
IN_KERNELS: frozenset[Prediction] = frozenset(
    {"launch-fails", "traps", "out-of-bounds", "race", "unwritten-read", "barrier", "writes-input"}
)
"""Predictions that only a run of a kernel shows."""
SURE_TO_RUN = ("__init__", "forward")
"""Methods of the model that every run comes by."""


def weighed_by_runs(
    findings: Iterable[Finding], source: Source, context: Context, certain: frozenset[str]
) -> Iterator[Finding]:
    """Yield the remaining findings after weighing by evidence.

    Refuted: dropped, or a note with its further condition. Not covered by runs: a warning at most, unless the text
    makes it `certain` (codes of rules), or nothing better explains the failure.
    """
    if context.outcome is None:
        yield from findings
        return
    found = tuple(findings)
    seen = _Seen(source, context, context.outcome)
    proven = any(one.severity == "error" and is_shown(one) for one in found)
    suspects = context.outcome.failed and not proven
    for finding in found:
        answer = seen.answer(finding)
        if answer in {"refuted", "unseen"}:
            yield from _without_weight(finding, answer)
        elif answer == "uncovered" and not suspects and finding.rule not in certain:
            claims = finding.severity == "error"
            yield finding.model_copy(update={"severity": "warning"}) if claims else finding
        else:
            yield finding


def is_shown(finding: Finding) -> bool:
    """Whether an observation, and not the text alone, shows it."""
    return any(item.kind != "text" for item in finding.evidence)


def _without_weight(finding: Finding, answer: Answer) -> Iterator[Finding]:
    """Yield the rest of a finding that the runs did not show: a note under other conditions."""
    beyond = finding.conditions or _beyond(finding, answer)
    if beyond:
        said = f"{finding.message.rstrip('.')} (no run showed it; it takes {beyond})"
        yield finding.model_copy(
            update={
                "severity": "note",
                "confidence": "possible",
                "message": said,
                "conditions": beyond,
            }
        )


def _beyond(finding: Finding, answer: Answer) -> str:
    """Return the condition under which a finding would show, if it doesn't give one; empty where it is wrong."""
    if answer == "unseen":
        return "a run that comes by this place"
    light = finding.severity != "error" and finding.predicts in IN_KERNELS
    return "sizes other than those that were run" if light else ""


@dataclass(frozen=True)
class _Seen:
    """Evidence on one program, queried by a finding's prediction."""

    source: Source
    context: Context
    outcome: Outcome

    def answer(self, finding: Finding) -> Answer:
        """Return the evidence on a finding's prediction."""
        if finding.rejects or is_shown(finding):
            return "upheld"
        asked = _ASK.get(finding.predicts, _Seen.in_kernels)
        answer = asked(self, finding)
        # A finding below an error may be about sizes or values beyond the task's own, which runs don't refute.
        settled = answer == "refuted" and asked not in {_Seen.in_values, _Seen.in_python}
        return answer if finding.severity == "error" or settled else "upheld"

    def in_build(self, _finding: Finding) -> Answer:
        """Whether the build failed, or accepted it."""
        if self.outcome.built:
            return "refuted"
        build = self.outcome.build
        return "upheld" if build is not None and build.status == "failed" else "uncovered"

    def in_python(self, finding: Finding) -> Answer:
        """Whether Python raised, or passed the line without an error."""
        if not self.outcome.begun:
            return "uncovered"
        if not self.outcome.ended:
            return "upheld"
        return "refuted" if self._surely_run(finding) else "unseen"

    def in_values(self, finding: Finding) -> Answer:
        """Whether the results were wrong, at the finding's sizes."""
        is_right, at = self.outcome.is_right, finding.workload
        compared = {item.workload for item in self.outcome.comparisons if item.decides}
        if not compared or (at and at not in compared):
            return "uncovered"
        if not is_right(workload=at):
            return "upheld"
        return (
            self._nearness_of_runs(finding) if is_right(general=True, workload=at) else "uncovered"
        )

    def in_launches(self, finding: Finding) -> Answer:
        """Whether one of the finding's kernels ran."""
        launched = {launch.kernel for run in self.outcome.begun for launch in run.launches}
        if any(name in each for name in finding.kernels for each in launched):
            return "refuted"
        if any(item.code == KERNELS_MATTER for item in self.context.evidence_of("probe")):
            return "refuted" if finding.severity == "error" else "upheld"
        return "upheld" if self.outcome.ended and self.exact else "uncovered"

    def in_kernels(self, finding: Finding) -> Answer:
        """Whether runs reached its lines without evidence; positive evidence is already part of a finding."""
        shown = any(item.kind in RUN_KINDS for item in self.context.evidence)
        return "uncovered" if shown or not self.exact else self._nearness_of_runs(finding)

    @property
    def exact(self) -> bool:
        """Whether a device checked each access and counted the instructions of each line."""
        return self.context.device == "sim" or self.outcome.examined != self.outcome.begun

    def _nearness_of_runs(self, finding: Finding) -> Answer:
        """Return how closely runs without evidence reached a finding's lines.

        Without counts (on a GPU) completed runs reached every kernel, but surely no specific line.
        """
        runs = [run for run in self.outcome.examined if finding.workload in {"", run.workload}]
        stops = any(one.kind in RUN_KINDS and one.code in FATAL for one in self.context.evidence)
        if not runs or stops or any(run.status != "ran" for run in runs):
            return "uncovered"
        if not self.exact:
            return "unseen"
        at = finding.place
        inside = [one for one, a, b in spans(self.source) if at and a <= at.line <= b]
        launched = {launch.kernel for run in runs for launch in run.launches}
        about = finding.kernels or inside
        if about and not any(one in name for one in about for name in launched):
            return "uncovered"
        counted = {count.line for run in runs for count in run.counts if count.instructions}
        if at is None or not inside:
            return "refuted"
        return "refuted" if counted & {*range(at.line, at.end_line + 1)} else "unseen"

    def _surely_run(self, finding: Finding) -> bool:
        """Whether each run reaches a finding's line of Python: unconditional, in code that is always called."""
        code, place = self.source.module, finding.place
        if place is None or place.language != "python":
            return False
        function, branch = "", False
        for node in ast.walk(code.tree):
            first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
            if first <= place.line <= (last or 0):
                branch = branch or isinstance(node, BRANCHES)
                function = node.name if isinstance(node, Function) else function  # inwards
        return not branch and function in {"", *SURE_TO_RUN}


_ASK: Mapping[Prediction, Callable[[_Seen, Finding], Answer]] = {
    "nothing": lambda _seen, _finding: "upheld",
    "elsewhere": lambda _seen, _finding: "uncovered",
    "build-fails": _Seen.in_build,
    "raises": _Seen.in_python,
    "wrong-values": _Seen.in_values,
    "no-launch": _Seen.in_launches,
}
"""Who is asked for a prediction; for all others the kernels are."""
