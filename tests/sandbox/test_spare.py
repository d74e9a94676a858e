"""What a workload takes is foreseen from others, so that one that would not end in time is not begun."""

from __future__ import annotations

import numpy as np
import pytest

from grader.sandbox import GuestJob, GuestResult, GuestWorkload, Limits, converse, strongest
from grader.sandbox.session import foreseen_seconds


@pytest.mark.parametrize(
    ("took", "elements", "seconds"),
    [
        ({}, 1000, 0.0),  # nothing is known: it is begun
        ({1000: 2.0, 10: 0.1}, 1000, 2.0),  # as one of its size
        ({1000: 2.0, 10: 0.1}, 10, 0.1),  # not as a larger one, where one of its size is known
        ({1000: 2.0, 10: 0.1}, 4000, 8.0),  # by the largest: a small one tells of its start alone
    ],
)
def test_a_workload_takes_as_long_as_those_of_its_size(
    took: dict[int, float], elements: int, seconds: float
) -> None:
    asked = [GuestWorkload(str(size), (), elements=size) for size in took]
    ran = [GuestResult(str(size), "ran", seconds=spent) for size, spent in took.items()]
    late = GuestResult("late", "timeout", seconds=99.0)
    known = [*asked, GuestWorkload("late", (), elements=9)]
    workload = GuestWorkload("next", (), elements=elements, spare=True)
    assert foreseen_seconds(workload, known, [*ran, late]) == seconds


SLOW = """
import time
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        time.sleep(len(x) / 10)
        return x
"""


def test_what_would_not_end_in_time_is_not_begun_and_the_rest_is() -> None:
    sizes = {"one": 2, "much": 20_000, "small": 1}
    loads = tuple(
        GuestWorkload(name, (np.ones(size, np.float32),), elements=size, spare=name != "one")
        for name, size in sizes.items()
    )
    job = GuestJob("reference", SLOW, "Model", "cpu", loads, init=())
    reply = converse(job, strongest(), Limits(wall=60))
    assert reply.status == "done"
    assert [(one.status, one.spared) for one in reply.results] == [
        ("ran", False),
        ("not_run", True),
        ("ran", False),
    ]
    assert "left out: it would take about" in reply.results[1].reason
