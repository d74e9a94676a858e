"""What rules propose where a build stops: declarations, flags, idioms, what a launch and the bindings are told."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Place
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

from .fixed import PLAIN, STRIDED, fixes, program, seen


def test_a_flag_of_nvcc_is_not_given_to_the_other_compiler() -> None:
    code = program(PLAIN, more=', extra_cflags=["-O3", "--use_fast_math"]')
    (lines,) = fixes("BLD017", code)
    assert any(line.endswith('extra_cflags=["-O3"])') for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "return torch::max(y, 1).values;",
            "return std::get<0>(torch::max(y, 1));",
            'class "std::tuple<at::Tensor, at::Tensor>" has no member "values"',
        ),
        (
            "y = torch::conv1d(y, x, x, 1, 0);",
            "y = torch::conv1d(y, x, x, at::IntArrayRef({1}), at::IntArrayRef({0}));",
            'more than one instance of overloaded function "torch::conv1d" matches the argument list',
        ),
        (
            "int mode = CUBLAS_FILL_UPPER;",
            "int mode = CUBLAS_FILL_MODE_UPPER;",
            'identifier "CUBLAS_FILL_UPPER" is undefined',
        ),
        (
            "float* p = (const float*)nullptr;",
            "const float* p = (const float*)nullptr;",
            'a value of type "const float *" cannot be used to initialize an entity of type "float *"',
        ),
    ],
)
def test_idioms_that_the_compiler_refuses(old: str, new: str, said: str) -> None:
    code = program(PLAIN.replace("    return y;", f"    {old}\n    return y;"))
    line = next(i for i, words in enumerate(code.splitlines(), 1) if old in words)
    ways = fixes("BLD015", code, seen("compiler", said, line=line))
    assert any(new in lines for lines in ways)


def test_all_calls_that_are_wrong_in_the_same_way_are_fixed_at_once() -> None:
    """One of several would leave the next to raise, and look like no progress."""
    cuda = PLAIN.replace("run(torch::Tensor x)", "run(torch::Tensor x, double factor)")
    code = program(cuda, "torch::Tensor run(torch::Tensor x, double factor);")
    twice = "return ops.run(ops.run(x, factor=2.0), factor=3.0)"
    [first, second] = fixes("API004", code.replace("return ops.run(x)", twice))
    assert first == second
    assert "return ops.run(ops.run(x, 2.0), 3.0)" in first


def test_an_argument_that_is_left_out_takes_the_definitions_default() -> None:
    cuda = PLAIN.replace("run(torch::Tensor x)", "run(torch::Tensor x, float beta = 1.0)")
    declared = "torch::Tensor run(torch::Tensor x, float beta);"
    (lines,) = fixes("API004", program(cuda, declared))
    assert "return ops.run(x, 1.0)" in lines


BOUND = '''
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void scale_kernel(const float* x, float* y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}
torch::Tensor scale(torch::Tensor x, double factor) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), factor, n);
    return y;
}
"""
ops = load_inline(name="ops", cuda_sources=source, functions=["scale"],
    cpp_sources="torch::Tensor scale(torch::Tensor x, double factor);")
'''


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        ("BLD014", "x.data_ptr<float>()", "x.data_ptr<double>()"),
        ("BLD014", "y.data_ptr<float>(), factor, n)", "y.data_ptr<float>(), factor)"),
        ("BLD014", "y.data_ptr<float>(), factor, n)", "y.data_ptr<float>())"),
        ("BLD014", "x.data_ptr<float>(), y.data_ptr<float>(), factor, n", "x.data_ptr<float>()"),
        ("BLD002", 'functions=["scale"]', 'functions=["scale_cuda"]'),
        ("BLD002", 'functions=["scale"]', 'functions=["scale_kernel"]'),
    ],
)
def test_what_a_launch_and_the_bindings_are_told(rule: str, right: str, wrong: str) -> None:
    code = BOUND.replace(right, wrong)
    findings = detected_with_fixes(rule, parse(code), Context())
    made = [apply(code, fix.edits) for finding in findings for fix in finding.fixes]
    assert made == [BOUND]


@pytest.mark.parametrize(
    "text",
    ['nvcc: expected a ";"', "g++: expected ';' before 'scale_kernel'"],
)
def test_a_semicolon_that_the_compiler_misses(text: str) -> None:
    code = BOUND.replace("x.numel();", "x.numel()  // all of it").replace(
        "    scale_kernel<<<", "\n    scale_kernel<<<"
    )
    at = next(n for n, line in enumerate(code.splitlines(), 1) if "scale_kernel<<<" in line)
    item = Evidence(kind="compiler", code="error", text=text, place=Place(line=at, end_line=at))
    (lines,) = fixes("BLD015", code, Context(evidence=(item,)))
    assert "int n = x.numel();  // all of it" in lines


def test_a_function_that_only_reads_takes_a_pointer_to_const() -> None:
    code = as_submission(STRIDED.replace("float sum = x[threadIdx.x];", "float sum = first(x);"))
    helper = "__device__ float first(float* data) { return data[0]; }"
    code = code.replace("__global__ void scaled", f"{helper}\n__global__ void scaled")
    at = next(n for n, line in enumerate(code.splitlines(), 1) if "first(x)" in line)
    item = Evidence(
        kind="compiler",
        code="error",
        text='nvcc: argument of type "const float *" is incompatible with parameter of type "float *"',
        place=Place(line=at, end_line=at),
    )
    found = fixes("BLD015", code, Context(evidence=(item,)))
    assert any(
        "__device__ float first(const float* data) { return data[0]; }" in lines for lines in found
    )
