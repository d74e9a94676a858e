"""Which C++ files are declarations and their binding alone."""

from __future__ import annotations

import time

import pytest

from grader.build.driver.binding import only_declares, with_docs_of_one_type

DECLARED = """#include <torch/extension.h>
// of two tensors
std::vector<at::Tensor> f(torch::Tensor q, const torch::Tensor& k, c10::optional<at::Tensor> m = c10::nullopt,
                          double s = -1e-5, int64_t n=3);
void g();
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("f", torch::wrap_pybind_function(f), "f");
m.def("g", torch::wrap_pybind_function(g), "what it does");
}
"""


def test_declarations_and_their_binding() -> None:
    assert only_declares(DECLARED)
    bound = with_docs_of_one_type(DECLARED)
    assert '(f), (const char*)"f");' in bound
    assert '(g), (const char*)"what it does");' in bound
    assert len(bound.splitlines()) == len(DECLARED.splitlines())


@pytest.mark.parametrize(
    "other",
    [
        "torch::Tensor f(torch::Tensor x) { return x; }",
        "void f(dim3 grid);",
        "torch::Tensor f(half x);",
        "Tensor f(Tensor x);",
        "torch::Tensorf(int);",
        "using namespace torch;",
        "#define f g\nint f();",
        "#include <vector>\nint f();",
        "__host__ int f();",
        "int f(int n = FLT_MAX);",
    ],
)
def test_what_headers_could_tell_apart_is_none(other: str) -> None:
    assert not only_declares(DECLARED.replace("void g();", other))


@pytest.mark.parametrize(
    "text",
    ["const " * 20_000, "int f(" + "torch::Tensor a, " * 20_000, "int f(int a" + " " * 50_000],
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    assert not only_declares(text + "x")
    assert time.process_time() - began < 1
