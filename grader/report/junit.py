"""JUnit XML: one test case a sample, as CI servers show them.

Format: https://github.com/testmoapp/junitxml (there is no standard; this is what the servers read).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as ET

from grader.records import Finding, Review
from grader.report.escape import clean, one_line

SKIPPED = frozenset({"not_run", "no_task"})


def render(reviews: Iterable[Review]) -> str:
    """Return the document: a suite for each task, a case for each sample.

    A verdict other than `correct` is a failure; where nothing could be judged the case is skipped;
    a failure of the grader's own is an error.
    """
    root = ET.Element("testsuites", name="kernel-grader")
    ordered = sorted(reviews, key=lambda review: (_task(review), review.sample))
    for task, members in groupby(ordered, key=_task):
        _suite(root, task, list(members))
    _count(root, list(root))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _task(review: Review) -> str:
    return review.task.name or "unknown"


def _suite(root: ET.Element, task: str, reviews: list[Review]) -> None:
    suite = ET.SubElement(root, "testsuite", name=_text(task))
    for review in reviews:
        _case(suite, review)
    suite.set("tests", str(len(reviews)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{sum(_seconds(review) for review in reviews):.3f}")


def _count(root: ET.Element, suites: list[ET.Element]) -> None:
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")


def _case(suite: ET.Element, review: Review) -> None:
    status = review.verdict.status
    case = ET.SubElement(
        suite,
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
