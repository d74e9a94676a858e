"""JUnit XML: one test case for each sample, as CI servers show them.

Format: https://github.com/testmoapp/junitxml (there is no standard; CI servers read this).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.etree import ElementTree as ET

from grader.records import Finding, Review
from grader.report.escape import clean, one_line
from grader.report.formats import Format
from grader.report.spill import Piece, SpillFile

SKIPPED = frozenset({"not_run", "no_task"})


class _Case(NamedTuple):
    task: str
    sample: str
    outcome: str
    """`failures`, `errors` or `skipped`; empty for a case that passed."""
    seconds: float
    text: Piece


class Cases:
    """The document: a suite for each task, a case for each sample, which waits in the spill.

    A verdict other than `correct` is a failure; where nothing could be judged the case is skipped;
    a failure of the grader's own is an error.
    """

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._cases: list[_Case] = []

    def add(self, review: Review) -> None:
        """Take the review's case."""
        element = _case(review)
        ET.indent(element, level=2)
        text = self._spill.add(f"    {ET.tostring(element, encoding='unicode')}\n")
        outcome = _outcome(review.verdict.status)
        case = _Case(_task(review), review.sample, outcome, _seconds(review), text)
        self._cases.append(case)

    def parts(self) -> Iterator[str]:
        """Yield the document's text, sorted by task and sample."""
        yield '<?xml version="1.0" encoding="utf-8"?>\n'
        ordered = sorted(self._cases, key=lambda case: (case.task, case.sample))
        suites = [(task, list(cases)) for task, cases in groupby(ordered, key=_suite)]
        seconds = sum(round(_total(cases), 3) for _, cases in suites)
        start, end = _tags("testsuites", "kernel-grader", ordered, seconds)
        yield f"{start}\n"
        for task, cases in suites:
            opened, closed = _tags("testsuite", _text(task), cases, _total(cases))
            yield f"  {opened}\n"
            yield from (self._spill.get(case.text) for case in cases)
            yield f"  {closed}\n"
        yield f"{end}\n"


def _suite(case: _Case) -> str:
    return case.task


def _total(cases: Iterable[_Case]) -> float:
    return sum(case.seconds for case in cases)


def _tags(tag: str, name: str, cases: Sequence[_Case], seconds: float) -> tuple[str, str]:
    """Return the start and end tag of an element that holds these cases."""
    outcomes = Counter(case.outcome for case in cases)
    element = ET.Element(tag, name=name, tests=str(len(cases)))
    for kind in ("failures", "errors", "skipped"):
        element.set(kind, str(outcomes[kind]))
    element.set("time", f"{seconds:.3f}")
    text = ET.tostring(element, encoding="unicode", short_empty_elements=False)
    end = f"</{tag}>"
    return text.removesuffix(end), end


def _task(review: Review) -> str:
    return review.task.name or "unknown"


def _outcome(status: str) -> str:
    if status in SKIPPED:
        return "skipped"
    return {"correct": "", "grader_error": "errors"}.get(status, "failures")


def _case(review: Review) -> ET.Element:
    status = review.verdict.status
    case = ET.Element(
        "testcase",
        name=_text(review.sample),
        classname=_text(_task(review)),
        file=_text(review.origin),
        time=f"{_seconds(review):.3f}",
    )
    sentence = _text(review.verdict.sentence)
    if status in SKIPPED:
        ET.SubElement(case, "skipped", message=sentence)
    elif status != "correct":
        tag = "error" if status == "grader_error" else "failure"
        outcome = ET.SubElement(case, tag, type=status, message=sentence)
        outcome.text = _details(review.findings)
    elif findings := _details(review.findings):
        ET.SubElement(case, "system-out").text = findings
    return case


def _details(findings: Iterable[Finding]) -> str:
    return "\n".join(
        _text(
            f"{item.severity} ({item.confidence}) {item.rule} {item.name}"
            f"{f', line {item.place.line}' if item.place else ''}: {item.message}",
            2000,
        )
        for item in findings
        if item.severity != "note"
    )


def _seconds(review: Review) -> float:
    return sum(review.evaluation.seconds.values())


def _text(text: str, limit: int = 1000) -> str:
    """Return one line without the characters that XML 1.0 doesn't have."""
    return one_line(clean(text), limit).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


FORMAT = Format("junit.xml", Cases)
