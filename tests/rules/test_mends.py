"""What rules propose as mends: the lines of a program after a finding's fix."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Evidence, Place, Task, TensorSpec, Workload
from grader.rules import all_rules
from grader.rules.examples import as_submission
from grader.rules.forward_mends import suffixes
from grader.rules.rule import Context
from grader.source import parse
from grader.source.edits import apply

TILE = """
__global__ void upper(const float* a, float* c, int n) {
    __shared__ float tile[16][16];
    int col = blockIdx.x * 16 + threadIdx.x;
    int row = blockIdx.y * 16 + threadIdx.y;
    if (row >= n || col >= n) return;
    if (col < row) {
        c[row * n + col] = 0.0f;
        return;
    }
    float acc = 0.0f;
    for (int k = 0; k < n; k += 16) {
        float v = 0.0f;
        if (k + threadIdx.x < n) v = a[row * n + k + threadIdx.x];
        tile[threadIdx.y][threadIdx.x] = v;
        __syncthreads();
        for (int j = 0; j < 16; ++j) acc += tile[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = acc;
}
torch::Tensor run(torch::Tensor a) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    dim3 grid((n + 15) / 16, (n + 15) / 16);
    upper<<<grid, dim3(16, 16)>>>(a.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""
VECTORS = """
__global__ void rows(const float* x, float* y, int n) {
    int i = blockIdx.x * n + threadIdx.x * 4;
    if (threadIdx.x * 4 < n) {
        float4 v = *reinterpret_cast<const float4*>(&x[i]);
        y[i] = v.x;
        if (threadIdx.x * 4 + 1 < n) y[i + 1] = v.y;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    rows<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
LONG_GRID = """
__global__ void mark(float* y, int rows, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && i < n) y[row * n + i] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 grid((x.size(1) + 31) / 32, x.size(0));
    mark<<<grid, 32>>>(y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""
PLAIN = """
__global__ void half_of(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 0.5f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    half_of<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
MODEL = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = """%s"""
ops = load_inline(name="ops", cpp_sources="%s", cuda_sources=source, functions=["run"]%s)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)
'''


def program(
    cuda: str, declared: str = "torch::Tensor run(torch::Tensor x);", more: str = ""
) -> str:
    return MODEL % (cuda, declared, more)


def seen(kind: str, text: str, code: str = "error", line: int = 0) -> Context:
    place = Place(line=line, end_line=line) if line else None
    item = Evidence(kind=kind, code=code, text=text, place=place, data={"kernel": "mark"})
    return Context(evidence=(item,), device="sim")


def mends(rule: str, code: str, context: Context | None = None) -> list[set[str]]:
    """Return the lines of the program after each fix of each finding, without their indentation."""
    found = all_rules()[rule].check(parse(code), context or Context())
    changed = (apply(code, fix.edits) for finding in found for fix in finding.fixes)
    return [{line.strip() for line in text.splitlines()} for text in changed]


def test_threads_that_returned_stay_in_the_block() -> None:
    ways = mends("SYN003", as_submission(TILE))
    everywhere = {
        "const bool in_range = !(row >= n || col >= n);",
        "const bool in_range_2 = in_range && !(col < row);",
        "if (in_range && (col < row)) {",
        "if (in_range_2) c[row * n + col] = acc;",
    }
    assert all(everywhere <= lines and "return;" not in lines for lines in ways)
    load = "if (k + threadIdx.x < n) v = {};"
    wanted = ("(in_range ? {} : 0)", "(in_range_2 ? {} : 0)", "{}")
    for lines, guarded in zip(ways, wanted, strict=True):
        assert load.format(guarded.format("a[row * n + k + threadIdx.x]")) in lines


def test_of_an_unaligned_vector_only_what_is_used_is_read() -> None:
    used, loose = mends("MEM007", as_submission(VECTORS))
    assert {"y[i] = x[i];", "if (threadIdx.x * 4 + 1 < n) y[i + 1] = x[i + 1];"} <= used
    assert not any("float4" in line for line in used)
    assert "float4 v = *reinterpret_cast<const loose_float4*>(&x[i]);" in loose
    assert "struct loose_float4 {" in loose


def test_a_grid_too_long_in_y_goes_into_x() -> None:
    said = "The launch of mark failed: the grid has 70000 blocks in y; the limit is 65535."
    (lines,) = mends("IDX006", as_submission(LONG_GRID), seen("simulator", said, "launch-error"))
    assert "int row = blockIdx.x * blockDim.y + threadIdx.y;" in lines
    assert "dim3 grid(x.size(0), (x.size(1) + 31) / 32);" in lines


def test_inputs_and_result_take_the_kernels_type_and_back() -> None:
    said = "RuntimeError: expected scalar type Float but found Half"
    (lines,) = mends("API005", program(PLAIN), seen("python", said, "raised"))
    assert {"x = x.to(torch.float32)", "return ops.run(x).to(torch.float16)"} <= lines


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("shape (16,) returned, (16, 1) expected", "return ops.run(x).unsqueeze(-1)"),
        ("shape (1,) returned, () expected", "return ops.run(x).squeeze(0)"),
        ("float64 returned, float32 expected", "return ops.run(x).to(torch.float32)"),
    ],
)
def test_the_result_gets_the_form_that_was_expected(said: str, line: str) -> None:
    kind = "shape" if "shape" in said else "dtype"
    ways = mends("EXT005", program(PLAIN), seen("mismatch", said, kind))
    assert any(line in lines for lines in ways)


@settings(deadline=None)
@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_a_change_of_shape_fits_every_workload(sizes: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(sizes)))
    pairs = [(tuple(s), (*s[:k], 1, *s[k:])) for s in (sizes, [n + 1 for n in sizes])]
    assert suffixes(pairs)
    assert suffixes([(want, got) for got, want in pairs]) == [f".squeeze({k})"]
    assert not suffixes([*pairs, (tuple(sizes), (*sizes, 7))])


def test_a_declared_function_that_is_missing_is_written() -> None:
    kernel = PLAIN[: PLAIN.index("torch::Tensor run")].replace("half_of", "run_kernel")
    (lines,) = mends("BLD006", program(kernel))
    launch = (
        "run_kernel<<<blocks, threads>>>(x.data_ptr<float>(), output.data_ptr<float>(), total);"
    )
    assert {"torch::Tensor run(torch::Tensor x) {", launch, "return output;"} <= lines


def test_a_flag_of_nvcc_is_not_given_to_the_other_compiler() -> None:
    code = program(PLAIN, more=', extra_cflags=["-O3", "--use_fast_math"]')
    (lines,) = mends("BLD017", code)
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
    ways = mends("BLD015", code, seen("compiler", said, line=line))
    assert any(new in lines for lines in ways)


def test_an_argument_that_is_left_out_takes_the_definitions_default() -> None:
    cuda = PLAIN.replace("run(torch::Tensor x)", "run(torch::Tensor x, float beta = 1.0)")
    declared = "torch::Tensor run(torch::Tensor x, float beta);"
    (lines,) = mends("API004", program(cuda, declared))
    assert "return ops.run(x, 1.0)" in lines


TWO = (
    program(PLAIN).replace("forward(self, x)", "forward(self, x, y)").replace("run(x)", "run(x, y)")
)


def test_matrices_of_the_wrong_shape_are_handed_over_transposed() -> None:
    said = "shape (256, 256) returned, (64, 128) expected"
    ways = mends("EXT005", TWO, seen("mismatch", said, "shape"))
    turned = {"x = x.t().contiguous()", "y = y.t().contiguous()"}
    assert [lines & turned for lines in ways] == [turned, *({one} for one in sorted(turned))]


def test_inputs_of_other_shapes_are_broadcast_where_reads_go_past_the_end() -> None:
    inputs = tuple(TensorSpec(shape=shape) for shape in ((64, 32), (32,)))
    work = Workload(name="w", role="nominal", inputs=inputs)
    task = Task(name="t", title="t", source="file", reference="", workloads=(work,))
    item = Evidence(kind="simulator", code="oob", text="thread 40 reads y[40], past its end")
    (lines,) = mends("MEM011", TWO, Context(evidence=(item,), task=task, device="sim"))
    assert "x, y = (t.contiguous() for t in torch.broadcast_tensors(x, y))" in lines


OWN = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i, k))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.kaiming_uniform_(self.weight)

    def forward(self, x):
        return ext.conv(x, self.weight, self.bias)
"""


def test_weights_are_those_that_the_references_layer_draws() -> None:
    reference = """
class Model(nn.Module):
    def __init__(self, channels, out, size):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, size, stride=1)
    def forward(self, x):
        return self.conv(x)
"""
    item = Evidence(kind="probe", code="own-weights", text="weight differs")
    task = Task(name="t", title="t", source="file", reference=reference, workloads=())
    (lines,) = mends("NUM006", OWN, Context(evidence=(item,), task=task))
    assert {"conv = nn.Conv1d(i, o, k, stride=1)", "self.weight = conv.weight"} <= lines
    assert "self.bias = conv.bias" in lines
    assert not any(re.search(r"randn|init\.", line) for line in lines)


REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.bn = torch.nn.BatchNorm2d(num_features, eps)
    def forward(self, x):
        return self.bn(x)
"""
CALLS = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ops = load_inline(name="ops", functions=["run"], cuda_sources="",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor weight, double eps);")
class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)
    def forward(self, x):
        flat = x.flatten(1)
        return ops.run(flat, self.bn.weight, self.bn.eps)
"""


@pytest.mark.parametrize(
    ("rule", "old", "new", "mended"),
    [
        ("API004", "flat, self.bn.weight, self.bn.eps", "flat, self.bn.weight", None),
        ("API004", "flat, self.bn.weight, self.bn.eps", "", None),
        ("API004", "flat, self.bn.weight, self.bn.eps", "flat", None),
        ("EXT003", "num_features, eps=", "eps=", None),
        ("EXT003", "x.flatten(1)", "x.to(device).flatten(1)", None),
        ("EXT003", "run(flat,", "run(flatt,", None),
        ("EXT007", "self.bn = ", "self.norm = ", CALLS.replace("self.bn", "self.norm")),
        (
            "NUM006",
            "    def forward",
            "        nn.init.normal_(self.bn.weight)\n    def forward",
            None,
        ),
    ],
)
def test_names_and_arguments_that_python_lacks(
    rule: str, old: str, new: str, mended: str | None
) -> None:
    code = CALLS.replace(old, new)
    task = Task(name="t", title="t", source="file", reference=REFERENCE, workloads=())
    findings = all_rules()[rule].check(parse(code), Context(task=task))
    fixes = [fix for finding in findings for fix in finding.fixes]
    assert (mended or CALLS) in [apply(code, fix.edits) for fix in fixes]


def test_an_exchange_in_a_helper_that_a_branch_calls_is_made_by_all_lanes() -> None:
    rule = all_rules()["SYN004"]
    code = as_submission(
        """
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}
__device__ float block_sum(float v) {
    __shared__ float part[8];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
    if (threadIdx.x < 8) v = warp_sum(v);
    return v;
}
__global__ void sums(const float* x, float* y) {
    float v = block_sum(x[threadIdx.x]);
    if (threadIdx.x == 0) y[0] = v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({1}, x.options());
    sums<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
    )
    (finding,) = rule.check(parse(code), Context())
    (fix,) = finding.fixes
    assert "v = warp_sum(v);\n    if (threadIdx.x < 8) ;" in apply(code, fix.edits)


STRIDED = """
__device__ void total(float* part, float& v) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    v = part[0];
}
__global__ void scaled(const float* x, float* y, int n) {
    __shared__ float part[256];
    float sum = x[threadIdx.x];
    total(part, sum);
    if (threadIdx.x == 0) {
        part[0] = 1.0f / sum;
    }
    __syncthreads();
    float scale = part[0];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = x[i] * scale;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scaled<<<4, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""


def test_a_barrier_after_a_helper_stands_before_the_branch() -> None:
    code = as_submission(STRIDED)
    (finding,) = all_rules()["SYN002"].check(parse(code), Context())
    (fix,) = finding.fixes
    branch = "if (threadIdx.x == 0) {\n        part[0]"
    assert f"__syncthreads();\n    {branch}" in apply(code, fix.edits)


def test_an_index_that_a_run_saw_wrap_is_counted_in_64_bits() -> None:
    code = as_submission(STRIDED)
    at = next(n for n, line in enumerate(code.splitlines(), 1) if "y[i] = x[i]" in line)
    item = Evidence(
        kind="simulator",
        code="oob",
        text="thread 0 reads before the start: the index has wrapped",
        place=Place(line=at, end_line=at),
        data={"kernel": "scaled", "wrapped": True},
    )
    (lines,) = mends("IDX001", code, Context(evidence=(item,), device="sim"))
    head = "for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; "
    assert any(line.startswith(head) for line in lines)


DECLARED = '''
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void top_kernel(const float* x, float* y, int batch, int channels, int inner) {
    int b = blockIdx.x;
    int p = blockIdx.y * blockDim.x + threadIdx.x;
    if (b >= batch || p >= inner) return;
    float most = x[b * channels * inner + p];
    for (int c = 1; c < channels; ++c) most = fmaxf(most, x[(b * channels + c) * inner + p]);
    y[b * inner + p] = most;
}
__global__ void shift_kernel(const float* x, const float* bias, float* y, int n, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + bias[i % c];
}
"""
ops = load_inline(name="ops", cuda_sources=source, functions=["top", "shift"],
    cpp_sources="torch::Tensor top(torch::Tensor x); torch::Tensor shift(torch::Tensor x, torch::Tensor bias);")
'''


def test_a_function_for_a_kernel_over_one_dimension_is_written() -> None:
    code = DECLARED.replace(', "shift"', "").partition("; torch::Tensor shift")[0] + '")\n'
    (lines,) = mends("BLD006", code)
    assert "shape.erase(shape.begin() + 1);" in lines
    launch = next(line for line in lines if line.startswith("top_kernel<<<"))
    inner = "x.numel() / (x.size(0) * x.size(1))"
    assert f"<<<dim3(x.size(0), ({inner} + 255) / 256), 256>>>" in launch
    assert launch.endswith(f"x.size(0), x.size(1), {inner});")


def test_a_kernel_over_elements_is_not_taken_for_one_over_a_dimension() -> None:
    found = all_rules()["BLD006"].check(parse(DECLARED), Context())
    written = [apply(DECLARED, fix.edits) for finding in found for fix in finding.fixes]
    assert not any("shape.erase" in code.partition("Tensor shift(")[2] for code in written)


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
    findings = all_rules()[rule].check(parse(code), Context())
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
    (lines,) = mends("BLD015", code, Context(evidence=(item,)))
    assert "int n = x.numel();  // all of it" in lines


BLOCKS = """
#define SIDE 64
__global__ void mark(float* y, int n) {
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 block(SIDE, SIDE);
    mark<<<1, block>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""


def test_a_block_of_too_many_threads_is_made_smaller() -> None:
    (named,) = mends("IDX003", as_submission(BLOCKS))
    assert "#define SIDE 16" in named
    (numbers,) = mends("IDX003", as_submission(BLOCKS.replace("SIDE, SIDE", "64, 32")))
    assert "dim3 block(32, 32);" in numbers


NORM = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ops = load_inline(name="ops", functions=["run"], cuda_sources="",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);")
class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels)
    def forward(self, x):
        return ops.run(x, self.norm.weight, self.norm.bias)
"""


def test_a_norm_without_weights_hands_over_ones_and_zeros() -> None:
    item = Evidence(
        kind="python", code="raised", text="TypeError: run(): incompatible function arguments."
    )
    weight, bias = mends("API004", NORM, Context(evidence=(item,)))
    assert any("x.new_ones(self.norm.num_features)" in line for line in weight)
    assert any("x.new_zeros(self.norm.num_features)" in line for line in bias)
    affine = NORM.replace("(channels)\n", "(channels, affine=True)\n")
    assert not mends("API004", affine, Context(evidence=(item,)))


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
    found = mends("BLD015", code, Context(evidence=(item,)))
    assert any(
        "__device__ float first(const float* data) { return data[0]; }" in lines for lines in found
    )
