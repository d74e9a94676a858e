"""What is said of a wrong result for want of a better explanation gives way to one."""

from __future__ import annotations

from grader.records import Confidence, Counterfactual, Evidence, Finding, Severity
from grader.records.changes import OtherConstant
from grader.rules.merge import is_caused, is_explained, merge


def proven_by_a_run(severity: Severity, confidence: Confidence = "proven") -> Finding:
    seen = Evidence(
        kind="simulator", code="unwritten-output", text="never written", workload="1x31"
    )
    return Finding(
        rule="IDX006",
        name="launch-fails",
        severity=severity,
        confidence=confidence,
        message="the last three elements are never written",
        evidence=(seen,),
    )


def last_resort(severity: Severity, workload: str = "1x31") -> Finding:
    wrong = Evidence(kind="mismatch", code="columns", text="3 of 31", workload=workload)
    return Finding(
        rule="NUM001",
        name="computes-something-else",
        severity=severity,
        confidence="likely",
        message="the kernel computes something else",
        evidence=(wrong,),
        last_resort=True,
    )


def rules(*findings: Finding) -> list[str]:
    return [finding.rule for finding in merge(findings)]


def test_an_error_explains_a_wrong_result() -> None:
    assert rules(proven_by_a_run("error"), last_resort("error")) == ["IDX006"]
    assert rules(proven_by_a_run("error"), last_resort("warning")) == ["IDX006"]


def test_a_remark_explains_what_is_wrong_at_other_sizes_only() -> None:
    assert rules(proven_by_a_run("warning"), last_resort("warning")) == ["IDX006"]
    assert rules(proven_by_a_run("warning"), last_resort("error")) == ["NUM001", "IDX006"]
    assert rules(proven_by_a_run("warning", "likely"), last_resort("warning")) == [
        "NUM001",
        "IDX006",
    ]


def test_nothing_explains_what_went_wrong_elsewhere() -> None:
    elsewhere = last_resort("error", workload="2x33")
    assert rules(proven_by_a_run("error"), elsewhere) == ["NUM001", "IDX006"]


def test_a_change_that_makes_all_right_takes_in_the_access_out_of_bounds_that_it_ends() -> None:
    outside = proven_by_a_run("error").model_copy(update={"rule": "MEM011"})
    change = Counterfactual(change=OtherConstant("1", "0"), right_before=0.0)
    seen = Evidence(kind="provenance", code="counterfactual-constant", text="right", details=change)
    right = outside.model_copy(update={"rule": "DEP006", "evidence": (seen,), "root_cause": True})
    assert is_explained([outside])
    assert not is_caused([outside])
    assert is_caused([outside, right])
    (found,) = merge([outside, right])
    assert found.rule == "DEP006"
    assert len(found.evidence) == 2
    claimed = proven_by_a_run("error", "likely")
    _, other = merge([right, claimed])
    assert (other.rule, other.severity) == ("IDX006", "warning")
