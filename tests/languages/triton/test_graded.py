"""Triton programs from a transcript to a verdict, on the simulator."""

from __future__ import annotations

from tests.languages.triton.conftest import Graded
from tests.languages.triton.programs import RELU


def test_a_right_kernel_is_correct_and_its_launches_are_told(graded: Graded) -> None:
    found = graded(RELU)
    assert found.verdict.status == "correct"
    launches = [one for run in found.evaluation.runs for one in run.launches]
    assert {one.kernel for one in launches} == {"relu_kernel"}
    assert {one.block for one in launches} == {(128, 1, 1)}
    assert not any(finding.severity == "error" for finding in found.findings)


def test_wrong_values_are_incorrect(graded: Graded) -> None:
    assert graded(RELU.replace("(x, 0.0)", "(x, 0.5)")).verdict.status == "incorrect"


def test_a_store_without_mask_is_found_at_its_line(graded: Graded) -> None:
    found = graded(RELU.replace(", 0.0), mask=mask)", ", 0.0))"))
    (outside,) = (one for one in found.findings if one.rule == "MEM011")
    assert outside.place is not None
    assert outside.place.excerpt == "tl.store(y_ptr + offsets, tl.maximum(x, 0.0))"
