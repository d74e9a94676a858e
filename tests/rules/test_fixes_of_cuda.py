"""What rules propose as fixes where a launch, an array or a line of CUDA lacks something."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, KernelResources, LaunchRefused, Place
from grader.repair.fixes.compiler.fixes import compiler_fixes
from grader.repair.fixes.small_arrays import enlarged_where
from grader.repair.fixes.unguarded_reads import zero_outside
from grader.rules import all_rules
from grader.rules.examples import as_submission
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes, review_with_fixes

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


def compiled(line: int, words: str) -> Evidence:
    place = Place(line=line, column=0, end_line=line, end_column=1)
    return Evidence(kind="compiler", code="cuda-error", text=words, place=place)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("y[i] = x[i] * 0.5f;", "y[i] = x[i] * 0.5f);", 'expected a ";"'),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x;", "int i = blockIdx.x * (blockDim.x + threadIdx.x;", 'expected a ")"'),
        ("int i = blockIdx.x * blockDim.x", "int i = blockIdx.x) * blockDim.x", 'expected a ";"'),
    ],
)  # fmt: skip
def test_the_one_parenthesis_that_a_line_lacks_is_put_in(old: str, new: str, said: str) -> None:
    code = as_submission(PLAIN).replace(old, new)
    line = next(k for k, words in enumerate(code.splitlines(), 1) if new in words)
    fixes = compiler_fixes(parse(code), compiled(line, said))
    fixed = [apply(code, fix.edits).splitlines()[line - 1] for fix in fixes]
    assert all(words.count("(") == words.count(")") for words in fixed)
    assert len(fixed) == 1


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("    y. += x;", "    y += x;"),
        ("    auto z = f(y.);", "    auto z = f(y);"),
        ("    y[i]. *= 2.0f; // 1. = one", "    y[i] *= 2.0f; // 1. = one"),
    ],
)
def test_a_dot_that_names_no_member_is_taken_out(written: str, fixed: str) -> None:
    (made,) = compiler_fixes(parse(written), compiled(1, "expected a member name"))
    assert apply(written, made.edits) == fixed
    number = "    float z = 1. + 2.;"
    assert not list(compiler_fixes(parse(number), compiled(1, 'expected a ";"')))


def test_a_device_is_called_by_its_name_in_cpp() -> None:
    code = 'auto y = torch::zeros({n}, torch::device("cuda"));'
    said = 'no suitable constructor exists to convert from "const char [5]" to "c10::Device"'
    (made,) = compiler_fixes(parse(code), compiled(1, said))
    assert apply(code, made.edits) == "auto y = torch::zeros({n}, torch::device(torch::kCUDA));"


def test_old_exchanges_of_a_warp_get_a_mask() -> None:
    code = "for (int o = 16; o; o /= 2) v += __shfl_down(v, o);\nif (__any (v > 0)) v = __shfl_xor_sync(m, v, 1);\n"
    code = as_submission(f"__device__ float f(float v, unsigned m) {{ {code} }}")
    (made,) = compiler_fixes(parse(code), compiled(1, 'identifier "__shfl_down" is undefined'))
    fixed = apply(code, made.edits)
    assert "__shfl_down_sync(0xffffffff, v, o)" in fixed
    assert "__any_sync(0xffffffff, v > 0)" in fixed
    assert "__shfl_xor_sync(m, v, 1)" in fixed


WIDE_TILE = """
#define ROWS 16
#define DEPTH 32  // of a tile

__global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[ROWS][DEPTH];
    __shared__ float right[DEPTH][ROWS];
    int row = blockIdx.y * ROWS + threadIdx.y;
    int tx = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += DEPTH) {
        left[threadIdx.y][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0f;
        right[threadIdx.y][tx] = k + threadIdx.y < n ? b[(k + threadIdx.y) * n + tx] : 0.0f;
        __syncthreads();
        for (int j = 0; j < DEPTH; ++j) sum += left[threadIdx.y][j] * right[j][tx];
        __syncthreads();
    }
    if (row < n) c[row * n + tx] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    int n = a.size(0);
    product<<<dim3(1, (n + 15) / 16), dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""


def test_a_tile_that_its_block_fills_in_part_becomes_as_large_as_the_block() -> None:
    code = as_submission(WIDE_TILE)
    rule = all_rules()["SYN001"]
    found = [fix for finding in rule.check(parse(code), Context()) for fix in finding.fixes]
    assert found
    fixed = apply(code, found[0].edits)
    assert "#define DEPTH 16  // of a tile" in fixed
    assert "#define ROWS 16" in fixed


def test_a_read_outside_of_a_tensor_asks_for_the_sizes_of_its_own_index() -> None:
    kernel = """
__global__ void blur(const float* x, float* y, int H, int W, int C) {
    __shared__ float tile[18][18];
    int iy = blockIdx.y * 16 + threadIdx.y - 1;
    int ix = blockIdx.x * 16 + threadIdx.x;
    for (int c = 0; c < C; ++c)
        tile[threadIdx.y][threadIdx.x] = READ;
}
"""
    for read in ("x[(c * H + iy) * W + ix]", "__ldg(x + (c * H + iy) * W + ix)"):
        code = as_submission(kernel.replace("READ", read))
        line = next(k for k, words in enumerate(code.splitlines(), 1) if read in words)
        (made,) = zero_outside(parse(code), Context(), {line})
        asked = f"(iy >= 0 && iy < H && ix < W ? {read} : 0.0f)"
        assert asked in apply(code, made.edits)


def test_a_sum_that_is_never_declared_begins_at_zero() -> None:
    code = as_submission(LEFT_OUT.replace("    float sum = 0.0f;\n", ""))
    (made,) = compiler_fixes(parse(code), compiled(1, 'identifier "sum" is undefined'))
    assert "    float sum = 0.0f;\n    for (int i" in apply(code, made.edits)
    assert not list(compiler_fixes(parse(code), compiled(1, 'identifier "row" is undefined')))


SMALL = """
#define BLOCK 128
__global__ void rows(const float* x, float* y, int n) {
    __shared__ float part[SIZE];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = part[127] + part[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    rows<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


@pytest.mark.parametrize(
    ("size", "sizes"),
    [("BLOCK / 2", ["part[BLOCK]"]), ("BLOCK - 1", ["part[BLOCK]"]), ("8", ["part[32]", "part[128]"])],
)  # fmt: skip
def test_a_shared_array_gets_room_for_the_threads_that_use_it(size: str, sizes: list[str]) -> None:
    code = as_submission(SMALL.replace("SIZE", size))
    (finding,) = detected_with_fixes("MEM002", parse(code), Context())
    fixed = [apply(code, fix.edits) for fix in finding.fixes]
    assert [any(f"float {new};" in text for text in fixed) for new in sizes] == [True] * len(sizes)


def test_a_shared_array_that_a_run_saw_overrun_gets_room() -> None:
    code = as_submission(SMALL.replace("SIZE", "BLOCK / 2"))
    store = "part[threadIdx.x] = sum"
    line = next(k for k, words in enumerate(code.splitlines(), 1) if store in words)
    (made,) = enlarged_where(parse(code), compiled(line, "thread 64 writes past the end"))
    assert "float part[BLOCK];" in apply(code, made.edits)


LANES = """
__global__ void rows(const float* x, float* y, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) sum += x[blockIdx.x * n + i];
    if (threadIdx.x == 0) {
        for (int o = 16; o > 0; o /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, o);
        }
        y[blockIdx.x] = sum;
    }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    rows<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


def test_a_loop_of_exchanges_leaves_the_branch_as_a_whole() -> None:
    code = as_submission(LANES)
    findings = tuple(detected_with_fixes("SYN004", parse(code), Context()))
    fixed = apply(code, findings[0].fixes[0].edits)
    assert (
        "    for (int o = 16; o > 0; o /= 2) {\n"
        "        sum += __shfl_xor_sync(0xffffffff, sum, o);\n"
        "    }\n"
        "    if (threadIdx.x == 0) {\n"
        "        y[blockIdx.x] = sum;\n" in fixed
    )


def test_a_block_that_is_too_large_is_told_to_the_template_as_well() -> None:
    code = LANES.replace("__global__", "template <int kThreads>\n__global__")
    code = as_submission(code.replace("rows<<<x.size(0), 32>>>", "rows<2048><<<x.size(0), 2048>>>"))
    findings = tuple(detected_with_fixes("IDX003", parse(code), Context()))
    labels = {fix.label: apply(code, fix.edits) for f in findings for fix in f.fixes}
    assert "rows<1024><<<x.size(0), 1024>>>" in labels["take at most 1024 threads"]


def test_a_launch_that_registers_forbid_is_one_finding_with_its_bounds() -> None:
    code = as_submission(LANES.replace("rows<<<x.size(0), 32>>>", "rows<<<x.size(0), 1024>>>"))
    said = "The launch of rows failed with cudaErrorLaunchOutOfResources: 1024 threads of 80 registers need 81920"
    refused = Evidence(
        kind="simulator",
        code="launch-error",
        text=said,
        kernel="rows",
        details=LaunchRefused(error="cudaErrorLaunchOutOfResources", limit="registers"),
        place=Place(line=1, end_line=1),
    )
    used = KernelResources(kernel="rows(float const*, float*)", registers=80, shared_bytes=0)
    seen = Context(evidence=(refused,), resources=(used,))
    (finding,) = review_with_fixes(parse(code), seen, select=("IDX003", "IDX006"))
    assert (finding.rule, finding.confidence, finding.also) == ("IDX003", "proven", ("IDX006",))
    assert "80 registers a thread" in finding.message
    assert "__global__ __launch_bounds__(1024) void rows" in apply(code, finding.fixes[0].edits)


def test_a_shared_array_of_a_size_that_the_launch_gives_is_made_dynamic() -> None:
    code = LANES.replace(
        "    float sum = 0.0f;", "    __shared__ float part[n];\n    float sum = 0.0f;"
    )
    code = as_submission(code.replace("<<<x.size(0), 32>>>", "<<<x.size(0), 32, 128>>>"))
    (finding,) = detected_with_fixes("BLD013", parse(code), Context())
    assert "extern __shared__ float part[];" in apply(code, finding.fixes[0].edits)


DISPATCHED = """
template <typename T>
__global__ void twice(const T* x, T* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", ([&] {
        twice<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>(), y.data_ptr<float>(), 32);
    }));
    return y;
}
"""


def test_a_pointer_of_one_type_in_a_dispatch_takes_the_dispatched_type() -> None:
    code = as_submission(DISPATCHED)
    (finding,) = detected_with_fixes("BLD014", parse(code), Context())
    fixed = apply(code, finding.fixes[0].edits)
    assert "(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 32)" in fixed


LEFT_OUT = """
__global__ void norms(const float* x, float* y, int length, float eps) {
    extern __shared__ float part[];
    const float* row = x + blockIdx.x * length;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += blockDim.x) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = part[0] + eps;
}
torch::Tensor run(const torch::Tensor& input, double eps) {
    auto x = input.contiguous();
    const int length = x.size(1);
    const int rows = x.numel() / length;
    auto out = torch::empty({x.size(0)}, x.options());
    const int threads = 128;
    return out;
}
"""


def test_a_launch_that_was_left_out_is_made_of_what_the_host_has_ready() -> None:
    code = as_submission(LEFT_OUT)
    rule = all_rules()["CHT003"]
    (finding,) = rule.check(parse(code), Context())
    fixed = apply(code, finding.fixes[0].edits)
    assert (
        "    norms<<<rows, threads, threads * sizeof(float)>>>("
        "x.data_ptr<float>(), out.data_ptr<float>(), length, eps);\n    return out;" in fixed
    )


def test_no_launch_is_proposed_where_several_functions_could_make_it() -> None:
    second = LEFT_OUT[LEFT_OUT.index("torch::Tensor run") :].replace("run(", "again(")
    rule = all_rules()["CHT003"]
    (finding,) = rule.check(parse(as_submission(LEFT_OUT + second)), Context())
    assert finding.fixes == ()


GUARDED = """
__global__ void tiles(const float* x, float* y, int n) {
    __shared__ float tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i >= n) return;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = tile[31 - threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    tiles<<<(n + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


def test_threads_that_a_run_saw_leave_stay_and_a_return_too_many_is_dropped() -> None:
    code = as_submission(GUARDED)
    line = next(k for k, words in enumerate(code.splitlines(), 1) if "__syncthreads" in words)
    seen = Evidence(
        kind="simulator", code="barrier-exited", text="threads have returned before the barrier",
        place=Place(line=line, column=0, end_line=line, end_column=1),
    )  # fmt: skip
    (finding,) = detected_with_fixes("SYN003", parse(code), Context(evidence=(seen,)))
    first, second, *_ = (apply(code, fix.edits) for fix in finding.fixes)
    assert "return;" not in first
    assert "const bool in_range = !(i >= n);" in second


def test_tensors_are_made_contiguous_before_a_macro_asks_for_it() -> None:
    macros = (
        '#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")\n'
        '#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x " must be CUDA"); CHECK_CONTIGUOUS(x)\n'
    )
    code = as_submission(macros + PLAIN.replace("    auto y", "    CHECK_INPUT(x);\n    auto y"))
    raised = Evidence(kind="python", code="raised", text="RuntimeError: x must be contiguous")
    found = list(detected_with_fixes("API006", parse(code), Context(evidence=(raised,))))
    (made,) = found[0].fixes
    assert "    x = x.contiguous(); CHECK_INPUT(x);" in apply(code, made.edits)
    other = Evidence(kind="python", code="raised", text="RuntimeError: weight must be contiguous")
    assert not list(detected_with_fixes("API006", parse(code), Context(evidence=(other,))))
