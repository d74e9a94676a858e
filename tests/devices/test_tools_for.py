"""Which of compute-sanitizer's tools look at a program."""

from __future__ import annotations

import pytest

from grader.devices.sanitizer import ALL, telling, tools_for
from grader.records import Evaluation, Run, TensorSpec, Verdict, Workload

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


def test_the_smallest_that_went_wrong_is_looked_at_not_what_was_never_reached() -> None:
    shapes = {"never reached": (3,), "large": (90, 90), "small": (10, 10)}
    workloads = tuple(
        Workload(name=name, role="nominal", inputs=(TensorSpec(shape=shape),))
        for name, shape in shapes.items()
    )
    task = a_task((0,)).model_copy(update={"workloads": workloads})
    statuses = zip(shapes, ("not_run", "hung", "hung"), strict=True)
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
