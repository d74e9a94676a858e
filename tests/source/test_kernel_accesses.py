"""Which of its pointers a kernel's text loads from and stores to, and how large its indices get."""

from __future__ import annotations

from grader.records import Context, Task, TensorSpec, Workload
from grader.source import cpp, parse
from grader.source.analysis.cases import Case, LastThread, cases
from tests.rules.examples import as_submission

CODE = """
__global__ void k(const float* x, float* y, float* total, int n) {
    __shared__ float s[32];
    const float4* wide = reinterpret_cast<const float4*>(x);
    float* row = y + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        s[threadIdx.x] = wide[i].x + __ldg(&x[i]);
        row[i] += s[threadIdx.x];
    }
    atomicAdd(&total[0], row[0]);
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    int rows = x.size(0), n = x.size(1), threads = 32;
    while (threads < n && threads < 256) threads *= 2;
    auto y = torch::zeros_like(x);
    auto total = torch::empty({1}, x.options());
    k<<<rows, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), total.data_ptr<float>(), n);
    return y;
}
"""


def launched(*shape: int) -> Case:
    workload = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=shape),))
    task = Task(name="t", title="t", source="file", reference="", workloads=(workload,))
    (case,) = cases(parse(as_submission(CODE)), Context(task=task))
    return case


def test_accesses_go_by_their_pointer_in_the_order_in_which_they_happen() -> None:
    found = [(one.kind, one.parameter) for one in launched(8, 100).accesses]
    assert found == [
        ("load", "x"), ("load", "x"), ("load", "y"), ("store", "y"), ("atomic", "total")
    ]  # fmt: skip


def test_a_launch_knows_its_block_and_the_tensors_behind_its_pointers() -> None:
    case = launched(8, 100)
    assert (case.launch.grid, case.launch.block) == ((8, 1, 1), (128, 1, 1))
    made = {name: case.tensor(name) for name in ("x", "y", "total")}
    assert {name: one.origin for name, one in made.items() if one} == {
        "x": "contiguous", "y": "zeros", "total": "empty"
    }  # fmt: skip


def test_the_last_thread_has_the_largest_numbers() -> None:
    case = launched(70_000, 40_000)
    row = next(p for p in cpp.walk(case.function.code) if isinstance(p, cpp.Declare) and p.name == "row")  # fmt: skip
    assert isinstance(row.init, cpp.Binary)
    assert LastThread(case).number(row.init.right) == 69_999 * 40_000
