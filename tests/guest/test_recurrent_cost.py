"""What a recurrent layer costs: each step of each sample meets all matrices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.guest.describe import On


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_is_not_free(layer: type[nn.LSTM]) -> None:
    made = layer(8, 16, 2)
    each = sum(weight.numel() for weight in made.parameters() if weight.dim() == 2)
    with On("cpu") as cost, torch.no_grad():
        made(torch.rand(50, 3, 8))
    least = 2 * 50 * 3 * each
    assert least <= cost.flops <= 1.2 * least
