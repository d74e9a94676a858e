"""Right code that looks like a defect, as real answers hold it; and the defect beside it, which is named."""

from __future__ import annotations

import pytest

from grader.records import (
    Context,
    Evidence,
    Finding,
    Place,
    ProbedInput,
    Task,
    TensorSpec,
    Workload,
    WrongValues,
)
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_with_fixes

MATMUL = """
__global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0.f;
    for (int q = 0; q < k; ++q) sum += a[i * k + q] * b[q * n + j];
    c[i * n + j] = sum;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
    return c;
}
"""
WRONG = Context(evidence=(Evidence(kind="mismatch", code="scattered", text="max error 3"),))


def review(cuda: str, forward: str = "", context: Context | None = None) -> list[Finding]:
    """Return the errors and warnings about a CUDA text, with another body of `forward`."""
    code = as_submission(cuda)
    if forward:
        head, _, _ = code.partition("    def forward")
        code = f"{head}    def forward(self, a, b):\n{forward}"
    found = review_with_fixes(parse(code), context or Context())
    return [finding for finding in found if finding.severity != "note"]


def layouts(forward: str, context: Context | None = None) -> list[tuple[str, str]]:
    found = review(MATMUL, forward, context)
    return [(f.severity, f.message.split("`")[1]) for f in found if f.rule == "MEM004"]


@pytest.mark.parametrize(
    "forward",
    [
        "        return extension.run(a, b.t())\n",
        "        turned = b.transpose(0, 1)\n        return extension.run(a, turned)\n",
        "        b = b.T\n        return extension.run(a.contiguous(), b)\n",
    ],
)
def test_only_the_argument_that_is_a_view_is_named(forward: str) -> None:
    assert layouts(forward) == [("warning", "b")]


def test_arguments_of_one_function_are_named_together() -> None:
    """What is to be done is the same for each: one finding, one fix of all."""
    found = review_with_fixes(parse(as_submission(MATMUL)), Context())
    [one] = [finding for finding in found if finding.rule == "MEM004"]
    assert "walks `a` and `b` as if their rows" in one.message
    [fix] = one.fixes
    [edit] = fix.edits
    assert "a = a.contiguous();\n    b = b.contiguous();" in edit.text


def test_an_input_that_the_task_hands_over_transposed_is_the_cause_where_results_are_wrong() -> (
    None
):
    plain, turned = TensorSpec(shape=(8, 8)), TensorSpec(shape=(8, 8), order=(1, 0))
    works = (Workload(name="w", role="nominal", inputs=(plain, turned)),)
    task = Task(name="t", title="t", source="builtin", reference="", workloads=works)
    wrong = Evidence(kind="mismatch", code="scattered", text="max error 3", workload="w")
    found = review(MATMUL, context=Context(task=task, evidence=(wrong,)))
    [one] = [finding for finding in found if finding.rule == "MEM004"]
    assert one.severity == "error"
    assert "the task hands over input 2 as a transposed view" in one.message


def test_a_view_that_forward_makes_is_an_error_where_results_are_wrong() -> None:
    forward = "        return extension.run(a, b.t())\n"
    assert layouts(forward, WRONG) == [("error", "b")]


@pytest.mark.parametrize(
    "forward",
    [
        "        return extension.run(a, b)\n",
        "        return extension.run(a, b.t().contiguous())\n",
        "        b = b.t()\n        b = b.contiguous()\n        return extension.run(a, b)\n",
        "        return extension.run(a, b).t()\n",
    ],
)
def test_no_word_of_a_view_that_the_kernel_does_not_get(forward: str) -> None:
    assert layouts(forward) == []


STORES = """
__global__ void keep(const float* x, float* y) {{
    __shared__ float held[32];
    held[threadIdx.x] = {value};
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = held[threadIdx.x];
}}
torch::Tensor run(torch::Tensor x) {{
    x = x.contiguous();
    auto y = torch::empty_like(x);
    keep<<<1, dim3(32, 8)>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}}
"""


@pytest.mark.parametrize(
    "value",
    [
        "x[threadIdx.x]",
        "2.0f * x[threadIdx.x] + x[threadIdx.x] * x[0]",
        "threadIdx.x < 16 ? x[threadIdx.x] : 0.0f",
    ],
)
def test_threads_that_store_the_same_value_do_not_race(value: str) -> None:
    assert all(finding.rule != "SYN002" for finding in review(STORES.format(value=value)))


IDLE = """
__global__ void used(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void sums(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int k = 0; k < n; ++k) s += (1 / n) * x[k];
    y[blockIdx.x] = s;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    KERNEL<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


@pytest.mark.parametrize(("kernel", "said"), [("used", False), ("sums", True)])
def test_a_kernel_that_nothing_launches_is_not_blamed_for_its_numbers(
    kernel: str, said: bool
) -> None:
    found = review(IDLE.replace("KERNEL", kernel))
    assert any(finding.rule == "NUM009" for finding in found) == said


@pytest.mark.parametrize(("fill", "said"), [("", True), ("torch::mm_out(y, x, x);", False)])
def test_a_buffer_that_a_library_call_got_is_not_called_unfilled(fill: str, said: bool) -> None:
    cuda = IDLE.replace("KERNEL", "used").replace("y[i] = x[i]", "y[i] += x[i]")
    found = review(cuda.replace("int n = x.numel();", f"int n = x.numel(); {fill}"))
    assert any(finding.rule == "MEM008" for finding in found) == said


def _evidence(code: str, workload: str) -> Evidence:
    place = Place(line=LAST, end_line=LAST)
    kind = "mismatch" if code == "scattered" else "simulator"
    return Evidence(kind=kind, code=code, text=code, place=place, workload=workload)


LAST = next(n for n, line in enumerate(as_submission(MATMUL).splitlines(), 1) if "+= a[i" in line)


@pytest.mark.parametrize(
    ("evidence", "severity"),
    [
        ((_evidence("out-of-bounds", "odd"),), "warning"),
        ((_evidence("out-of-bounds", "asked"),), "error"),
        ((_evidence("out-of-bounds", "odd"), _evidence("out-of-bounds", "asked")), "error"),
        ((_evidence("out-of-bounds", "odd"), _evidence("scattered", "asked")), "error"),
    ],
)
def test_what_only_other_sizes_show_is_a_warning_on_what_is_right(
    evidence: tuple[Evidence, ...], severity: str
) -> None:
    roles = (("asked", "nominal"), ("odd", "general"))
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(4, 4)), TensorSpec(shape=(4, 4))))
        for name, role in roles
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    found = review(MATMUL, context=Context(task=task, evidence=evidence, device="sim"))
    assert [f.severity for f in found if f.rule == "MEM011"] == [severity]


FOURS = """
__global__ void twice(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = reinterpret_cast<const float4*>(a + n % 4)[i];
    b[i] = 2 * v.x;
}
torch::Tensor run(torch::Tensor a) {
    auto b = torch::empty_like(a);
    twice<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), a.numel());
    return b;
}
"""


@pytest.mark.parametrize(("where", "severity"), [("odd", "warning"), ("asked", "error")])
def test_an_address_that_other_sizes_misalign_explains_no_wrong_result(
    where: str, severity: str
) -> None:
    roles = (("asked", "nominal"), ("odd", "general"))
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(64, 64)),)) for name, role in roles
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    evidence = (_evidence("misaligned", where), _evidence("scattered", "asked"))
    found = review(FOURS, context=Context(task=task, evidence=evidence, device="sim"))
    assert [f.severity for f in found if f.rule == "MEM007"] == [severity]


SHARED = """
__global__ void turned(const float* a, float* b, int n) {
    extern __shared__ float row[];
    row[threadIdx.x] = threadIdx.x < n ? a[blockIdx.x * n + threadIdx.x] : 0.0f;
    __syncthreads();
    if (threadIdx.x < n) b[blockIdx.x * n + threadIdx.x] = row[n - 1 - threadIdx.x];
}
torch::Tensor run(torch::Tensor a) {
    auto b = torch::empty_like(a);
    int n = a.size(1), threads = (n + 31) / 32 * 32;
    turned<<<a.size(0), threads, n * sizeof(float)>>>(a.data_ptr<float>(), b.data_ptr<float>(), n);
    return b;
}
"""


@pytest.mark.parametrize(("where", "severity"), [("odd", "warning"), ("asked", "error")])
def test_shared_memory_that_other_sizes_overrun_explains_no_wrong_result(
    where: str, severity: str
) -> None:
    sizes = (("asked", "nominal", 64), ("odd", "general", 33))
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(64, size)),))
        for name, role, size in sizes
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    evidence = (_evidence("shared-out-of-bounds", where), _evidence("scattered", "asked"))
    found = review(SHARED, context=Context(task=task, evidence=evidence, device="sim"))
    assert [f.severity for f in found if f.rule == "MEM002"] == [severity]


SHUFFLED = """
__global__ void swapped(const float* a, float* b, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float v = __shfl_xor_sync(0xffffffff, a[blockIdx.x * n + i], 1);
        b[blockIdx.x * n + i] = v;
    }
}
torch::Tensor run(torch::Tensor a) {
    auto b = torch::empty_like(a);
    swapped<<<a.size(0), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), a.size(1));
    return b;
}
"""


@pytest.mark.parametrize(("where", "severity"), [("odd", "warning"), ("asked", "error")])
def test_lanes_that_only_other_sizes_send_away_explain_no_wrong_result(
    where: str, severity: str
) -> None:
    sizes = (("asked", "nominal", 512), ("odd", "general", 513))
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(64, size)),))
        for name, role, size in sizes
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    probe = Evidence(kind="probe", code="probe-ignored", text="a value does not count")
    evidence = (_evidence("sync-exited-lanes", where), _evidence("scattered", "asked"), probe)
    found = review(SHUFFLED, context=Context(task=task, evidence=evidence, device="sim"))
    assert [f.severity for f in found if f.rule == "SYN004"] == [severity]
    assert any(f.rule == "NUM001" for f in found) == (where == "odd"), "a remark explains nothing"


def test_an_argument_that_was_forgotten_is_no_cheat() -> None:
    forward = "        return extension.run()\n"
    assert [f.rule for f in review(MATMUL, forward) if f.severity == "error"] == ["API004"]


TWICE = """
__device__ void block_total(float* part, float& v) {
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    v = part[0];
    __syncthreads();
}
__global__ void spread(const float* x, float* y, int n) {
    extern __shared__ float part[];
    const float* row = x + (size_t)blockIdx.x * n;
    float total = 0.0f;
    for (int c = threadIdx.x; c < n; c += blockDim.x) total += row[c];
    block_total(part, total);
    if (threadIdx.x == 0) part[0] = total / n;
    __syncthreads();
    float mean = part[0];
    __syncthreads();
    float squares = 0.0f;
    for (int c = threadIdx.x; c < n; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
    block_total(part, squares);
    if (threadIdx.x == 0) y[blockIdx.x] = squares / n;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    spread<<<x.size(0), 256, 256 * sizeof(float)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""


def test_a_mean_that_comes_back_through_the_same_array_takes_no_part_in_the_next_sum() -> None:
    shape = TensorSpec(shape=(4, 1024))
    workload = Workload(name="w", role="nominal", inputs=(shape,))
    task = Task(name="t", title="t", source="file", reference="", workloads=(workload,))
    assert not [f for f in review(TWICE, context=Context(task=task)) if f.severity == "error"]


SLICES = """
struct Sizes {{ int many[3]; }};
__global__ void turn(const float* x, float* y, Sizes sizes) {{
    __shared__ float tile[256];
    const int slices = {many};
    for (int s = 0; s < slices; ++s) {{
        tile[threadIdx.x] = x[(blockIdx.x * sizes.many[0] + s) * 256 + threadIdx.x];
        __syncthreads();
        y[(blockIdx.x * sizes.many[0] + s) * 256 + threadIdx.x] = tile[255 - threadIdx.x];
        __syncthreads();
    }}
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    Sizes sizes;
    for (int d = 0; d < 3; ++d) sizes.many[d] = (int)x.size(d);
    turn<<<x.size(1), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), sizes);
    return y;
}}
"""


@pytest.mark.parametrize("many", ["sizes.many[0]", "sizes.many[blockIdx.x % 3]"])
def test_an_array_in_a_struct_that_all_threads_got_is_the_same_for_all(many: str) -> None:
    assert all(finding.rule != "SYN003" for finding in review(SLICES.format(many=many)))


HEAVY = """
__global__ void raise(float* x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] += 1.f; }
torch::Tensor run(torch::Tensor a) {
    raise<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), a.numel());
    return a;
}
"""


def test_work_on_streams_of_its_own_has_to_be_waited_for() -> None:
    """To leave the wait out, as elsewhere, would return a result that is not there yet."""
    own = HEAVY.replace(
        "    raise<<<", "    cudaStream_t s;\n    cudaStreamCreate(&s);\n    raise<<<"
    )
    own = own.replace(", 256>>>", ", 256, 0, s>>>")
    own = own.replace("    return a", "    cudaStreamSynchronize(s);\n    return a")
    [waits] = [one for one in review(own) if one.rule == "API001"]
    assert not waits.fixes
    assert "current stream" in waits.message
    current = HEAVY.replace("    return a", "    cudaDeviceSynchronize();\n    return a")
    [waits] = [one for one in review(current) if one.rule == "API001"]
    assert [fix.label for fix in waits.fixes] == ["leave cudaDeviceSynchronize out"]


ROW_EACH = """
__global__ void total(const float* x, float* y, int64_t rows, int64_t n) {{
    const int lane = threadIdx.x & 31;
    const int64_t row = (int64_t)blockIdx.x * {step} + {own};
    if (row >= rows) return;
    float sum = 0.f;
    for (int64_t i = lane; i < n; i += 32) sum += x[row * n + i];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[row] = sum;
}}
torch::Tensor run(torch::Tensor x, int64_t dim) {{
    const int64_t n = x.size(dim), rows = x.numel() / n;
    auto y = torch::empty({{rows}}, x.options());
    total<<<(rows + {step} - 1) / {step}, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, n);
    return y;
}}
"""


@pytest.mark.parametrize("own", ["threadIdx.x / 32", "(threadIdx.x >> 5)"])
def test_a_warp_that_leaves_as_a_whole_is_missed_by_no_exchange(own: str) -> None:
    forward = "        return extension.run(a, self.dim)\n"
    found = review(ROW_EACH.format(step=4, own=own), forward)
    assert [f.message for f in found if f.rule == "SYN004"] == []


GELU = """
__global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    gelu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
EXACT = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)
"""


@pytest.mark.parametrize(
    ("code", "error", "rules"),
    [
        ("half-precision", 0.0, {"NUM008": "error"}),
        ("sign-flip", 0.0, {"NUM001": "error", "NUM008": "warning"}),
        ("values", 0.0013, {"NUM008": "error"}),
        ("values", 0.13, {"NUM001": "error", "NUM008": "warning"}),
    ],
)
def test_an_approximation_explains_the_few_digits_that_it_costs(
    code: str, error: float, rules: dict[str, str]
) -> None:
    workload = Workload(name="asked", role="nominal", inputs=(TensorSpec(shape=(4, 4)),))
    task = Task(name="t", title="t", source="file", reference=EXACT, workloads=(workload,))
    size = WrongValues(max_error=error)
    wrong = Evidence(kind="mismatch", code=code, text="told", workload="asked", details=size)
    found = review(GELU, context=Context(task=task, evidence=(wrong,), device="sim"))
    assert {f.rule: f.severity for f in found if f.rule in {"NUM001", "NUM008"}} == rules


@pytest.mark.parametrize(
    ("body", "told"), [("extension.run(b, b)", True), ("extension.run(a, b)", False)]
)
def test_an_input_that_forward_never_reads_is_named(body: str, told: bool) -> None:
    probe = Evidence(
        kind="probe",
        code="probe-ignored",
        text="raising input 1 changes nothing",
        details=ProbedInput(input=0),
    )
    context = Context(evidence=(*WRONG.evidence, probe))
    found = review(MATMUL, f"        return {body}\n", context)
    (finding,) = [item for item in found if item.rule == "NUM001"]
    assert ("`forward` never reads `a`" in finding.message) is told
    assert finding.place is not None
    assert (finding.place.excerpt == "a") is told


@pytest.mark.parametrize(("where", "severity"), [("odd", "warning"), ("asked", "error")])
def test_a_launch_that_fails_at_other_sizes_alone_explains_no_wrong_result(
    where: str, severity: str
) -> None:
    """No block for an empty input, say: what is wrong at the task's own sizes has another cause."""
    roles = (("asked", "nominal"), ("odd", "general"))
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(4, 4)), TensorSpec(shape=(4, 4))))
        for name, role in roles
    )
    task = Task(name="t", title="t", source="file", reference="", workloads=workloads)
    evidence = (_evidence("launch-error", where), _evidence("scattered", "asked"))
    found = review(MATMUL, context=Context(task=task, evidence=evidence, device="sim"))
    assert [f.severity for f in found if f.rule == "IDX006"] == [severity]


KEPT_LINES = """
import torch
from torch.utils.cpp_extension import load_inline
SRC = '''
# <mark> begin
__global__ void scaled(const float* a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 0.5f * a[i];
}
torch::Tensor run(torch::Tensor a) {
    auto b = torch::empty_like(a);
    scaled<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), a.numel());
    return b;
}
'''
def bare(text):
    kept = []
    for line in text.splitlines():
        if not line.startswith("# <"):
            kept.append(line)
    return "\\n".join(kept)
ext = load_inline(name="e", cpp_sources="torch::Tensor run(torch::Tensor a);", cuda_sources=bare(SRC), functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, a):
        return ext.run(a)
"""


def test_a_text_that_the_program_filters_first_still_holds_its_kernel() -> None:
    found = review_with_fixes(parse(KEPT_LINES), Context())
    assert not [f for f in found if f.severity == "error"], found
