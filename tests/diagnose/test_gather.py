"""What a fixed form shows is said in the lines of the submission as it came."""

from __future__ import annotations

from dataclasses import replace

from grader.diagnose import Program, gather
from grader.diagnose.gather import Way
from grader.records import Evaluation, Evidence, Finding, Fix, Place, Run, Submission, Verdict

FIRST = "a = 1\nb = 2\nc = 3\nd = 4\n"
FIXED = "# new\na = 1\nb = 20\nc = 3\nd = 4\n"


def program(code: str, *findings: Finding, fixed: bool = False) -> Program:
    submission = Submission(sample="s", code=code, line_map=(11, 12, 13, 14), how="")
    evaluation = Evaluation(
        submission="",
        device="sim",
        sandbox="none",
        verdict=Verdict(status="incorrect", sentence="It is wrong."),
    )
    fixes = ((finding("BLD001", 1), Fix(label="fix b", edits=())),) if fixed else ()
    return Program(submission, evaluation, findings, fixes)


def finding(rule: str, line: int, severity: str = "error", text: str = "m") -> Finding:
    place = Place(line=line, end_line=line)
    return Finding(
        rule=rule,
        name=rule.lower(),
        severity=severity,  # type: ignore[arg-type]
        confidence="likely",
        message=text,
        place=place,
        evidence=(Evidence(kind="simulator", code="race", text=text, place=place),),
    )


def test_places_and_the_lines_in_sentences_are_those_of_the_submission() -> None:
    said = "line 4 reads what lines 3, 5 wrote; `line 4` stays"
    (found,) = gather((program(FIRST), program(FIXED, finding("SYN002", 4, text=said), fixed=True)))
    wanted = "line 3 reads what lines 2, 4 wrote; `line 4` stays"
    assert found.message == found.evidence[0].text == wanted
    assert found.place is not None
    assert (found.place.line, found.place.sample_line) == (3, 13)
    assert found.evidence[0].place == found.place
    assert found.after_fix == ("fix b",)


def test_a_warning_about_what_a_fix_wrote_is_left_out_and_an_error_is_not() -> None:
    later = program(
        FIXED, finding("PRF004", 3, "warning"), finding("SYN002", 3), finding("STY001", 1, "note")
    )
    assert [one.rule for one in gather((program(FIRST), later))] == ["SYN002"]


def test_of_two_findings_of_one_rule_at_one_line_the_worse_stays() -> None:
    both = (finding("MEM004", 3), finding("MEM004", 3, "note"))
    assert [one.severity for one in gather((program(FIRST, *both),))] == ["error"]
    fixed = program(FIXED, *(finding(one.rule, 4, one.severity) for one in both), fixed=True)
    assert [one.severity for one in gather((program(FIRST, *both), fixed))] == ["error"]


def test_a_finding_that_a_fixed_form_proves_keeps_its_place() -> None:
    proven = finding("SYN002", 4).model_copy(update={"confidence": "proven"})
    (found,) = gather((program(FIRST, finding("SYN002", 3)), program(FIXED, proven, fixed=True)))
    assert (found.confidence, found.after_fix, len(found.evidence)) == ("proven", ("fix b",), 2)


def test_a_warning_that_a_fixed_form_proves_to_be_an_error_is_one() -> None:
    proven = finding("NUM006", 4).model_copy(update={"confidence": "proven"})
    states = (program(FIRST, finding("NUM006", 3, "warning")), program(FIXED, proven, fixed=True))
    assert [one.severity for one in gather(states)] == ["error"]


def test_an_inserted_line_stands_for_the_one_above_it() -> None:
    way = Way("a\nb\n", "a\nx\ny\nb\n", (1, 2))
    assert [way.line(number) for number in (1, 2, 3, 4)] == [1, 1, 1, 2]
    assert way.changed == {2, 3}


def ran(program: Program) -> Program:
    run = Run(workload="w", device="sim", status="ran")
    evaluation = program.evaluation.model_copy(update={"runs": (run,)})
    return replace(program, evaluation=evaluation)


def guess(rule: str, line: int, severity: str = "error") -> Finding:
    return finding(rule, line, severity).model_copy(update={"evidence": (), "predicts": "race"})


def test_runs_of_a_fixed_form_take_back_what_they_do_not_show() -> None:
    first, later = program(FIRST, guess("SYN002", 3)), program(FIXED, fixed=True)
    assert gather((first, ran(later))) == ()
    assert len(gather((first, later))) == 1  # it was not run either
    on_the_fixed_line = program(FIRST, guess("SYN002", 2))
    assert len(gather((on_the_fixed_line, ran(later)))) == 1


def test_runs_of_a_fixed_form_say_what_a_finding_weighs() -> None:
    first, later = program(FIRST, guess("SYN002", 3)), program(FIXED, guess("SYN002", 4, "note"))
    assert [one.severity for one in gather((first, ran(later)))] == ["note"]
    assert [one.severity for one in gather((first, later))] == ["error"]
