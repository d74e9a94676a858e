"""What is proposed where a compiler stops: one slip in a small program, the compiler's words, the text after the fix."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Context, Evidence, Place
from grader.repair.fixes.compiler.fixes import compiler_fixes as fixes
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

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
HELPER = "__device__ float half_of(float v) { return 0.5f * v; }\n"
SLIPS = {
    "a built-in in small letters": (
        ("blockDim.x", "blockdim.x"), 'identifier "blockdim" is undefined', "blockIdx.x * blockDim.x"),
    "Python's infinity": (
        ("half_of(x[i])", "fmaxf(-inf, x[i])"), 'identifier "inf" is undefined', "fmaxf(-INFINITY, x[i])"),
    "a tensor without its namespace": (
        ("torch::Tensor run(torch::Tensor x)", "Tensor run(Tensor x)"), 'identifier "Tensor" is undefined',
        "torch::Tensor run(torch::Tensor x)"),
    "a tutorial's check of a tensor": (
        ("int n = x.numel();", "CHECK_INPUT(x); int n = x.numel();"), 'identifier "CHECK_INPUT" is undefined',
        "#define CHECK_INPUT(x) TORCH_CHECK((x).is_cuda()"),
    "a quotient that is rounded up": (
        ("(n + WIDE - 1) / WIDE", "ceil_div(n, WIDE)"), 'identifier "ceil_div" is undefined',
        "constexpr auto ceil_div(A a, B b) { return (a + b - 1) / b; }"),
    "a sum over a warp": (
        ("half_of(x[i])", "warpReduceSum(x[i])"), 'identifier "warpReduceSum" is undefined',
        "v += __shfl_xor_sync(0xffffffff, v, offset);"),
    "a tutorial's check of a call": (
        ("return y;", "cudaCheck(cudaGetLastError()); return y;"), 'identifier "cudaCheck" is undefined',
        '#define cudaCheck(call) TORCH_CHECK((call) == 0, "a CUDA call failed")'),
    "a constant that nothing defines": (
        ("#define WIDE 128\n", "#define OTHER 3\n"), 'identifier "WIDE" is undefined', None),
    "a block size that nothing defines": (
        ("<<<grid, WIDE>>>", "<<<grid, BLOCK_SIZE>>>"), 'identifier "BLOCK_SIZE" is undefined', "constexpr int BLOCK_SIZE = 256;"),
    "a helper without __device__": (
        ("__device__ float half_of", "float half_of"),
        'calling a __host__ function("half_of(float)") from a __global__ function("halves") is not allowed',
        "__device__ float half_of"),
    "a helper that is a kernel": (
        ("__device__ float half_of", "__global__ float half_of"), "a __global__ function call must be configured",
        "__device__ float half_of"),
    "torch's functions in a kernel": (
        ("half_of(x[i])", "torch::sigmoid(x[i])"), 'no suitable constructor exists to convert from "float" to "at::Tensor"',
        "y[i] = (1.0f / (1.0f + expf(-(x[i]))));"),
    "torch's functions inside of one another": (
        ("half_of(x[i])", "torch::max(torch::exp(x[i]), 1.0f)"), 'no suitable constructor exists to convert from "float" to "at::Tensor"',
        "y[i] = fmaxf(expf(x[i]), 1.0f);"),
    "an atomic maximum of floats": (
        ("y[i] = half_of(x[i]);", "atomicMax(&y[i], x[i]);"),
        'no instance of overloaded function "atomicMax" matches the argument list',
        "__device__ float atomicMax(float* address, float value)"),
    "a pointer that torch does not define": (
        ("y.data_ptr<float>()", "(float*)y.data_ptr<__half>()"),
        "undefined symbol: _ZNK2at10TensorBase16mutable_data_ptrI6__halfEEPT_v",
        "(float*)reinterpret_cast<__half*>(y.data_ptr<at::Half>())"),
    "a method that is not called": (
        ("x.numel();", "x.numel;"), "a pointer to a bound function may only be used to call the function", "x.numel();"),
    "Python's shape": (
        ("int n = x.numel();", "int n = x.shape[0] * x.shape[1];"), 'class "at::Tensor" has no member "shape"',
        "int n = x.size(0) * x.size(1);"),
    "a dot after torch": (
        ("torch::empty_like(x)", "torch.empty_like(x)"), "a namespace name is not allowed", "torch::empty_like(x)"),
    "braces that narrow": (
        ("dim3 grid((n + WIDE - 1) / WIDE);", "dim3 grid{(x.numel() + WIDE - 1) / WIDE};"),
        "non-constant-expression cannot be narrowed from type 'int64_t' (aka 'long') to 'unsigned int' in initializer list",
        "dim3 grid{static_cast<unsigned int>((x.numel() + WIDE - 1) / WIDE)};"),
    "a pointer to const that is written through": (
        ("float* y, int n", "const float* y, int n"), "expression must be a modifiable lvalue", "(const float* x, float* y, int n)"),
    "a cast that loses const": (
        ("y[i] = half_of(x[i]);", "y[i] = (*reinterpret_cast<float4*>(x + i)).x;"),
        "reinterpret_cast cannot cast away const or other type qualifiers", "*reinterpret_cast<const float4*>(x + i)"),
    "a kernel that returns": (
        ("__global__ void halves", "__global__ int halves"), 'a "__global__" function must have a void return type',
        "__global__ void halves"),
    "a pair from a function of one tensor": (
        ("return y;", "return std::make_tuple(y, x);"),
        'no suitable user-defined conversion from "std::tuple<at::Tensor, at::Tensor>" to "at::Tensor" exists',
        "std::tuple<torch::Tensor, torch::Tensor> run(torch::Tensor x)"),
    "a variable that is declared twice": (
        ("    if (i < n) {", "    int i = blockIdx.x * 128 + threadIdx.x;\n    if (i < n) {"),
        '"i" has already been declared in the current scope', "\n    i = blockIdx.x * 128 + threadIdx.x;"),
    "a count that is never declared": (
        ("    int n = x.numel();\n", ""), 'identifier "n" is undefined',
        "    const int n = x.numel();\n    dim3 grid((n + WIDE"),
    "threads that are never declared": (
        ("<<<grid, WIDE>>>", "<<<grid, threads_per_block>>>"), 'identifier "threads_per_block" is undefined',
        "    const int threads_per_block = 256;\n    halves<<<"),
    "first values of shared memory": (
        ("    if (i < n) {", "    __shared__ float part[4] = {0};\n    if (i < n) {"),
        'initializer not allowed for __shared__ variable', "    __shared__ float part[4];\n"),
    "a line break in C's quotes": (
        ("    return y;", '    printf("done\\n");\n    return y;'), "missing closing quote", 'printf("done\\\\n");'),
    "a minus of a word processor": (
        ("WIDE - 1)", "WIDE \u2212 1)"), "unrecognized token", "WIDE - 1)"),
    "sizes without braces": (
        ("torch::empty_like(x)", "torch::zeros(x.size(0), x.size(1), x.options())"),
        'no instance of overloaded function "torch::zeros" matches the argument list',
        "torch::zeros({x.size(0), x.size(1)}, x.options())"),
    "a header of CUDA's samples": (
        ("#define WIDE 128\n", '#include "helper_cuda.h"\n#define WIDE 128\n'),
        'cannot open source file "helper_cuda.h"', "#include <torch/extension.h>\n#define WIDE 128"),
    "a brace that is missing": (
        ("    }\n}\ntorch::Tensor run", "    }\ntorch::Tensor run"), 'expected a ";"', "    }\n}\ntorch::Tensor run"),
    "a brace too many": (
        ("    return y;\n}\n", "    return y;\n}\n}\n"), "expected a declaration", "    return y;\n}\n\n"),
}  # fmt: skip


BESIDE = "y[i] = half_of"
ELSEWHERE = {
    "a __global__ function call must be configured",
    "expression must be a modifiable lvalue",
}
"""Messages about a line that uses what another line declares."""


def compiled(line: int, words: str) -> Evidence:
    place = Place(line=line, column=0, end_line=line, end_column=1)
    return Evidence(kind="compiler", code="cuda-error", text=words, place=place)


def after(old: str, new: str, said: str) -> list[str]:
    """Return the program with a slip after each fix of what the compiler says of the slip's line."""
    assert old in PROGRAM
    code = as_submission(PROGRAM.replace(old, new, 1))
    where = (
        BESIDE
        if said in ELSEWHERE
        else next(iter(set(new.splitlines()) - set(old.splitlines())), "")
    )
    line = next((k for k, words in enumerate(code.splitlines(), 1) if where and where in words), 1)
    return [apply(code, fix.edits) for fix in fixes(parse(code), compiled(line, said))]


@pytest.mark.parametrize("slip", SLIPS)
def test_the_fix_writes_what_a_reviewer_would(slip: str) -> None:
    (old, new), said, wanted = SLIPS[slip]
    fixed = after(old, new, said)
    if wanted is None:
        assert fixed == []
    else:
        assert any(wanted in text for text in fixed), fixed


def test_functions_that_follow_are_declared_before_what_uses_them() -> None:
    later = PROGRAM.replace(HELPER, "") + HELPER
    code = as_submission(later)
    fixed = [
        apply(code, fix.edits)
        for fix in fixes(parse(code), compiled(1, 'identifier "half_of" is undefined'))
    ]
    assert any(
        "__device__ float half_of(float v);\n\n__global__ void halves" in text for text in fixed
    )


def test_a_constant_of_the_host_function_is_given_to_kernels_too() -> None:
    inside = PROGRAM.replace("#define WIDE 128\n", "").replace("int i = ", "int i = WIDE - WIDE + ")
    code = as_submission(inside.replace("    int n = ", "    const int WIDE = 128;\n    int n = "))
    fixed = [
        apply(code, fix.edits)
        for fix in fixes(parse(code), compiled(1, 'identifier "WIDE" is undefined'))
    ]
    assert any("constexpr int WIDE = 128;\n" in text for text in fixed)


def test_pointers_of_a_dispatch_fit_a_kernel_of_one_type() -> None:
    launch = "halves<<<grid, WIDE>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);"
    generic = launch.replace("<float>", "<scalar_t>")
    fixed = after(
        launch,
        generic,
        'argument of type "double *" is incompatible with parameter of type "const float *"',
    )
    assert any(launch in text for text in fixed)


BUILD = """
import torch
from torch.utils.cpp_extension import load_inline
cuda = "torch::Tensor twice(torch::Tensor x) { return x + x; }"
ext = load_inline(name="e", cuda_sources=cuda, functions=["twice"], extra_cflags=["-O2", "-std=c++14"])
"""


def test_the_language_standard_is_left_to_torch() -> None:
    said = "#error C++17 or later compatible compiler is required to use PyTorch."
    (made,) = fixes(parse(BUILD), compiled(5, said))
    assert 'extra_cflags=["-O2"]' in apply(BUILD, made.edits)


def test_the_declarations_that_a_build_needs_are_passed() -> None:
    said = "TypeError: load_inline() missing 1 required positional argument: 'cpp_sources'"
    item = Evidence(kind="python", code="error", text=said)
    raised = Evidence(kind="python", code="raised", text=f"in the constructor: {said}")
    for context in (Context(), Context(evidence=(item,)), Context(evidence=(raised,))):
        found = review_with_fixes(parse(BUILD), context, select=("BLD",))
        (finding,) = [item for item in found if item.severity == "error"]
        assert (finding.rule, finding.confidence) == (
            "BLD017",
            "proven" if context.evidence else "likely",
        )
        (made,) = finding.fixes
        assert 'cpp_sources="torch::Tensor twice(torch::Tensor x);"' in apply(BUILD, made.edits)


FILES = '''
import torch
from torch.utils.cpp_extension import load
text = """
#include <torch/extension.h>
__global__ void twice_kernel(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
torch::Tensor twice(torch::Tensor x) { twice_kernel<<<1, 32>>>(x.data_ptr<float>(), 32); return x; }
"""
ext = load(name="ext", sources=[text], rebuild=True)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.twice(x)
'''


def test_load_that_is_given_a_text_becomes_load_inline() -> None:
    unknown, wrong = sorted(
        review_with_fixes(parse(FILES), Context(), select=("BLD017",)),
        key=lambda item: "names" in item.message,
    )
    assert "names of files" in wrong.message
    assert "load has no argument rebuild" in unknown.message
    code = apply(FILES, [edit for finding in (wrong, unknown) for edit in finding.fixes[0].edits])
    assert "import load_inline\n" in code
    declared = 'cpp_sources="torch::Tensor twice(torch::Tensor x);"'
    assert (
        f"load_inline(name=\"ext\", {declared}, cuda_sources=[text], functions=['twice'])" in code
    )
    assert not review_with_fixes(parse(code), Context(), select=("BLD",))
    given = FILES.replace("sources=[text]", 'sources=["twice.cu"]').replace(", rebuild=True", "")
    assert not review_with_fixes(parse(given), Context(), select=("BLD017",))


@pytest.mark.parametrize("given", ["code=text", 'sources=[("ext.cu", text)]', "cuda_code=[text]"])
def test_a_text_under_a_name_of_the_authors_own_is_handed_over(given: str) -> None:
    """All that load_inline needs is put in, one step after the other."""
    code = FILES.replace("import load", "import load_inline")
    code = code.replace("load(name", "load_inline(name").replace(
        "sources=[text], rebuild=True", given
    )
    for _ in range(3):
        found = review_with_fixes(parse(code), Context(), select=("BLD003", "BLD017"))
        code = apply(code, found[0].fixes[0].edits) if found else code
    assert "cuda_sources=[text]" in code
    assert "functions=['twice']" in code
    assert not review_with_fixes(parse(code), Context(), select=("BLD002", "BLD003", "BLD017"))


def test_the_last_declaration_gets_its_semicolon_inside_of_the_string() -> None:
    code = BUILD.replace(
        "cuda_sources", 'cpp_sources="torch::Tensor twice(torch::Tensor x)", cuda_sources'
    )
    (made,) = fixes(parse(code), compiled(5, "expected ';' after top level declarator"))
    assert 'cpp_sources="torch::Tensor twice(torch::Tensor x);"' in apply(code, made.edits)


def test_an_untyped_pointer_is_asked_for_its_type() -> None:
    code = as_submission(PROGRAM.replace("x.data_ptr<float>()", "x.data_ptr()"))
    found = review_with_fixes(parse(code), Context(), select=("BLD014",))
    (made,) = [fix for finding in found for fix in finding.fixes]
    assert apply(code, made.edits) == as_submission(PROGRAM)


def test_a_function_that_forgets_its_result_returns_what_it_made() -> None:
    code = as_submission(PROGRAM.replace("    return y;\n", ""))
    found = review_with_fixes(parse(code), Context(), select=("BLD015",))
    (made,) = [fix for finding in found for fix in finding.fixes]
    assert apply(code, made.edits) == as_submission(PROGRAM)


MESSAGES = [said for _, said, _ in SLIPS.values()]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(PROGRAM)), st.integers(1, 40), st.sampled_from(MESSAGES), st.data())
def test_whatever_is_missing_and_whatever_is_said_a_fix_is_an_edit(
    start: int, length: int, said: str, data: st.DataObject
) -> None:
    code = as_submission(PROGRAM[:start] + PROGRAM[start + length :])
    line = data.draw(st.integers(1, len(code.splitlines())))
    for fix in fixes(parse(code), compiled(line, said)):
        assert apply(code, fix.edits) != code


def test_headers_that_refuse_the_standard_are_one_finding_and_its_cause() -> None:
    said = (
        "expected ')' before '!' token",
        "#error C++20 or later compatible compiler is required to use PyTorch.",
        "'enable_if_t' is not a template",
    )
    seen = tuple(Evidence(kind="compiler", code="error", text=text) for text in said)
    found = review_with_fixes(parse(BUILD), Context(evidence=seen), select=("BLD015",))
    (one,) = found
    assert one.message.startswith("torch's headers need `C++20` or later")
    assert len(one.evidence) == 3
