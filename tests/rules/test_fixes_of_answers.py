"""What rules propose for what models' answers get wrong most: exchanges, calls, shapes, functions for modules."""

from __future__ import annotations

from typing import Any

import pytest

from grader.records import Context, Evidence, Task, TensorSpec, Workload
from grader.repair.fixes.whole_warp import whole_warp
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes

from .fixed import PLAIN, fixes, program, seen

BLOCK_MAX = """
__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, o));
    return v;
}
__global__ void row_max(const float* x, float* y) {
    __shared__ float part[8];
    int tid = threadIdx.x, lane = tid % 32;
    int warp = tid / 32;
    float v = warp_max(x[blockIdx.x * 256 + tid]);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (CONDITION) {
        float best = part[INDEX];
        best = warp_max(best);
        if (tid == 0) part[INDEX] = best;
    }
    __syncthreads();
    if (tid == 0) y[blockIdx.x] = part[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_max<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""


@pytest.mark.parametrize(
    ("condition", "index", "fixed"),
    [
        ("tid < 8", "tid", "if (tid < 32) {"),
        ("warp == 0 && lane < 8", "lane", "if (warp == 0) {"),
        ("threadIdx.x < blockDim.x / 32", "threadIdx.x", "if (threadIdx.x < 32) {"),
        ("tid < 8 && (part[0] > 0 || lane > 2)", "tid", "if (tid < 32 && (part[0] > 0 || lane > 2)) {"),
    ],
)  # fmt: skip
def test_the_whole_warp_is_let_into_a_branch_with_an_exchange(
    condition: str, index: str, fixed: str
) -> None:
    code = program(BLOCK_MAX.replace("CONDITION", condition).replace("INDEX", index))
    ways = fixes("SYN004", code)
    bound = "blockDim.x / 32" if "blockDim" in condition else "8"
    read = f"float best = {index} < {bound} ? part[{index}] : -INFINITY;"
    assert any({fixed, read, f"if (tid == 0) part[{index}] = best;"} <= lines for lines in ways)


def test_a_branch_that_whole_warps_take_is_left_alone() -> None:
    code = program(BLOCK_MAX.replace("CONDITION", "tid < 32").replace("INDEX", "lane"))
    assert not whole_warp(parse(code))


CALLED = PLAIN.replace(
    "__global__",
    "__device__ float at(const float* x, int row, int col, int rows, int cols) "
    "{ return x[row * cols + col]; }\n__global__",
    1,
).replace("x[i] * 0.5f", "GIVEN")


@pytest.mark.parametrize(
    ("given", "fixed"),
    [
        ("at(x, i, 0, rows)", "y[i] = at(x, i, 0, rows, cols);"),
        ("at(x, i, 0, cols)", "y[i] = at(x, i, 0, rows, cols);"),
        ("at(x, i, 0)", "y[i] = at(x, i, 0, rows, cols);"),
    ],
)
def test_an_argument_that_is_left_out_is_the_variable_of_its_name(given: str, fixed: str) -> None:
    code = program(CALLED.replace("GIVEN", given).replace("int n)", "int n, int rows, int cols)"))
    line = next(k for k, words in enumerate(code.splitlines(), 1) if given in words)
    context = seen("compiler", "nvcc: too few arguments in function call", line=line)
    (lines,) = fixes("BLD015", code, context)
    assert f"if (i < n) {fixed}" in lines


FUNCTION = """
import torch
from torch import nn


class ModelNew(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor
"""
WRAPPER = """

class Wrapper(nn.Module):
    def __init__(self, factor):
        super(Wrapper, self).__init__()
        self.factor = factor

    def forward(self, x):
        return ModelNew.apply(x, self.factor)
"""


def fixed(rule: str, code: str, context: Context | None = None, at: int = 0) -> dict[str, Any]:
    """Return what a program defines after a fix of a rule."""
    (finding, *_) = detected_with_fixes(rule, parse(code), context or Context())
    names: dict[str, Any] = {}
    exec(apply(code, finding.fixes[at].edits), names)
    return names


def test_inputs_of_other_shapes_are_broadcast_and_counted() -> None:
    cuda = PLAIN.replace("run(torch::Tensor x)", "run(torch::Tensor x, torch::Tensor y)")
    cuda = cuda.replace("x.numel()", "x.size(0)").replace("auto y = torch", "auto z = torch")
    code = program(cuda).replace("forward(self, x)", "forward(self, x, y)")
    inputs = tuple(TensorSpec(shape=shape) for shape in ((64, 32), (32,)))
    work = Workload(name="w", role="nominal", inputs=inputs)
    task = Task(name="t", title="t", source="file", reference="", workloads=(work,))
    item = Evidence(kind="mismatch", code="values", text="every element is wrong", workload="w")
    context = Context(evidence=(item,), task=task, device="sim")
    (plain,) = fixes("NUM001", code, context)
    line = "x, y = (t.contiguous() for t in torch.broadcast_tensors(x, y))"
    assert line in plain


TWICE = """
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}
__global__ void sums(const float* x, float* y) {
    int lane = threadIdx.x % 32;
    float mine = x[threadIdx.x], total = warp_sum(mine);
    FIRST
    if (lane == 0) {
        mine = warp_sum(mine);
    }
    y[threadIdx.x] = mine;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    sums<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
LANE_0_ALONE = "mine = warp_sum(lane == 0 ? mine : (float)0);"


@pytest.mark.parametrize(
    ("first", "likeliest"),
    [
        ("if (lane == 0) { mine = total; }", LANE_0_ALONE),
        ("if (lane == 1) mine = total;", "mine = warp_sum(mine);"),
        ("", "mine = warp_sum(mine);"),
    ],
)
def test_lanes_that_an_exchange_missed_bring_their_value_or_a_neutral_one(
    first: str, likeliest: str
) -> None:
    ways = fixes("SYN004", program(TWICE.replace("FIRST", first)))
    assert likeliest in ways[0]
    assert all(
        any(line in lines for lines in ways) for line in (LANE_0_ALONE, "mine = warp_sum(mine);")
    )
    assert not any("}" in lines and "if (lane == 0) {" in lines for lines in ways)


def test_a_stream_of_the_answers_own_is_joined() -> None:
    forward = (
        "        with torch.cuda.stream(self.stream):\n            y = ops.run(x)\n        return y"
    )
    made = "    def __init__(self):\n        super().__init__()\n        self.stream = torch.cuda.Stream()\n\n"
    code = program(PLAIN).replace("    def forward", f"{made}    def forward")
    (lines,) = fixes("CHT009", code.replace("        return ops.run(x)", forward))
    assert "self.stream.wait_stream(torch.cuda.current_stream())" in lines
    assert "torch.cuda.current_stream().wait_stream(self.stream)" in lines
    leaving = forward.replace("y = ", "return ").replace("        return y", "")
    assert fixes("CHT009", code.replace("        return ops.run(x)", leaving)) == []


def test_switches_that_are_all_of_a_block_leave_a_block_behind() -> None:
    block = (
        "if torch.cuda.is_available():\n"
        "    torch.backends.cudnn.benchmark = True\n"
        "    # faster\n"
        "    torch.backends.cudnn.allow_tf32 = True\n"
    )
    code = program(PLAIN) + block
    found = detected_with_fixes("CHT006", parse(code), Context())
    edits = [edit for finding in found for fix in finding.fixes for edit in fix.edits]
    left = apply(code, edits)
    assert parse(left).python is not None
    assert left.endswith("if torch.cuda.is_available():\n    pass\n    # faster\n")
    beside = code + "    print(1)\n"
    found = detected_with_fixes("CHT006", parse(beside), Context())
    edits = [edit for finding in found for fix in finding.fixes for edit in fix.edits]
    assert apply(beside, edits).endswith("is_available():\n    # faster\n    print(1)\n")


def place_of(rule: str, code: str, words: str, context: Context) -> bool:
    """Whether the first finding of a rule stands at the first line with these words."""
    (finding, *_) = detected_with_fixes(rule, parse(code), context)
    line = next(n for n, text in enumerate(code.splitlines(), 1) if words in text)
    return finding.place is not None and finding.place.line == line


def test_a_wrong_shape_is_reported_where_the_result_is_made() -> None:
    between = "auto y = torch::empty_like(x);\n    auto half = torch::zeros_like(x);"
    code = program(PLAIN.replace("auto y = torch::empty_like(x);", between))
    assert place_of("EXT005", code, "auto y", seen("mismatch", "shape (1,) returned", "shape"))
    unnamed = code.replace("    return y;", "    return y.view(-1);")
    assert place_of(
        "EXT005", unnamed, "auto half", seen("mismatch", "shape (1,) returned", "shape")
    )


def test_what_a_comment_leaves_out_weighs_more_where_results_are_wrong() -> None:
    code = program(PLAIN.replace("if (i < n)", "// simplified: no bounds\n    if (i < n)"))
    (right,) = detected_with_fixes("EXT006", parse(code), Context())
    (wrong,) = detected_with_fixes("EXT006", parse(code), seen("mismatch", "all wrong", "values"))
    assert (right.severity, wrong.severity) == ("note", "warning")


def test_a_name_of_the_problems_file_is_said_to_be_found_by_kernelbench() -> None:
    code = program(PLAIN).replace("return ops.run(x)", "return ops.run(x) * scale")
    for reference, told in (("scale = 2.0\n", True), ("other = 2.0\n", False)):
        task = Task(name="t", title="t", source="file", reference=reference, workloads=())
        (found,) = detected_with_fixes("EXT003", parse(code), Context(task=task))
        assert ("KernelBench" in found.message) == told


def test_an_access_of_several_elements_is_said_to_pass_the_end_with_its_last() -> None:
    fours = (
        "if (4 * i < n) { float4 v = *reinterpret_cast<const float4*>(&x[4 * i]); y[4 * i] = v.x; }"
    )
    code = program(PLAIN.replace("if (i < n) y[i] = x[i] * 0.5f;", fours))
    load = Workload(name="n", role="nominal", inputs=(TensorSpec(shape=(97,)),))
    task = Task(name="t", title="t", source="file", reference="", workloads=(load,))
    (found,) = detected_with_fixes("MEM001", parse(code), Context(task=task))
    assert "reads 4 elements of `x` at once, and nothing compares the last of them" in found.message
    assert "and 1 block of 256 threads" in found.message


LEFT_EARLY = """
__global__ void total(const float* x, float* sum, int rows, int cols) {
    __shared__ float part[128];
    int tid = threadIdx.x, row = blockIdx.x * 128 + tid;
    if (row >= rows) return;
    float largest = -1e30f;
    for (int c = 0; c < cols; ++c) largest = fmaxf(largest, x[row * cols + c]);
    float term = 1.0f + largest;
    part[tid] = term;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (tid < s) part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(sum, part[0]);
}
torch::Tensor run(torch::Tensor x) {
    if (!x.device().is_cuda()) throw std::runtime_error("on the GPU, please");
    auto sum = torch::zeros({1}, x.options());
    int rows = x.size(0), cols = x.size(1);
    total<<<(rows + 127) / 128, 128>>>(x.data_ptr<float>(), sum.data_ptr<float>(), rows, cols);
    return sum;
}
"""


def test_who_stays_for_the_barrier_without_a_place_in_the_data_brings_nothing() -> None:
    """What the lane computes of nothing need not be nothing: 1 + the largest of no values."""
    found = fixes("SYN003", program(LEFT_EARLY))
    kept = [lines for lines in found if "const bool in_range = !(row >= rows);" in lines]
    assert any("part[tid] = in_range ? term : 0;" in lines for lines in kept)
    assert any("part[tid] = term;" in lines for lines in kept), "it may be nothing already"


POINTERS = """
__global__ void twice_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
void run(const float* x, float* y, int n) { twice_kernel<<<(n + 255) / 256, 256>>>(x, y, n); }
"""


@pytest.mark.parametrize("more", ['m.def("run", &twice_kernel)', "none"])
def test_a_kernel_that_python_is_handed_is_launched_by_nothing(more: str) -> None:
    kernel = POINTERS.partition("void run")[0]
    bound = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {more}; }}" if more != "none" else ""
    (finding,) = detected_with_fixes("CHT003", parse(program(kernel + bound)), Context())
    handed = "Python is handed twice_kernel itself" in finding.message
    assert finding.message.startswith("nothing launches twice_kernel")
    assert handed == bool(bound)


def test_code_that_is_left_to_be_written_is_named() -> None:
    code = program("""
__global__ void later(const float* x, float* y) {
    // the sum goes here
}
__global__ void done(float* y) { y[0] = 1.0f; }
torch::Tensor run(torch::Tensor x) {
    later<<<...>>>(x.data_ptr<float>(), x.data_ptr<float>());
    return x;
}
""")
    found = [
        f for f in detected_with_fixes("EXT006", parse(code), Context()) if f.severity == "error"
    ]
    assert [f.message.partition(":")[0] for f in found] == [
        "there is no code in later",
        "three dots stand for the sizes of this launch",
    ]
