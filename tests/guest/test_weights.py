"""The reference's weights in a model that keeps them under other names and in other forms."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import pytest
import torch
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from grader.guest import weights


def layers(*sizes: int) -> dict[str, torch.Tensor]:
    """Weights and biases as a chain of linear layers has them."""
    made = {}
    for number, (before, after) in enumerate(pairwise(sizes)):
        made[f"net.{number}.weight"] = torch.randn(after, before)
        made[f"net.{number}.bias"] = torch.randn(after)
    return made


def keeper(*shapes: tuple[int, ...]) -> torch.nn.Module:
    model = torch.nn.Module()
    model.kept = torch.nn.ParameterList(torch.zeros(shape) for shape in shapes)
    return model


def test_matrices_kept_transposed_are_turned_also_the_square_one() -> None:
    given = layers(3, 5, 5, 3)
    model = keeper((3, 5), (5, 5), (5, 3), (5,), (5,), (3,))
    _, said = weights.load(model, given)
    assert said == "3 transposed, in their order, 3 by order among equal shapes"
    for number in range(3):
        assert torch.equal(model.kept[number], given[f"net.{number}.weight"].T)
        assert torch.equal(model.kept[3 + number], given[f"net.{number}.bias"])


@pytest.mark.parametrize(
    ("sizes", "shapes"),
    [
        ((4, 4, 4), [(4, 4), (4, 4)]),
        ((3, 5, 3), [(5, 3), (3, 5)]),
    ],
)
def test_matrices_that_fit_as_they_are_stay_so(
    sizes: tuple[int, ...], shapes: list[tuple[int, int]]
) -> None:
    given = layers(*sizes)
    model = keeper(*shapes)
    weights.load(model, given)
    assert torch.equal(model.kept[0], given["net.0.weight"])
    assert torch.equal(model.kept[1], given["net.1.weight"])


def test_names_that_end_alike_are_matched_whatever_their_order() -> None:
    """A recurrent layer's own lists: all that goes in first, then all that is kept."""
    given = dict(torch.nn.GRU(4, 4, 2).state_dict(prefix="gru."))
    model = torch.nn.Module()
    for name in ("weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"):
        shape = (12, 4) if name.startswith("weight") else (12,)
        setattr(model, name, torch.nn.ParameterList(torch.zeros(shape) for _ in range(2)))
    assert weights.load(model, given)[1] == "8 by the end of the name"
    for layer in range(2):
        for name in ("weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"):
            assert torch.equal(getattr(model, name)[layer], given[f"gru.{name}{layer}"])


def test_an_end_that_several_names_have_matches_none() -> None:
    given = {"first.weight": torch.ones(3), "second.weight": torch.full((3,), 2.0)}
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.zeros(3))
    assert "1 by order among equal shapes" in weights.load(model, given)[1]
    assert torch.equal(model.weight, given["first.weight"])


def test_a_matrix_of_another_size_is_left_as_made() -> None:
    model = keeper((2, 7))
    assert "had no place" in weights.load(model, layers(3, 5))[1]
    assert not model.kept[0].any()


class Reference(torch.nn.Module):
    """A convolution, a bias of its own, and a normalisation whose bias has the same length."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.bias = torch.nn.Parameter(torch.randn(8, 1, 1))
        self.norm = torch.nn.GroupNorm(2, 8)
        self.linear = torch.nn.Linear(8, 8)


class Renamed(torch.nn.Module):
    """The same weights, drawn in the same order, under other names and in other layouts."""

    def __init__(self) -> None:
        super().__init__()
        conv = torch.nn.Conv2d(3, 8, 3)
        self.filters = torch.nn.Parameter(conv.weight.permute(2, 3, 1, 0).reshape(-1, 8))
        self.offset = conv.bias
        self.bias = torch.nn.Parameter(torch.randn(8, 1, 1).flatten())
        self.gamma = torch.nn.Parameter(torch.ones(8))
        self.beta = torch.nn.Parameter(torch.zeros(8))
        linear = torch.nn.Linear(8, 8)
        self.matrix = torch.nn.Parameter(linear.weight.t().contiguous())
        self.copy = torch.nn.Parameter(linear.weight.clone())
        self.last = linear.bias


def constructed(kind: Any) -> Any:
    torch.manual_seed(3)
    return kind()


def redrawn(model: torch.nn.Module) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """What a model holds, and other values of the same names and shapes."""
    initial = {name: value.clone() for name, value in model.state_dict().items()}
    return initial, {name: torch.randn(value.shape) for name, value in initial.items()}


def test_equal_values_say_which_tensor_is_which() -> None:
    """By names `norm.bias` would go to `bias`, and the square matrix would go in as it is."""
    initial, given = redrawn(constructed(Reference))
    model = constructed(Renamed)
    assert weights.load(model, given, initial)[1] == "8 by value"
    assert torch.equal(model.filters, given["conv.weight"].permute(2, 3, 1, 0).reshape(-1, 8))
    assert torch.equal(model.offset, given["conv.bias"])
    assert torch.equal(model.bias, given["bias"].flatten())
    assert torch.equal(model.gamma, given["norm.weight"])
    assert torch.equal(model.beta, given["norm.bias"])
    assert torch.equal(model.matrix, given["linear.weight"].t())
    assert torch.equal(model.copy, given["linear.weight"])
    assert torch.equal(model.last, given["linear.bias"])


def test_equal_constants_go_by_name_and_then_by_order() -> None:
    reference = torch.nn.BatchNorm1d(5)
    initial, given = redrawn(reference)
    given["num_batches_tracked"] = torch.tensor(7)
    model = keeper()
    for name, value in (("beta", 0.0), ("running_mean", 0.0), ("running_var", 1.0), ("gamma", 1.0)):
        model.register_buffer(name, torch.full((5,), value))
    model.register_buffer("steps", torch.tensor(0))
    assert weights.load(model, given, initial)[1] == "5 by value"
    assert torch.equal(model.running_mean, given["running_mean"])
    assert torch.equal(model.running_var, given["running_var"])
    assert torch.equal(model.gamma, given["weight"])
    assert torch.equal(model.beta, given["bias"])
    assert model.steps == 7


def test_weights_of_its_own_are_matched_by_name() -> None:
    initial, given = redrawn(torch.nn.Linear(4, 3))
    model = torch.nn.Linear(4, 3)
    assert weights.load(model, given, initial)[1] == "2 by name and shape"
    assert torch.equal(model.weight, given["weight"])


@drawn_from(
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(0, 10**6),
    st.data(),
)
def test_any_names_order_and_layout(
    shapes: list[list[int]], seed: int, data: st.DataObject
) -> None:
    """Whatever random weights are called, however their axes lie, each gets its own."""
    random = torch.Generator().manual_seed(seed)
    initial = {f"w{i}": torch.randn(shape, generator=random) for i, shape in enumerate(shapes)}
    given = {name: torch.randn(value.shape, generator=random) for name, value in initial.items()}
    model = torch.nn.Module()
    axes = {}
    for k, name in enumerate(data.draw(st.permutations(list(initial)))):
        axes[name] = data.draw(st.sampled_from(list(permutations(range(initial[name].dim())))))
        kept = initial[name].permute(axes[name])
        kept = kept.flatten() if data.draw(st.booleans()) else kept
        model.register_buffer(f"w{len(shapes) - 1 - k}", kept.contiguous())
        axes[name] = (axes[name], f"w{len(shapes) - 1 - k}")
    weights.load(model, given, initial)
    for name, (order, place) in axes.items():
        wanted = given[name].permute(order).flatten()
        assert torch.equal(model.get_buffer(place).flatten(), wanted)
