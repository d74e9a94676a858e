"""Which workloads are made of what a guest says of a problem's sizes."""

from __future__ import annotations

import pytest

from grader.judge.describe import workloads_of
from grader.judge.sizes import HUGE, MOST, SMALL
from grader.tasks.scale import chains

PROBLEM = """
batch_size = 10

def get_inputs():
    return [torch.rand(batch_size, 3, 224, 224)]
"""


def fact(batch: int, cost: dict[str, int]) -> dict[str, object]:
    return {
        "ok": True,
        "inputs": [{"shape": [batch, 3, 224, 224], "dtype": "float32"}],
        "outputs": [{"shape": [batch, 1000], "dtype": "float32"}],
        "init": [1000],
        "size": batch * 3 * 224 * 224,
        "fan_in": 25088,
        "fewest": 0,
        **{name: number * batch for name, number in cost.items()},
    }


def made_of(cost: dict[str, int]):
    """Describe a problem whose images can't get smaller, as a guest would."""
    found = chains(PROBLEM)
    spatial = [i for i, chain in enumerate(found) if chain.kind == "spatial"]
    facts = [
        [fact(chain.variants[0].batch, cost)]
        if i in spatial and chain.variants[0].batch <= 2
        else []
        for i, chain in enumerate(found)
    ]
    description = {"full": fact(10, cost), "chains": facts, "values": [{"low": 0.0, "high": 1.0}]}
    return workloads_of(found, description)


def cost_at(limits) -> dict[str, int]:
    """Return what a batch of two costs that is just within the limits."""
    return {name: number // 2 for name, number in limits.items() if name != "size"}


@pytest.mark.parametrize("limits", [SMALL, MOST])
def test_what_runs_in_seconds_gets_every_kind_of_workload(limits):
    workloads, _, note = made_of(cost_at(limits))
    assert {w.role for w in workloads} == {"nominal", "stress", "general", "full"}
    assert any(w.weights == "drawn" for w in workloads)
    assert not note


def test_what_takes_long_for_each_run_gets_one_workload():
    workloads, length, note = made_of(cost_at(HUGE))
    assert [(w.role, w.inputs[0].shape[0]) for w in workloads] == [("nominal", 2), ("full", 10)]
    assert [w.costly for w in workloads] == [True, False]
    assert length >= 25088
    assert "races are not looked for" in note


def test_what_takes_minutes_gets_none_and_says_so():
    workloads, _, note = made_of({name: 3 * n for name, n in cost_at(HUGE).items()})
    assert workloads == ()
    assert "small enough" in note
