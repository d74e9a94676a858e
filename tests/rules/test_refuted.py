"""What a build and runs showed decides what is left of a finding."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.records import (
    Build,
    Comparison,
    Context,
    Evidence,
    Finding,
    Launch,
    LineCount,
    Outcome,
    Place,
    Prediction,
    Run,
)
from grader.rules import all_rules
from grader.rules.refuted import IN_KERNELS, weighed_by_runs
from grader.source import parse
from tests.rules.examples import as_submission

KERNEL = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    } else {
        y[0] = 0.0f;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
CODE = as_submission(KERNEL)
SOURCE = parse(CODE)
BUILT = Build(status="built", device="sim")
REFUSED = Build(status="failed", device="sim")


def line(words: str) -> int:
    return next(number for number, text in enumerate(CODE.splitlines(), 1) if words in text)


TAKEN, OTHER, LAUNCH = line("2.0f"), line("y[0] = 0"), line("<<<")


def claim(predicts: Prediction, at: int = TAKEN, **more: object) -> Finding:
    place = Place(line=at, end_line=at, language="cuda")
    given = {"rule": "XXX001", "name": "x", "severity": "error", "confidence": "likely"}
    return Finding.model_validate(
        {**given, "message": "it is wrong", "place": place, "predicts": predicts, **more}
    )


def ran(status: str = "ran", kernel: str = "twice", lines: tuple[int, ...] = (TAKEN,)) -> Run:
    launch = Launch(kernel=kernel, grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0)
    counts = tuple(LineCount(kernel=kernel, line=each, instructions=8) for each in lines)
    return Run.model_validate(
        {
            "workload": "w",
            "device": "sim",
            "status": status,
            "launches": (launch,),
            "counts": counts,
        }
    )


def compared(*, equal: bool = True, role: str = "nominal") -> Comparison:
    return Comparison(workload="w", role=role, equal=equal)


def outcome(
    *runs: Run, build: Build | None = BUILT, equal: bool = True, role: str = "nominal"
) -> Outcome:
    comparisons = (compared(equal=equal, role=role),) if runs else ()
    return Outcome(build, runs, comparisons)


def weigh(
    finding: Finding, seen: Outcome | None, *others: Finding, device: str = "sim", certain: str = ""
) -> str:
    """Return the severity that is left of a finding; empty where it is dropped."""
    evidence = tuple(item for run in (seen.runs if seen else ()) for item in run.evidence)
    context = Context(device=device, outcome=seen, evidence=evidence)
    left = weighed_by_runs((finding, *others), SOURCE, context, frozenset({certain}))
    return next((one.severity for one in left if one.message.startswith(finding.message)), "")


RIGHT = outcome(ran())
TEXT_ONLY = Outcome()


@pytest.mark.parametrize("predicts", sorted(IN_KERNELS))
def test_a_run_that_came_by_the_line_and_showed_nothing_takes_it_back(predicts: Prediction) -> None:
    assert weigh(claim(predicts), RIGHT) == ""


@pytest.mark.parametrize("predicts", sorted(IN_KERNELS))
def test_where_no_run_came_by_the_line_it_is_a_note(predicts: Prediction) -> None:
    assert weigh(claim(predicts, OTHER), RIGHT) == "note"


@pytest.mark.parametrize("predicts", sorted(IN_KERNELS))
def test_a_kernel_that_was_not_launched_is_not_covered(predicts: Prediction) -> None:
    other = outcome(ran(kernel="another"))
    assert weigh(claim(predicts), other) == "warning"


@pytest.mark.parametrize("predicts", sorted(IN_KERNELS))
def test_where_a_run_shows_something_it_is_not_taken_back(predicts: Prediction) -> None:
    shows = Evidence(kind="simulator", code="race", text="seen", kernel="twice")
    seen = outcome(ran().model_copy(update={"evidence": (shows,)}))
    assert weigh(claim(predicts), seen) == "warning"


def test_a_kernel_that_did_not_end_takes_nothing_back() -> None:
    trap = Evidence(kind="simulator", code="trap", text="seen", kernel="twice")
    proven = claim("traps", OTHER, message="the proven one", evidence=(trap,))
    seen = outcome(ran("raised").model_copy(update={"evidence": (trap,)}))
    assert weigh(claim("race"), seen) == "error"  # nothing better explains it
    assert weigh(claim("race"), seen, proven) == "warning"


def test_conditions_stay_as_a_note_that_names_them() -> None:
    finding = claim("race", conditions="another order of the blocks")
    context = Context(device="sim", outcome=RIGHT)
    (left,) = weighed_by_runs((finding,), SOURCE, context, frozenset())
    assert left.severity == "note"
    assert "it takes another order of the blocks" in left.message


def test_a_build_that_passes_takes_back_what_should_stop_it() -> None:
    assert weigh(claim("build-fails"), outcome()) == ""
    assert weigh(claim("build-fails"), outcome(build=REFUSED)) == "error"
    lazy = BUILT.model_copy(update={"lazy": True})
    assert weigh(claim("build-fails"), outcome(build=lazy)) == "warning"
    assert weigh(claim("build-fails"), outcome(ran(), build=lazy)) == ""


def test_values_that_came_out_right_take_back_that_they_are_wrong() -> None:
    assert weigh(claim("wrong-values"), RIGHT) == ""
    assert weigh(claim("wrong-values"), outcome(ran(), equal=False)) == "error"
    assert weigh(claim("wrong-values"), outcome(ran(), equal=False, role="general")) == "warning"
    at_full_size = claim("wrong-values", workload="full")
    assert weigh(at_full_size, RIGHT) == "warning"


def test_a_launch_takes_back_that_there_is_none() -> None:
    assert weigh(claim("no-launch", kernels=("twice",)), RIGHT) == ""
    assert weigh(claim("no-launch", kernels=("idle",)), RIGHT) == "error"
    assert weigh(claim("no-launch", kernels=("idle",)), TEXT_ONLY) == "warning"


PYTHON = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = first(x)
        if x.dim() > 9:
            y = second(x)
        return y
"""


@pytest.mark.parametrize(("at", "left"), [(4, ""), (6, "note")])
def test_python_that_ran_to_its_end_raised_nothing_on_its_way(at: int, left: str) -> None:
    finding = claim("raises", place=Place(line=at, end_line=at))
    context = Context(device="sim", outcome=RIGHT)
    found = list(weighed_by_runs((finding,), parse(PYTHON), context, frozenset()))
    assert [one.severity for one in found] == ([left] if left else [])


@pytest.mark.parametrize("predicts", ["race", "out-of-bounds", "unwritten-read", "barrier"])
def test_a_gpu_shows_no_race_and_takes_none_back(predicts: Prediction) -> None:
    assert weigh(claim(predicts), RIGHT, device="cuda") == "warning"
    wrong = outcome(ran(), equal=False)
    assert weigh(claim(predicts), wrong, device="cuda") == "error"


def test_the_text_alone_makes_a_warning_but_of_what_is_certain() -> None:
    assert weigh(claim("race"), TEXT_ONLY) == "warning"
    assert weigh(claim("race"), TEXT_ONLY, certain="XXX001") == "error"
    assert weigh(claim("nothing"), TEXT_ONLY) == "error"
    assert weigh(claim("race"), None) == "error"


@given(
    st.sampled_from(get_args(Prediction)),
    st.sampled_from([TAKEN, OTHER, LAUNCH, 1]),
    st.sampled_from(["sim", "cuda"]),
    st.sampled_from(["error", "warning", "note"]),
)
def test_beside_a_right_result_no_unproven_error_is_left(
    predicts: Prediction, at: int, device: str, severity: str
) -> None:
    if predicts in {"nothing", "no-launch"}:
        return
    left = weigh(claim(predicts, at, severity=severity), RIGHT, device=device)
    assert left != "error"


@given(st.sampled_from(get_args(Prediction)), st.booleans(), st.booleans())
def test_what_is_proven_is_never_weighed(predicts: Prediction, equal: bool, built: bool) -> None:
    proof = Evidence(kind="simulator", code="race", text="seen")
    seen = replace(outcome(ran(), equal=equal), build=BUILT if built else REFUSED)
    assert weigh(claim(predicts, evidence=(proof,)), seen) == "error"


def test_each_rule_that_accuses_predicts_something() -> None:
    for rule in all_rules().values():
        behind = {"SYN", "RED", "MEM", "NUM", "IDX", "BLD"}
        accuses = rule.code[:3] in behind and rule.severity != "note"
        assert rule.prediction != "nothing" or not accuses, rule.code
