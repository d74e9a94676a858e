"""Where a defect is said to be: at its cause, not at the last line that shows it."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding, Place, ProbedInput, UnwrittenOutput
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_text

ROWS = """
__global__ void spread(const float* x, float* y, int n) {
    __shared__ float mean, scale;
    const float* row = x + blockIdx.x * n;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < n; i += 32) s += row[i];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);  // first
    if (threadIdx.x == 0) mean = s / n;
    __syncthreads();
    float m = mean;
    for (int i = threadIdx.x; i < n; i += 32) q += (row[i] - m) * (row[i] - m);
    for (int o = 16; o; o >>= 1) q += __shfl_down_sync(~0u, q, o);  // second
    if (threadIdx.x == 0) scale = rsqrtf(q / n);
    __syncthreads();
    float r = scale;
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = (row[i] - m) * r;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    spread<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
TREE = """
__global__ void sums(const float* x, float* y, int n) {
    extern __shared__ float part[];
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[blockIdx.x * n + i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    const int threads = 256;
    const int bytes = threads * sizeof(float);
    sums<<<x.size(0), threads, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
TWO = """
__global__ void rows(const float* x, float* part, int n) {
    float s = 0.f;
    for (int i = 0; i < n; ++i) s += x[blockIdx.x * n + i];
    part[blockIdx.x] = s - x[blockIdx.x * n];
}
__global__ void total(const float* part, float* y, int n) {
    float s = 0.f;
    for (int i = 0; i < n; ++i) s += part[i];
    y[0] = s / n;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto part = torch::empty({x.size(0)}, x.options());
    auto y = torch::empty({1}, x.options());
    rows<<<x.size(0), 1>>>(x.data_ptr<float>(), part.data_ptr<float>(), x.size(1));
    total<<<1, 1>>>(part.data_ptr<float>(), y.data_ptr<float>(), x.size(0));
    return y;
}
"""
FILL = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.f * x[i];
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int n = x.numel();
    twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
IN_PART = Evidence(
    kind="simulator",
    code="unwritten-output",
    text="part unwritten",
    details=UnwrittenOutput(output=0, missing=8, size=64),
)


def errors(code: str, *evidence: Evidence) -> list[Finding]:
    context = Context(evidence=evidence, device="sim" if evidence else "none")
    return [f for f in review_text(parse(code), context) if f.severity == "error"]


def said(cuda: str, *evidence: Evidence) -> list[tuple[str, str]]:
    """Return rule and text of the line of each error."""
    code = as_submission(cuda)
    lines = code.splitlines()
    return [
        (f.rule, lines[f.place.line - 1].strip() if f.place else "")
        for f in errors(code, *evidence)
    ]


def wrong(kind: str, code: str, details: ProbedInput | None = None) -> Evidence:
    return Evidence(
        kind="probe" if kind == "probe" else "mismatch", code=code, text=code, details=details
    )


@pytest.mark.parametrize(("shared", "name"), [("mean", "first"), ("scale", "second")])
def test_the_total_that_is_not_handed_on_is_the_one_that_is_named(shared: str, name: str) -> None:
    value = {"mean": "s / n", "scale": "rsqrtf(q / n)"}[shared]
    own = ROWS.replace(f"if (threadIdx.x == 0) {shared} = {value};", "")
    own = own.replace(f"= {shared};", f"= {value};")
    [(rule, line)] = said(own, wrong("mismatch", "partial"))
    assert rule == "RED002"
    assert line.endswith(f"// {name}")


def test_where_all_is_handed_on_nothing_is_said() -> None:
    assert said(ROWS) == []


def test_an_exchange_without_its_lanes_is_not_a_lost_part_as_well() -> None:
    alone = """
__global__ void sums(const float* x, float* y, int n) {
    __shared__ float part[8];
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += 256) s += x[blockIdx.x * n + i];
    if (threadIdx.x % 32 == 0) {
        for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
        part[threadIdx.x / 32] = s;
    }
    __syncthreads();
    float t = 0.f;
    for (int w = 0; w < 8; ++w) t += part[w];
    if (threadIdx.x == 0) y[blockIdx.x] = t;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    sums<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
    at = next(n for n, text in enumerate(as_submission(alone).split("\n"), 1) if "__shfl" in text)
    place = Place(line=at, end_line=at)
    missed = Evidence(kind="simulator", code="shuffle-absent-lane", text="absent", place=place)
    assert {rule for rule, _ in said(alone, missed)} == {"SYN004"}


def test_a_count_of_bytes_is_wrong_where_it_is_computed() -> None:
    short = TREE.replace("threads * sizeof(float)", "threads")
    at = next(
        n
        for n, text in enumerate(as_submission(short).split("\n"), 1)
        if "part[threadIdx.x] = s" in text
    )
    place = Place(line=at, end_line=at)
    past = Evidence(kind="simulator", code="shared-oob", text="past", place=place)
    assert ("MEM002", "const int bytes = threads;") in said(short, past)
    assert said(TREE) == []


def test_warps_whose_rows_overlap_are_not_told_to_join() -> None:
    warps = """
__global__ void dots(const float* a, const float* b, float* y, int rows, int cols) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) return;
    float s = 0.f;
    for (int c = lane; c < cols; c += 32) s += a[row * STRIDE + c] * b[c];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
    if (lane == 0) y[row] = s;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int rows = a.size(0), cols = a.size(1);
    auto y = torch::empty({rows}, a.options());
    dots<<<(rows + 7) / 8, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""
    for stride in ("cols", "16", "20", "33"):
        found = said(warps.replace("STRIDE", stride), wrong("mismatch", "partial"))
        assert "RED002" not in [rule for rule, _ in found], stride


@pytest.mark.parametrize(
    "evidence",
    [
        wrong("mismatch", "sign-flip"),
        wrong("probe", "probe-shift", ProbedInput(input=0)),
        wrong("mismatch", "constant-factor"),
    ],
)
def test_a_wrong_formula_that_no_run_followed_is_at_the_last_store(evidence: Evidence) -> None:
    assert said(TWO, evidence) == [("NUM001", "y[0] = s / n;")]


def test_what_a_guard_leaves_out_is_the_guard_s() -> None:
    """What a launch leaves out is shown by a larger one; see `tests/devices/test_larger_launch.py`."""
    found = said(FILL.replace("if (i < n)", "if (i < n - 9)"), IN_PART)
    assert "if (i < n - 9) y[i] = 2.f * x[i];" in [where for _, where in found]


@pytest.mark.parametrize(
    ("old", "new", "name", "line"),
    [
        ("functions=['run']", "functions=['rum']", "rum", "functions=['rum'],"),
        ("torch::Tensor run(torch::Tensor x);", "", "run", "cpp_sources=cpp_source,"),
    ],
)
def test_a_name_that_is_nowhere_is_wrong_where_it_is_listed(
    old: str, new: str, name: str, line: str
) -> None:
    code = as_submission(FILL).replace(old, new, 1)
    said = Evidence(kind="compiler", code="error", text=f"'{name}' was not declared in this scope")
    found = [f for f in errors(code, said) if f.rule == "BLD002"]
    assert [code.splitlines()[f.place.line - 1].strip() for f in found if f.place] == [line]
