"""What an author doubts after the code, set against what was found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.diagnose import self_review
from grader.records import Extraction, Finding, Place, Prose, SelfReview

WORDS = """I see some problems with this kernel.
The reduction is incomplete, because no thread stores its partial sum.
The division by n might not be correct. The grid should be larger so that the blocks cover all elements.
Also, the reduction loop should be unrolled. The result looks nice."""


def finding(rule: str, severity: str = "error", line: int = 7) -> Finding:
    return Finding(
        rule=rule,
        name=f"name-of-{rule.lower()}",
        severity=severity,  # type: ignore[arg-type]
        confidence="likely",
        message="m",
        place=Place(line=line, end_line=line),
    )


def compare(words: str, *findings: Finding, ran: bool = True) -> SelfReview | None:
    extraction = Extraction(submission=None, prose=(Prose(line=50, text=words, before_code=False),))
    run = SimpleNamespace(status="ran" if ran else "crashed")
    state: Any = SimpleNamespace(evaluation=SimpleNamespace(runs=(run,)))
    return self_review(extraction, (state,), findings)


def test_what_was_found_and_what_is_imagined_are_told_apart() -> None:
    found = compare(WORDS, finding("SYN001"), finding("BLD001", line=3))
    assert found is not None
    assert [(doubt.line, doubt.outcome) for doubt in found.doubts] == [
        (51, "found"),
        (52, "imagined"),
        (52, "imagined"),
    ]
    assert "SYN001 name-of-syn001 (line 7)" in found.doubts[0].because
    assert found.missed == ("BLD001 name-of-bld001 (line 3)",)


def test_a_note_is_no_more_than_minor_and_nothing_is_imagined_that_did_not_run() -> None:
    found = compare(WORDS, finding("RED002", "note"), ran=False)
    assert found is not None
    assert [doubt.outcome for doubt in found.doubts] == ["minor", "not checked", "not checked"]
    assert found.missed == ()


@pytest.mark.parametrize(
    "words",
    [
        "",
        "The kernel reduces the sum in shared memory, and handles all sizes correctly. It is fast.",
    ],
)
def test_praise_is_no_review(words: str) -> None:
    assert compare(words, finding("SYN001")) is None
