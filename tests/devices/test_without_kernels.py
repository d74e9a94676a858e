"""What a program's results without its kernels say of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from grader.devices import state_check
from grader.devices.base import RunResult
from grader.judge import References
from grader.judge.side_effects import IDLE
from grader.records import Build, Comparison, Run, Submission, Task, TensorSpec, Workload
from grader.records.observed import KERNELS_MATTER
from grader.sandbox import GuestResult
from tests.rules.examples import as_submission

LOAD = Workload(name="n", role="nominal", inputs=(TensorSpec(shape=(4,)),))
TASK = Task(name="t", title="t", source="file", reference="", workloads=(LOAD,))
PROGRAM = Submission(sample="s", code="", line_map=(), how="test")


@pytest.mark.parametrize(
    ("status", "equal", "counts", "codes"),
    [
        ("ran", True, True, [IDLE]),
        ("ran", False, True, [KERNELS_MATTER]),
        ("ran", True, False, []),
        ("raised", False, True, []),
    ],
)
def test_same_results_or_other_ones(
    status: Any, equal: bool, counts: bool, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(workload="n", device="sim", status=status, operators={"aten::relu": 1})
    device: Any = SimpleNamespace(run_idle=lambda *_: [RunResult(run, GuestResult("n", status))])
    compared = Comparison(workload="n", role="nominal", equal=equal, decides=counts)
    monkeypatch.setattr(state_check, "compare", lambda *_: compared)
    references = References("t", 0, inputs={"n": ()})
    build = Build(status="built", device="sim")
    found = state_check.without_kernels(device, PROGRAM, build, TASK, references)
    assert [item.code for item in found] == codes


@pytest.mark.parametrize(("code", "said"), [("", "no kernel of its own"), ("KERNEL", "left out")])
def test_a_program_without_kernels_is_not_said_to_have_some(
    code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(workload="n", device="sim", status="ran", operators={"aten::relu": 1})
    device: Any = SimpleNamespace(run_idle=lambda *_: [RunResult(run, GuestResult("n", "ran"))])
    compared = Comparison(workload="n", role="nominal", equal=True, decides=True)
    monkeypatch.setattr(state_check, "compare", lambda *_: compared)
    text = as_submission("__global__ void k(float* y) { y[0] = 1.0f; }") if code else code
    build = Build(status="built", device="sim")
    references = References("t", 0, inputs={"n": ()})
    program = PROGRAM.model_copy(update={"code": text})
    (found,) = state_check.without_kernels(device, program, build, TASK, references)
    assert said in found.text
