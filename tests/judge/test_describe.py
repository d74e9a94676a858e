"""Which workloads are made of what a guest says of a problem's sizes."""

from __future__ import annotations

import pytest
import torch

from grader.execution.strong_sizes import find_strong_sizes
from grader.guest import describe
from grader.guest.cost import On
from grader.judge.candidates import COSTLY, describe_candidates
from grader.judge.sizes import HUGE, MOST, SMALL
from grader.sandbox import Limits, strongest
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


def made_of(cost: dict[str, int], *left_out: dict[str, object]):
    """Describe a problem whose images can't get smaller, as a guest would; with sizes that it left out."""
    found = chains(PROBLEM)
    spatial = [i for i, chain in enumerate(found) if chain.kind == "spatial"]
    facts = [
        [fact(chain.variants[0].batch, cost)]
        if i in spatial and chain.variants[0].batch <= 2
        else []
        for i, chain in enumerate(found)
    ]
    facts[spatial[-1]] += left_out
    description = {"full": fact(10, cost), "chains": facts, "values": [{"low": 0.0, "high": 1.0}]}
    return describe_candidates(found, description)


def cost_at(limits) -> dict[str, int]:
    """Return what a batch of two costs that is just within the limits."""
    return {name: number // 2 for name, number in limits.items() if name != "size"}


@pytest.mark.parametrize("limits", [SMALL, MOST])
def test_what_runs_in_seconds_gets_every_kind_of_workload(limits):
    made = made_of(cost_at(limits)).workloads()
    assert {w.role for w in made.all} == {"nominal", "stress", "general", "full"}
    assert any(w.weights == "drawn" for w in made.all)
    assert not made.chosen.huge


def test_what_takes_long_for_each_run_gets_one_workload():
    known = made_of(cost_at(HUGE))
    made = known.workloads()
    assert [(w.role, w.inputs[0].shape[0]) for w in made.all] == [("nominal", 2), ("full", 10)]
    assert [w.costly for w in made.all] == [True, False]
    assert made.length >= 25088
    found = find_strong_sizes(known, PROBLEM, strongest(), Limits())
    assert found.workloads == made.all
    assert found.note == COSTLY


def test_what_takes_minutes_gets_none_and_says_so():
    known = made_of({name: 3 * n for name, n in cost_at(HUGE).items()})
    assert known.workloads() is None
    assert "small enough" in known.missing


def test_results_in_a_dict_are_described_in_their_order():
    def model(x):
        return {"top": x[:2], "more": (x.sum(), 3)}

    made = describe._ran(lambda _: model, [torch.ones(4)], [], On("cpu"))
    assert made["outputs"] == [
        {"shape": [2], "dtype": "float32"},
        {"shape": [], "dtype": "float32"},
        {"value": 3},
    ]


@pytest.mark.parametrize(("limits", "settled"), [(SMALL, True), (MOST, False)])
def test_sizes_left_out_for_their_weights_are_asked_for_where_no_other_is_small(limits, settled):
    heavy = {"ok": False, "error": "", "weights": 2 * MOST["weights"]}
    assert made_of(cost_at(limits)).settled
    assert made_of(cost_at(limits), heavy).settled == settled
