"""What a run saw go past the end of shared memory: of a fixed array, and of what a launch reserves."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence, Finding, Launch, MemoryAccess, Place
from grader.source import parse
from tests.rules.examples import as_submission
from tests.rules.reviews import review_with_fixes

CODE = as_submission("""
__global__ void mix(const float* x, const float* w, float* y, int c) {
    __shared__ float part[16];
    if (threadIdx.x < c) part[threadIdx.x] = x[blockIdx.x * c + threadIdx.x] * w[threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < c; ++i) sum += part[i];
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
    auto y = torch::empty({x.size(0)}, x.options());
    mix<<<x.size(0), 32>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), w.size(0));
    return y;
}
""")
RAN = Launch(
    kernel="mix(float const*, float const*, float*, int)",
    grid=(2, 1, 1),
    block=(32, 1, 1),
    shared_bytes=64,
)


def _found(context: Context) -> list[Finding]:
    return [
        f for f in review_with_fixes(parse(CODE), context, select=("MEM",)) if f.rule == "MEM011"
    ]


@pytest.mark.parametrize("code", ["shared-oob", "shared-out-of-bounds"])
def test_what_the_run_showed_stays_an_error(code: str) -> None:
    line = next(i for i, text in enumerate(CODE.splitlines(), 1) if "sum += part" in text)
    seen = Evidence(
        kind="simulator",
        code=code,
        text="past the end",
        place=Place(line=line, end_line=line),
        kernel="mix",
    )
    found = _found(Context(device="sim", launches=(RAN,), evidence=(seen,)))
    assert [(f.severity, f.confidence) for f in found] == [("error", "proven")]


BYTES = """
__global__ void mix(const float* x, float* y, int n) {
    extern __shared__ char mem[];
    float* a = (float*)mem;
    float* b = (float*)(mem + 256 * sizeof(float));
    a[threadIdx.x] = x[threadIdx.x];
    b[threadIdx.x] = x[n + threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = a[255 - threadIdx.x] + b[255 - threadIdx.x];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({256}, x.options());
    mix<<<1, 256, HALVES * 256 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), 256);
    return y;
}
"""


PAST = Evidence(
    kind="simulator",
    code="shared-oob",
    text="past the end",
    place=Place(line=14, end_line=14),
    kernel="mix",
    details=MemoryAccess(access="write", offset=512, size=512, width=4),
)


@pytest.mark.parametrize(
    ("bytes_", "labels"),
    [
        ("256", {"count bytes, not elements", "reserve what the kernel uses"}),
        ("128 * sizeof(float)", {"reserve what the kernel uses"}),
    ],
)
def test_what_counts_bytes_is_not_told_to(bytes_: str, labels: set[str]) -> None:
    source = parse(as_submission(BYTES.replace("HALVES * 256 * sizeof(float)", bytes_)
                                 .replace("mem + 256 * sizeof(float)", "mem")))  # fmt: skip
    (found,) = review_with_fixes(
        source, Context(evidence=(PAST,), device="sim"), select=("MEM002",)
    )
    assert {one.label for one in found.fixes} == labels


def test_behind_a_row_each_thread_has_an_element() -> None:
    bytes_ = "n * sizeof(float)"
    code = as_submission(BYTES.replace("HALVES * 256 * sizeof(float)", bytes_)).replace("x.data_ptr<float>(), y.data_ptr<float>(), 256)", "x.data_ptr<float>(), y.data_ptr<float>(), n)").replace("auto y", "const int n = 333; auto y")  # fmt: skip
    past = PAST.model_copy(update={"details": MemoryAccess(access="write", offset=1716, size=1332, width=4)})  # fmt: skip
    (found,) = review_with_fixes(
        parse(code), Context(evidence=(past,), device="sim"), select=("MEM002",)
    )
    assert [edit.text for edit in found.fixes[0].edits] == [f"{bytes_} + 256 * sizeof(float)"]


def test_a_variable_that_is_initialised_with_itself_is_followed_once() -> None:
    code = "__global__ void k(float* y) { const int n = n + 1; float a[n]; y[0] = a[0]; }"
    source = parse(as_submission(code))
    assert review_with_fixes(source, Context(), select=("BLD013",)) == ()
