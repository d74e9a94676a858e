"""Weights that a reference is called with for once are as they were afterwards."""

from __future__ import annotations

import pytest
import torch

from grader.guest.altered import hold_altered


def model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Linear(4, 4)


@pytest.mark.parametrize(
    "change", [{"zero": ["weight"]}, {"redraw": ["weight", "bias"]}, {"swap": ["weight", 0, 1]}]
)
def test_a_change_holds_inside_alone(change):
    linear, given = model(), torch.ones(2, 4)
    before = linear(given)
    with hold_altered(linear, change):
        assert not torch.equal(linear(given), before)
    assert torch.equal(linear(given), before)


def test_what_each_change_is():
    linear = model()
    weight = linear.weight.detach().clone()
    with hold_altered(linear, {"zero": ["bias"]}):
        assert not linear.bias.any()
        assert torch.equal(linear.weight, weight)
    with hold_altered(linear, {"swap": ["weight", 0, 1]}):
        assert torch.equal(linear.weight, weight.T)
    with hold_altered(linear, None):
        assert torch.equal(linear.weight, weight)


def test_weights_are_put_back_after_an_exception():
    linear = model()
    weight = linear.weight.detach().clone()
    with pytest.raises(ValueError, match="forward"), hold_altered(linear, {"zero": ["weight"]}):
        raise ValueError("forward")
    assert torch.equal(linear.weight, weight)
