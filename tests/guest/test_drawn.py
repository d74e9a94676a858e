"""What a model draws in forward is the same in float64 as in float32."""

from __future__ import annotations

import pytest
import torch

from grader.guest.drawn import DrawnInSingle


@pytest.mark.parametrize(
    "draw",
    [
        lambda dtype: torch.randn(30, 5, dtype=dtype),
        lambda dtype: torch.rand(7, dtype=dtype),
        lambda dtype: torch.randn_like(torch.empty(64, dtype=dtype)),
        lambda dtype: torch.rand_like(torch.empty(4, dtype=dtype)),
    ],
)
def test_numbers_are_those_of_float32(draw):
    torch.manual_seed(5)
    single = draw(torch.float32)
    torch.manual_seed(5)
    assert not torch.equal(draw(torch.float64).float(), single)
    torch.manual_seed(5)
    with DrawnInSingle():
        double = draw(torch.float64)
    assert double.dtype == torch.float64
    assert torch.equal(double, single.double())


def test_a_dtype_that_is_asked_for_stays():
    with DrawnInSingle():
        assert torch.randn(3, dtype=torch.float32).dtype == torch.float32
        assert torch.rand(3, dtype=torch.float16).dtype == torch.float16
        assert torch.randn(3).dtype == torch.float64
