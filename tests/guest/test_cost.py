"""What a reference costs, and from how many values its norms take their statistics."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.guest.cost import On


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_each_step_of_a_recurrent_layer_meets_all_its_matrices_once(layer, two) -> None:
    made = layer(8, 16, 2, bidirectional=two)
    each = sum(weight.numel() for weight in made.parameters() if weight.dim() == 2)
    with On("cpu") as cost, torch.no_grad():
        made(torch.rand(50, 3, 8))
    assert cost.flops == 2 * 50 * 3 * each


def fewest(module: nn.Module, *shape: int) -> int:
    with On("cpu") as cost, torch.no_grad():
        module(torch.rand(*shape))
    return cost.fewest


def test_a_norm_says_how_many_values_it_goes_over() -> None:
    assert fewest(nn.BatchNorm2d(4), 2, 4, 3, 5) == 30
    assert fewest(nn.BatchNorm1d(4), 7, 4) == 7
    assert fewest(nn.InstanceNorm2d(4), 2, 4, 3, 5) == 15
    assert (
        fewest(nn.Sequential(nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.BatchNorm2d(4)), 2, 4, 2, 2)
        == 2
    )


def test_what_takes_no_statistics_goes_over_none() -> None:
    assert fewest(nn.BatchNorm2d(4).eval(), 2, 4, 3, 5) == 0
    assert fewest(nn.Linear(4, 4), 2, 4) == 0
