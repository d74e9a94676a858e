"""Operations counted as torch dispatches them, against sums done by hand."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.guest.operations import OperationCount

SIDE = st.integers(1, 40)


@settings(max_examples=20, deadline=None)
@given(m=SIDE, k=SIDE, n=SIDE)
def test_a_product_takes_two_operations_for_each_pair(m: int, k: int, n: int) -> None:
    with OperationCount() as counted:
        torch.randn(m, k) @ torch.randn(k, n)
    assert counted.products == 2 * m * k * n


def test_a_convolution_and_what_follows_it() -> None:
    convolution = torch.nn.Conv2d(3, 8, 3)
    given_one = torch.randn(2, 3, 10, 10)
    with torch.no_grad(), OperationCount() as counted:
        result = torch.relu(convolution(given_one))
    assert counted.products == 2 * result.numel() * 3 * 9
    assert counted.others == result.numel()


def test_a_reduction_counts_what_it_reads_and_a_view_nothing() -> None:
    given_one = torch.randn(16, 100)
    with OperationCount() as counted:
        given_one.t().sum()
    assert (counted.products, counted.others) == (0, 1600)
