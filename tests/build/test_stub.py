"""What of torch's own declarations the stub takes over."""

from __future__ import annotations

import pytest

from grader.build.driver.stub import _declarations_named, is_bare, is_lean


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # The stub has the template itself: a second one without its head is an error.
        (["T item() const;", "at::Scalar item() const;"], "at::Scalar item() const;\n"),
        (
            ["at::Tensor item(at::Dimname name) const;"],
            "at::Tensor item(at::Dimname name) const;\n",
        ),
        (["at::Tensor item(c10::impl::Odd of) const;"], "\n"),
    ],
)
def test_a_declaration_that_stands_alone(rows: list[str], expected: str) -> None:
    assert _declarations_named({"item": rows, "other": ["int other();"]}, {"item"}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "cudaStream_t stream = at::cuda::getCurrentCUDAStream();",
        "#include <cuda_fp16.h>\n__global__ void f(__half* x) { x[0] = __float2half(0.5f); }",
        "// half of a string stream\nstd::vector<torch::Tensor> f(torch::Tensor x);",
        "float bf16_scale = std::min(1.0f, x);",
        '#include <cstring>\nthrow std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));',
    ],
)
def test_a_source_that_few_headers_suffice_for(text: str) -> None:
    assert is_lean(text)


@pytest.mark.parametrize(
    "text",
    [
        "#include <sstream>\n",
        "#include <iostream>\nstd::cout << 1;",
        "std::ostringstream out;",
        "using namespace at;",
        "x.data_ptr<at::Half>()",
        "x.data_ptr<c10::BFloat16>()",
        "AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), name, f)",
        "x.packed_accessor32<float, 2>()",
        "std::unordered_map<int, int> seen;",
        "void f(std::string_view mode);",
        "y[i] = std::cyl_bessel_j(0.0f, x[i]);",
    ],
)
def test_a_source_that_needs_more(text: str) -> None:
    assert not is_lean(text)


START = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


@pytest.mark.parametrize(
    "text",
    [
        "torch::Tensor f(torch::Tensor x) { return torch::empty_like(x); }",
        "#include <cuda_fp16.h>\n#  include <cmath>\nconst int blocks = std::min<long>(n, 64);",
        '#include <stdexcept>\nif (x.dim() != 2) throw std::runtime_error("2 dims");',
    ],
)
def test_a_source_that_names_no_class_of_the_library(text: str) -> None:
    assert is_bare(START + text, "at::Tensor empty_like(const at::Tensor &);\n")


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("std::vector<torch::Tensor> f(torch::Tensor x);", ""),
        ("auto sizes = x.sizes().vec();", ""),
        ("c10::optional<torch::Tensor> bias", ""),
        ('throw std::runtime_error(std::string("CUDA: ") + why);', ""),
        ("#include <algorithm>\n", ""),
        ("#include <c10/cuda/CUDAGuard.h>\n", ""),
        ("auto parts = x.split(2);", "std::vector<at::Tensor> split(int64_t) const;\n"),
        # Its answer would tell the one set of headers from the other.
        ("template <class T> auto f(T x) -> decltype(std::min({x, x}));", ""),
    ],
)
def test_a_source_that_needs_the_library_whole(text: str, declared: str) -> None:
    assert not is_bare(START + text, declared)
