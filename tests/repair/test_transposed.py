"""A transposed convolution that gathers at a plain one's places is turned round; others are left alone."""

from __future__ import annotations

import pytest

from grader.repair.candidates.cuda.scope import scopes
from grader.repair.candidates.cuda.transposed import transpose_places
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply

KERNEL = """
__global__ void up(const float* x, const float* w, float* y, int C, int L, int O, int OL, int K, int stride, int pad) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= O * OL) return;
    int o = i / OL, at = i % OL;
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) {
        for (int k = 0; k < K; ++k) {
            int from = PLACE;
            if (from < 0 || from >= L) continue;
            sum += x[c * L + from] * w[(o * C + c) * K + k];
        }
    }
    y[i] = sum;
}
torch::Tensor run(torch::Tensor x, torch::Tensor weight, int stride, int pad) {
    auto y = torch::empty({weight.size(0), x.size(1)}, x.options());
    up<<<4, 256>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), y.size(0),
                   y.size(1), weight.size(2), stride, pad);
    return y;
}
"""


def texts(place: str, reference: str = "nn.ConvTranspose1d(i, o, 3)") -> list[str]:
    code = as_submission(KERNEL.replace("PLACE", place))
    every = list(scopes(parse(code).cuda))
    host = [scope for scope in every if scope.on_host]
    found = [one for scope in every for one in transpose_places(scope, host, reference)]
    fixes = [fix for one in found if (fix := one.fix()) is not None]
    return [apply(code, fix.edits) for fix in fixes]


def reached(written: str, at: int, k: int, *, stride: int, pad: int) -> int:
    """Return what C computes for such a place; its division goes towards zero."""
    condition, _, values = written.partition(" ? ")
    if not values:
        return int(eval(written, {"at": at, "k": k, "stride": stride, "pad": pad}))
    names = {"at": at, "k": k, "stride": stride, "pad": pad}
    yes, _, no = values.partition(" : ")
    return int(eval(yes if eval(condition, names) else no, names))


@pytest.mark.parametrize(
    "place", ["at * stride - pad + k", "k - pad + (at * stride)", "stride * at + k - pad"]
)
def test_each_output_is_reached_from_where_a_scatter_would_reach_it(place: str) -> None:
    plain, with_weight = texts(place)
    written = next(line for line in plain.splitlines() if "int from" in line)
    expression = written.split("=", 1)[1].strip().rstrip(";")
    for stride, pad in ((1, 0), (2, 1), (3, 2)):
        scattered = {(at * stride - pad + k, k): at for at in range(5) for k in range(3)}
        for out in range(5 * stride):
            for k in range(3):
                got = reached(expression.replace("/", "//"), out, k, stride=stride, pad=pad)
                assert (got if 0 <= got < 5 else None) == scattered.get((out, k))
    assert "weight = weight.transpose(0, 1).contiguous();" in with_weight


def test_only_where_a_transposed_convolution_is_asked_for() -> None:
    assert texts("at * stride - pad + k", "nn.Conv1d(i, o, 3)") == []
    assert texts("(at + pad - k) / stride", "nn.Conv1d(i, o, 3)") == []
    assert texts("at + c") == []
    assert texts("(at + pad) / stride") == [], "no tap"


def test_an_input_between_two_steps_of_the_stride_reaches_nothing() -> None:
    (fixed,) = texts("(at + pad - k) / stride")
    written = next(line for line in fixed.splitlines() if "int from" in line)
    expression = written.split("=", 1)[1].strip().rstrip(";")
    for stride, pad in ((1, 0), (2, 1), (3, 2)):
        scattered = {(at * stride - pad + k, k): at for at in range(5) for k in range(3)}
        for out in range(5 * stride):
            for k in range(3):
                got = reached(expression.replace("/", "//"), out, k, stride=stride, pad=pad)
                assert (got if 0 <= got < 5 else None) == scattered.get((out, k))
