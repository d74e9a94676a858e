"""What a call gives where gradients are asked: results, then a gradient each, in the form of the reference's."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from grader.guest.backward import Caller
from grader.guest.matching import Origin


def asked(*by: str, way: str = "once", upstream: int = 1) -> dict[str, Any]:
    return {"kind": "backward", "by": list(by), "upstream": upstream, "way": way}


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


X, G = torch.tensor([[1.0, 4.0], [5.0, 6.0]]), torch.tensor([[1.0, 10.0], [100.0, 1000.0]])


def test_gradients_follow_the_results_in_the_order_that_was_asked() -> None:
    with torch.no_grad():
        y, weight, x = Caller(Scaled())(X, G, asked("weight", "input 1"))
    assert torch.equal(y, X * torch.tensor([2.0, 3.0]))
    assert torch.equal(weight, (X * G).sum(0))
    assert torch.equal(x, G * torch.tensor([2.0, 3.0]))


def test_a_call_without_the_question_is_the_models_own() -> None:
    assert torch.equal(Caller(Scaled())(X), Scaled()(X))


def test_an_upstream_gradient_of_ones_as_dims_is_expanded() -> None:
    (_, x) = Caller(Scaled())(X, torch.tensor([[7.0]]), asked("input 1"))
    assert torch.equal(x, torch.tensor([[14.0, 21.0], [14.0, 21.0]]))


def test_without_grad_there_are_results_alone() -> None:
    with torch.no_grad():
        (y,) = Caller(Scaled())(X, G, asked("input 1", way="without grad"))
    assert not y.requires_grad


class Spoiling(torch.autograd.Function):
    """Its backward overwrites what forward saved."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.saved = x.clone()
        return x * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return ctx.saved.mul_(2 * g)


def test_a_second_pass_shows_what_the_first_has_spoiled() -> None:
    def gradient(way: str) -> torch.Tensor:
        return Caller(Spoiling.apply)(X, G, asked("input 1", way=way))[1]

    assert torch.equal(gradient("once"), 2 * X * G)
    assert not torch.equal(gradient("twice"), 2 * X * G)


def test_no_graph_and_no_such_parameter_give_an_empty_tensor() -> None:
    (_, x) = Caller(torch.detach)(X, G, asked("input 1"))
    (_, y, weight) = Caller(torch.relu)(X, G, asked("input 1", "weight"))
    assert x.shape == weight.shape == (0,)
    assert y.shape == X.shape


def test_what_plays_no_part_in_the_reference_has_a_gradient_of_zero() -> None:
    (_, x) = Caller(torch.detach, exact=True)(X, G, asked("input 1"))
    assert torch.equal(x, torch.zeros_like(X))


def test_a_models_own_backward_is_called_where_there_is_no_graph() -> None:
    class ByHand:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x.detach() * 3

        def backward(self, g: torch.Tensor) -> torch.Tensor:
            return g * 3

    assert torch.equal(Caller(ByHand())(X, G, asked("input 1"))[1], 3 * G)


def test_a_weight_kept_transposed_has_its_gradient_in_the_references_form() -> None:
    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turned = nn.Parameter(torch.randn(2, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.turned

    origin = {"turned": Origin("linear.weight", (1, 0), "by value")}
    (_, weight) = Caller(Kept(), origin)(X, torch.ones(2, 3), asked("linear.weight"))
    assert torch.equal(weight, (X.T @ torch.ones(2, 3)).T)


def test_gradients_can_be_differentiated_again() -> None:
    x = X.clone().requires_grad_(True)
    (_, first) = Caller(lambda v: v**3)(x, G, asked("input 1"), again=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(second, 6 * X * G)
