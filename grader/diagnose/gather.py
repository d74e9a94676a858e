"""Collects the findings of a submission and of its fixed forms, in the submission's own lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from grader.diagnose.program import Program
from grader.records import Evidence, Finding, Place
from grader.rules.engine import SEVERITIES
from grader.rules.refuted import IN_KERNELS
from grader.source import edits

_QUOTED = re.compile(r"(`[^`]*`)")
_LINES = re.compile(r"\b(lines? )(\d+(?:(?:, | and | to )\d+)*)")


@dataclass(frozen=True)
class Way:
    """A map from the lines of a fixed text to those of the first text."""

    first: str
    fixed: str
    line_map: tuple[int, ...]
    """For each line of the first text its line in the sample."""

    @cached_property
    def back(self) -> tuple[int, ...]:
        """For each line of the fixed text its line in the first text; 0 for an inserted one."""
        return edits.old_lines(self.first, self.fixed)

    @cached_property
    def changed(self) -> frozenset[int]:
        """Lines of the fixed text that the fixes wrote."""
        old, new = self.first.splitlines(), self.fixed.splitlines()
        pairs = enumerate(zip(self.back, new, strict=True), 1)
        return frozenset(line for line, (was, text) in pairs if not was or old[was - 1] != text)

    @cached_property
    def kept(self) -> frozenset[int]:
        """Lines of the first text that the fixes left unchanged."""
        return frozenset(
            was for line, was in enumerate(self.back, 1) if was and line not in self.changed
        )

    def line(self, line: int) -> int:
        """Return a line's number in the first text; an inserted line becomes the last old one above it."""
        for number in range(min(line, len(self.back)), 0, -1):
            if self.back[number - 1]:
                return self.back[number - 1]
        return 1

    def place(self, place: Place) -> Place:
        """Return a place in the first text; one in the prose around it stays."""
        if place.language == "text":
            return place
        line = self.line(place.line)
        end = max(line, self.line(place.end_line))
        sample_line = self.line_map[line - 1] if 1 <= line <= len(self.line_map) else 0
        return place.model_copy(update={"line": line, "end_line": end, "sample_line": sample_line})

    def text(self, text: str) -> str:
        """Return a sentence with its line numbers mapped; quoted code stays."""
        parts = _QUOTED.split(text)
        return "".join(
            part if index % 2 else _LINES.sub(self._numbers, part)
            for index, part in enumerate(parts)
        )

    def _numbers(self, found: re.Match[str]) -> str:
        return found[1] + re.sub(r"\d+", lambda number: str(self.line(int(number[0]))), found[2])

    def evidence(self, item: Evidence) -> Evidence:
        """Return evidence in the lines of the first text."""
        return item.model_copy(
            update={
                "text": self.text(item.text),
                "place": self.place(item.place) if item.place else None,
                "related": tuple(self.place(place) for place in item.related),
            }
        )

    def finding(self, finding: Finding) -> Finding:
        """Return a finding in the lines of the first text."""
        return finding.model_copy(
            update={
                "message": self.text(finding.message),
                "place": self.place(finding.place) if finding.place else None,
                "evidence": tuple(self.evidence(item) for item in finding.evidence),
                "consequences": tuple(self.text(item) for item in finding.consequences),
            }
        )


def gather(states: tuple[Program, ...]) -> tuple[Finding, ...]:
    """Return the findings of all states with places in the first one's lines.

    A finding of the first state that a later state proves takes over its evidence; one that a later state's runs weigh
    differently takes over that weight, or is dropped; one that only a later state shows names the fixes before it. A
    finding that isn't an error, at a line written by a fix, is about the fix and left out.
    """
    first = states[0].submission
    found = {key: finding for key, (finding, _) in _worst(states[0].findings).items()}
    for state in states[1:]:
        way = Way(first.code, state.submission.code, first.line_map)
        moved = _worst(state.findings, way)
        if _ran(state):
            found = {
                key: one
                for key, one in found.items()
                if key in moved or not _shows_in_runs(one, way)
            }
        for key, (finding, there) in moved.items():
            known = found.get(key)
            if known is not None or not _of_the_fix(finding, way):
                found[key] = _after(state, known, there)
    return tuple(found.values())


def _after(state: Program, known: Finding | None, there: Finding) -> Finding:
    """Return a finding combined with that of a later state, or the later state's own."""
    labels = tuple(fix.label for _, fix in state.fixes)
    if known is None:
        return there.model_copy(update={"after_fix": labels, "fixes": ()})
    if known.confidence == "proven":
        return known
    if there.confidence == "proven":
        update = {
            "severity": min(known.severity, there.severity, key=SEVERITIES.index),
            "confidence": "proven",
            "evidence": (*known.evidence, *there.evidence),
            "message": there.message,
            "after_fix": labels,
        }
        return known.model_copy(update=update)
    if not _ran(state):
        return known
    weight = {
        name: getattr(there, name) for name in ("severity", "confidence", "message", "conditions")
    }
    return known.model_copy(update=weight)


def _ran(state: Program) -> bool:
    return any(run.status == "ran" for run in state.evaluation.runs)


def _shows_in_runs(finding: Finding, way: Way) -> bool:
    """Whether a run would show a right finding, and the fixes, which are for builds and calls, left its lines unchanged."""
    unproven = finding.confidence != "proven" and finding.predicts in IN_KERNELS
    return unproven and finding.place is not None and finding.place.line in way.kept


def _worst(
    findings: tuple[Finding, ...], way: Way | None = None
) -> dict[tuple[str, int], tuple[Finding, Finding]]:
    """Return each finding and its form in the first text, by rule and line there; of two, the first, which is the worse."""
    found: dict[tuple[str, int], tuple[Finding, Finding]] = {}
    for finding in findings:
        there = way.finding(finding) if way is not None else finding
        key = (there.rule, there.place.line if there.place else 0)
        found.setdefault(key, (finding, there))
    return found


def _of_the_fix(finding: Finding, way: Way) -> bool:
    written = finding.place is not None and finding.place.line in way.changed
    return written and finding.severity != "error"
