"""The share of the work that an answer's own kernels did: what torch's operators did is not theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.pipeline.own_share import share_left
from grader.repair.compose.graph import Graph, Node, Ref

X = Node("x", "placeholder", shape=(8, 64))
LINEAR = Node("linear", "linear", (Ref("x"),), shape=(8, 32))
RELU = Node("relu", "relu", (Ref("linear"),), shape=(8, 32))
VIEW = Node("view", "view", (Ref("relu"),), shape=(256,))
MODEL = Graph((X, LINEAR, RELU, VIEW))
PRODUCTS, OTHERS = 8 * 32 * 64, 8 * 32


@pytest.mark.parametrize(
    ("left", "share"),
    [
        ((), 1.0),
        (("addmm",), OTHERS / (PRODUCTS + OTHERS)),
        (("relu",), PRODUCTS / (PRODUCTS + OTHERS)),
        (("addmm", "relu"), 0.0),
        (("cublasSgemm_v2", "relu"), 0.0),
        (("addmm", "relu", "add", "mul"), 0.0),
    ],
)
def test_each_kind_of_work_counts_by_what_it_costs(left: tuple[str, ...], share: float) -> None:
    assert share_left(MODEL, left) == pytest.approx(share)


def test_a_convolution_costs_what_meets_in_each_of_its_elements() -> None:
    image = Node("x", "placeholder", shape=(1, 3, 8, 8))
    attributes = {"in_channels": 3, "groups": 1, "kernel_size": [3, 3]}
    conv = Node("conv", "conv", (Ref("x"),), shape=(1, 4, 6, 6), attributes=attributes)
    tanh = Node("tanh", "tanh", (Ref("conv"),), shape=(1, 4, 6, 6))
    model = Graph((image, conv, tanh))
    assert share_left(model, ("tanh",)) == pytest.approx(27 / 28)
    assert share_left(model, ("cudnn_convolution",)) == pytest.approx(1 / 28)


@given(st.lists(st.sampled_from(["addmm", "relu", "mul", "cublasSgemm_v2", "softmax"]), max_size=6))
def test_more_left_to_torch_is_never_a_larger_share(left: list[str]) -> None:
    shares = [share_left(MODEL, tuple(left[:count])) for count in range(len(left) + 1)]
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert shares == sorted(shares, reverse=True)
