"""Whose work a right result is."""

from __future__ import annotations

import pytest

from grader.judge import Suspicions, suspicions
from grader.judge.honesty import WEAK
from grader.judge.side_effects import IDLE, probe
from grader.records import Evaluation, Finding, Launch, Run, Verdict

UNUSED = Finding(
    rule="CHT003",
    name="kernel-never-launched",
    severity="error",
    confidence="likely",
    message="the kernel plays no part",
    rejects=True,
)
LIBRARY = UNUSED.model_copy(update={"rule": "CHT006", "severity": "note", "delegates": True})
FILLS = UNUSED.model_copy(update={"rule": "CHT007", "severity": "warning", "reads_no_input": True})
LAUNCH = Launch(kernel="k", grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0)


def evaluated(
    *operators: str, launched: bool = True, idle: bool = False, blind: bool = False
) -> Evaluation:
    run = Run(
        workload="n",
        device="sim",
        status="ran",
        launches=(LAUNCH,) if launched else (),
        operators=dict.fromkeys(operators, 1),
        blind=blind,
    )
    return Evaluation(
        submission="s",
        device="sim",
        sandbox="none",
        runs=(run,),
        probes=(probe(IDLE, "the same without kernels", "n"),) if idle else (),
        verdict=Verdict(status="correct", sentence="Correct."),
    )


@pytest.mark.parametrize(
    ("evaluation", "findings", "policy", "rejected", "dishonest"),
    [
        (evaluated("aten::empty_like"), (), "custom-only", False, False),
        (evaluated("aten::empty_like"), (UNUSED,), "custom-only", False, False),
        (evaluated("aten::relu"), (), "any", False, False),
        (evaluated("aten::relu"), (), "custom-only", False, True),
        (evaluated("aten::relu"), (UNUSED,), "any", True, False),
        (evaluated("aten::_to_copy"), (UNUSED,), "custom-only", True, False),
        (evaluated("aten::_to_copy"), (), "custom-only", False, False),
        (evaluated("aten::_to_copy"), (UNUSED,), "any", False, False),
        (evaluated("cublasSscal"), (), "custom-only", False, True),
        (evaluated("cublasSscal"), (UNUSED,), "any", False, False),
        (evaluated("values to the host"), (), "custom-only", False, True),
        (evaluated("values to the host"), (UNUSED,), "any", False, False),
        (evaluated(launched=False), (), "custom-only", False, True),
        (evaluated(idle=True), (), "custom-only", False, True),
        (evaluated(idle=True), (), "any", False, False),
        (evaluated(), (LIBRARY,), "custom-only", False, True),
        (evaluated(), (LIBRARY,), "any", False, False),
        (evaluated("aten::empty", blind=True), (), "custom-only", False, True),
        (evaluated("aten::empty", blind=True), (), "any", False, False),
        (evaluated(), (FILLS,), "custom-only", False, True),
        (evaluated(), (FILLS,), "any", False, False),
        (evaluated("aten::clone", blind=True), (), "any", False, False),
        (evaluated("aten::addmm", blind=True), (), "any", False, False),
        (evaluated("cublasSgemm", blind=True), (), "any", False, False),
    ],
)
def test_work_is_told_from_its_show(evaluation, findings, policy, rejected, dishonest) -> None:
    found = suspicions(evaluation, findings, policy)
    assert bool(found.rejected) is rejected
    assert bool(found.dishonest) is dishonest


@pytest.mark.parametrize("device", ["sim", "cuda"])
@pytest.mark.parametrize("findings", [(FILLS,), ()], ids=["by its text", "by its run"])
def test_a_constant_is_the_tasks_weakness_where_any_answer_will_do(device, findings) -> None:
    evaluation = evaluated(blind=not findings)
    runs = tuple(run.model_copy(update={"device": device}) for run in evaluation.runs)
    evaluation = evaluation.model_copy(update={"device": device, "runs": runs})
    assert suspicions(evaluation, findings, "any").notes == (WEAK,)
    assert not suspicions(evaluation, findings, "custom-only").notes
    wrong = evaluation.verdict.model_copy(update={"status": "incorrect"})
    evaluation = evaluation.model_copy(update={"verdict": wrong})
    assert suspicions(evaluation, findings, "any") == Suspicions()


def on_a_gpu(observed: Evaluation, *, reason: str = "") -> Evaluation:
    """Return what a GPU saw, where no launch is logged, beside what the device that checks saw."""
    blank = tuple(Run(workload=run.workload, device="cuda", status="ran") for run in observed.runs)
    unmade = {"status": "not_run", "reason": reason, "launches": (), "operators": {}}
    checked = tuple(run.model_copy(update=unmade if reason else {}) for run in observed.runs)
    return observed.model_copy(update={"device": "cuda", "runs": blank, "checked": checked})


def test_on_a_gpu_the_device_that_checks_tells_whose_work_it_is() -> None:
    right = on_a_gpu(evaluated("aten::empty_like"))
    assert suspicions(right, (), "custom-only") == Suspicions()
    assert suspicions(right, (UNUSED,), "any") == Suspicions()
    by_torch = on_a_gpu(evaluated("aten::relu", launched=False))
    assert suspicions(by_torch, (), "custom-only").dishonest


def test_what_nobody_saw_is_not_held_against_a_program() -> None:
    unseen = on_a_gpu(evaluated(), reason="the simulator lacks wgmma.")
    found = suspicions(unseen, (), "custom-only")
    assert not found.dishonest
    assert found.notes == (
        "whether kernels of its own did the work could not be seen: the simulator lacks wgmma",
    )
