"""The reference's weights in a model that keeps them under other names and in other forms."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

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
    said = weights.load(model, given)
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
    assert weights.load(model, given) == "8 by the end of the name"
    for layer in range(2):
        for name in ("weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"):
            assert torch.equal(getattr(model, name)[layer], given[f"gru.{name}{layer}"])


def test_an_end_that_several_names_have_matches_none() -> None:
    given = {"first.weight": torch.ones(3), "second.weight": torch.full((3,), 2.0)}
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.zeros(3))
    assert "1 by order among equal shapes" in weights.load(model, given)
    assert torch.equal(model.weight, given["first.weight"])


def test_a_matrix_of_another_size_is_left_as_made() -> None:
    model = keeper((2, 7))
    assert "had no place" in weights.load(model, layers(3, 5))
    assert not model.kept[0].any()
