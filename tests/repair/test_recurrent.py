"""Recurrent layers in composed programs: how their steps are called, and which have none."""

from __future__ import annotations

import pytest

from grader import execution, sandbox
from grader.repair.compose import UncoveredError, compose, read_graph

REFERENCE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.layer = LAYER

    def forward(self, x, h, c):
        FORWARD


def get_inputs():
    return [torch.rand(3, 5, 8), torch.rand(4, 3, 6), torch.rand(4, 3, 6)]


def get_init_inputs():
    return [8, 6]
"""
BOTH = "layers=2, bidirectional=True, batch_first=True".replace("layers", "num_layers")


def composed(layer: str, forward: str) -> str:
    text = REFERENCE.replace("LAYER", layer).replace("FORWARD", forward)
    graph = read_graph(execution.trace(text, sandbox.strongest(), sandbox.Limits()))
    made = compose(text, graph, "Layer", "ops")
    assert made.families == ("recurrent",)
    return made.code


def test_a_layer_is_called_with_its_own_parameters_and_gives_what_the_module_gives() -> None:
    code = composed(
        f"nn.LSTM(features, hidden, {BOTH})",
        "out, state = self.layer(x, (h, c))\n        return out, state[1]",
    )
    assert "layer = ops.lstm_forward(x, h, c, list(self.layer.parameters()), 2, True, True)" in code
    assert (
        "std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> lstm_forward(" in code
    )
    assert "constexpr int kGates = 4;" in code


def test_a_gru_has_one_state_and_begins_with_zeros_where_none_is_given() -> None:
    code = composed("nn.GRU(features, hidden)", "return self.layer(x)[1]")
    assert "ops.gru_forward(x, None, list(self.layer.parameters()), 1, False, False)" in code
    assert "const float* __restrict__ cell" not in code
    assert "kGates = 3" in code


def test_a_plain_layer_may_take_a_relu() -> None:
    code = composed('nn.RNN(features, hidden, nonlinearity="relu")', "return self.layer(x, h)[0]")
    assert "fmaxf(0.0f, from_x[0][r] + from_h[0][r])" in code


def test_a_projection_is_not_covered() -> None:
    with pytest.raises(UncoveredError, match="projection"):
        composed("nn.LSTM(features, hidden, proj_size=2)", "return self.layer(x)[0]")
