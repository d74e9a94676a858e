"""Whatever a program lacks and whatever a compiler says, a fix of a diagnostic is an edit that changes the program."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Evidence, Place
from grader.repair.fixes.compiler.fixes import compiler_fixes
from grader.source import parse
from grader.source.edits import apply
from tests.rules.examples import as_submission

PROGRAM = """
#include <torch/extension.h>
#define WIDE 128
__device__ float half_of(float v) { return 0.5f * v; }
__global__ void halves(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = half_of(x[i]);
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    dim3 grid((n + WIDE - 1) / WIDE);
    halves<<<grid, WIDE>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
SAID = (
    'identifier "blockdim" is undefined', 'identifier "CHECK_INPUT" is undefined', 'expected a ";"', "expected a declaration",
    'calling a __host__ function("half_of(float)") from a __global__ function("halves") is not allowed',
    "a __global__ function call must be configured", "expression must be a modifiable lvalue", "missing closing quote",
    'no instance of overloaded function "atomicMax" matches the argument list', "too few arguments in function call",
    'class "at::Tensor" has no member "shape"', 'no suitable constructor exists to convert from "float" to "at::Tensor"',
    'this declaration may not have extern "C" linkage',
    '"i" has already been declared in the current scope', 'cannot open source file "helper_cuda.h"', "unrecognized token",
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(PROGRAM)), st.integers(1, 40), st.sampled_from(SAID), st.data())
def test_a_fix_is_an_edit(start: int, length: int, said: str, data: st.DataObject) -> None:
    code = as_submission(PROGRAM[:start] + PROGRAM[start + length :])
    line = data.draw(st.integers(1, len(code.splitlines())))
    place = Place(line=line, column=0, end_line=line, end_column=1)
    item = Evidence(kind="compiler", code="cuda-error", text=said, place=place)
    for fix in compiler_fixes(parse(code), item):
        assert apply(code, fix.edits) != code


def test_a_template_leaves_extern_c() -> None:
    kernel = "template <int N> __global__ void twice(float* x) { x[threadIdx.x] *= N; }"
    code = as_submission(
        f'extern "C" {{\n{kernel}\n}}\nvoid run(torch::Tensor x) {{ twice<2><<<1, 32>>>(x.data_ptr<float>()); }}'
    )
    at = next(n for n, line in enumerate(code.splitlines(), 1) if "template" in line)
    said = 'this declaration may not have extern "C" linkage'
    item = Evidence(
        kind="compiler", code="cuda-error", text=said, place=Place(line=at, end_line=at)
    )
    first = next(iter(compiler_fixes(parse(code), item)))
    changed = apply(code, first.edits)
    assert "extern" not in changed
    assert kernel in changed
