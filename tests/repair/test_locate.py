"""A finding without a cause is placed at the line that its verified mend changes."""

from __future__ import annotations

import pytest

from grader.records import Evaluation, Finding, Place, Repair, Submission, Verdict
from grader.repair import located

CODE = "a\nfor (int k = 0; k <= n; ++k)\nb\n"
SUBMISSION = Submission(sample="s", code=CODE, line_map=(5, 6, 7), how="")


def mended(code: str, rule: str) -> Repair:
    verdict = Verdict(status="correct", sentence="")
    evaluation = Evaluation(submission="x", device="sim", sandbox="none", verdict=verdict)
    return Repair(kind="mend", code=code, settles=((rule, "it"),), evaluation=evaluation)


def finding(rule: str, line: int | None) -> Finding:
    place = Place(line=line, end_line=line) if line else None
    return Finding(
        rule=rule, name="n", severity="error", confidence="proven", message="Wrong.", place=place
    )


@pytest.mark.parametrize("line", [None, 3])
def test_the_changed_line_is_the_place(line: int | None) -> None:
    repair = mended(CODE.replace("<=", "<"), "MEM011")
    (found,) = located((finding("MEM011", line),), SUBMISSION, [repair])
    assert found.place is not None
    assert (found.place.line, found.place.sample_line) == (2, 6)
    assert "k < n" in found.message


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (CODE.replace("<=", "<").replace("b", "c"), "MEM011"),
        (CODE.replace("<=", "<"), "SYN001"),
        ("new\n" + CODE, "MEM011"),
    ],
)
def test_nothing_moves_where_the_mend_does_not_say_where(code: str, rule: str) -> None:
    before = (finding(rule, 3),)
    assert located(before, SUBMISSION, [mended(code, rule)]) == before
