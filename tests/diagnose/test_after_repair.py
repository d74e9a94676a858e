"""A finding that a passing repair still has, on a line that it kept, was not the cause."""

from __future__ import annotations

from typing import Any

from grader.diagnose.after_repair import weigh_by_repair
from grader.records import Evaluation, Finding, Place, Repair, Submission, Verdict

CODE = "a = load()\nb = a + c\nstore(b)\n"
SUBMISSION = Submission(sample="s", code=CODE, line_map=(1, 2, 3), how="")


def finding(rule: str, line: int, severity: Any = "error") -> Finding:
    place = Place(line=line, end_line=line, sample_line=line)
    return Finding(rule=rule, name="x", severity=severity, confidence="likely", message="m", place=place)  # fmt: skip


def repair(code: str, *settles: str) -> Repair:
    verdict = Verdict(status="correct", sentence="right", general=True)
    evaluation = Evaluation(submission="s", device="sim", sandbox="none", verdict=verdict)
    pairs = tuple((rule, "line 2: `a + c`") for rule in settles)
    return Repair(kind="fix", code=code, settles=pairs, evaluation=evaluation)


CHANGED = CODE.replace("a + c", "a * d + c")


def test_what_the_repaired_program_still_has_is_no_error() -> None:
    found, made = weigh_by_repair(
        (finding("RED007", 1), finding("DEP006", 2)),
        SUBMISSION,
        repair(CHANGED, "DEP006"),
        (finding("RED007", 1, "warning"),),
    )
    assert [(one.rule, one.severity) for one in found] == [("RED007", "warning"), ("DEP006", "error")]  # fmt: skip
    assert made.settles == (("DEP006", "line 2: `a + c`"),)


def test_a_repair_that_left_what_it_was_to_settle_settled_a_wrong_result() -> None:
    found, made = weigh_by_repair(
        (finding("RED007", 1),),
        SUBMISSION,
        repair(CHANGED, "RED007"),
        (finding("RED007", 1, "warning"),),
    )
    assert [(one.rule, one.severity) for one in found] == [("RED007", "warning"), ("NUM001", "error")]  # fmt: skip
    assert [rule for rule, _ in made.settles] == ["NUM001"]


def test_what_stands_on_a_changed_line_stays() -> None:
    given = (finding("RED007", 2),)
    found, made = weigh_by_repair(
        given, SUBMISSION, repair(CHANGED, "RED007"), (finding("RED007", 2, "warning"),)
    )
    assert found == given
    assert made.settles[0][0] == "RED007"


def test_a_warning_that_the_repair_settles_is_the_error_where_there_is_no_other() -> None:
    given = (finding("NUM007", 2, "warning"), finding("PRF001", 1, "warning"))
    found, _ = weigh_by_repair(given, SUBMISSION, repair(CHANGED, "NUM007"), ())
    assert [one.severity for one in found] == ["error", "warning"]
    beside = (*given, finding("DEP006", 2))
    found, _ = weigh_by_repair(beside, SUBMISSION, repair(CHANGED, "NUM007"), ())
    assert [one.severity for one in found] == ["warning", "warning", "error"]
