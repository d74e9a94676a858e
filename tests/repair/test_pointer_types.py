"""Pointers that are cast to another type than the tensor's are taken in its own, wherever the type is written."""

from __future__ import annotations

import pytest

from grader.repair.fixes.pointer_types import own_type
from grader.source import edits, parse

CODE = '''\
cuda = r"""
__global__ void pick(const float* x, const int* labels, float* y, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int* mine = labels + i;
    if (i < n) y[i] = x[i * c + mine[0]];
}
torch::Tensor run(torch::Tensor x, torch::Tensor labels, torch::Tensor counts) {
    auto y = torch::empty({x.size(0)}, x.options());
    DECLARED
    pick<<<1, 256>>>(x.data_ptr<float>(), GIVEN, y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""
'''


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("", "(const int*)labels.data_ptr()"),
        ("", "reinterpret_cast<const int*>(labels.data_ptr<int64_t>())"),
        ("const int* p = static_cast<int*>(labels.data_ptr());", "p"),
    ],
)
def test_a_cast_is_to_the_tensors_own_type(declared: str, given: str) -> None:
    code = CODE.replace("DECLARED", declared).replace("GIVEN", given)
    (fix,) = own_type(parse(code), ["int", "float"], "int64", {5})
    fixed = edits.apply(code, fix.edits)
    assert fixed == code.replace("int* ", "int64_t* ").replace("int*", "int64_t*").replace(
        "int64_t64_t", "int64_t"
    )
