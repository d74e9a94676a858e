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


def test_a_matrix_of_another_size_is_left_as_made() -> None:
    model = keeper((2, 7))
    assert "had no place" in weights.load(model, layers(3, 5))
    assert not model.kept[0].any()
