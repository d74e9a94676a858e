"""Which of compute-sanitizer's tools look at a program."""

from __future__ import annotations

import pytest

from grader.devices.sanitizer import ALL, telling, tools_for
from grader.records import Evaluation, Role, Run, RunStatus, TensorSpec, Verdict, Workload

from .conftest import a_task


@pytest.mark.parametrize(
    ("status", "wish", "expected"),
    [
        ("incorrect", None, ALL),
        ("hung", None, ("synccheck",)),
        ("crashed", None, ("memcheck",)),
        ("correct", None, ()),
        ("correct", True, ALL),
        ("incorrect", False, ()),
    ],
)
def test_what_went_wrong_is_looked_at_unless_all_or_none_is_wished(
    status: str, wish: bool | None, expected: tuple[str, ...]
) -> None:
    assert tools_for(status, wish) == expected


def test_the_smallest_that_went_wrong_and_decides_is_looked_at() -> None:
    hung: tuple[Role, RunStatus] = ("nominal", "hung")
    cases: dict[str, tuple[int, tuple[Role, RunStatus]]] = {
        "never reached": (3, ("nominal", "not_run")),
        "decides nothing": (4, ("general", "hung")),
        "small": (10, hung),
        "large": (90, hung),
    }
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(size, size)),))
        for name, (size, (role, _)) in cases.items()
    )
    task = a_task((0,)).model_copy(update={"workloads": workloads})
    statuses = [(name, status) for name, (_, (_, status)) in cases.items()]
    evaluation = Evaluation(
        submission="x",
        device="cuda",
        sandbox="none",
        verdict=Verdict(status="hung", sentence="It never ends."),
        runs=tuple(Run(workload=name, device="cuda", status=status) for name, status in statuses),
    )
    looked_at = telling(task, evaluation)
    assert looked_at is not None
    assert looked_at.name == "small"
