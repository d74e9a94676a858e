"""A shuffle that starts at a small offset loses values only where more lanes hold some."""

import pytest

from grader.source import parse
from grader.source.analysis.reduction_suspects import suspects
from tests.rules.examples import as_submission

KERNEL = """
__global__ void k(const float* x, float* y) {
    %s
    float v = x[threadIdx.x];
    for (int o = 4; o > 0; o >>= 1) v += __shfl_down_sync(%s, v, o);
    y[0] = v;
}
"""


@pytest.mark.parametrize(
    ("first", "mask", "n"),
    [
        ("", "0xffffffff", 1),
        ("", "0xff", 0),
        ("if (threadIdx.x < 8)", "0xffffffff", 0),
        ("__shared__ float s[8];", "0xffffffff", 0),
        ("__shared__ float s[16];", "-1", 1),
    ],
)
def test_a_short_shuffle_over_few_lanes_loses_nothing(first: str, mask: str, n: int) -> None:
    (unit,) = parse(as_submission(KERNEL % (first, mask))).cuda
    assert len(list(suspects(unit))) == n
