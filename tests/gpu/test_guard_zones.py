"""On a GPU a tail that reads past its end is wrong, and a stray write is seen; right programs stay as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import judge, sandbox
from grader.devices import RunResult
from grader.devices.cuda.device import CudaDevice
from grader.execution.reference import reference
from grader.records import (
    Build,
    Comparison,
    GuardZoneWritten,
    Submission,
    Task,
    TensorSpec,
    Workload,
)

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

HEAD = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
CLASS = "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
PRODUCT = '''
SOURCE = """
#include <torch/extension.h>
#define T 16
__global__ void product(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float s[T][T], t[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += T) {
        s[threadIdx.y][threadIdx.x] = at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
        t[threadIdx.y][threadIdx.x] = GUARD b[(at + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
torch::Tensor product(torch::Tensor a) {
    auto b = a.t().contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    product<<<dim3(n / T, m / T), dim3(T, T)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
    return c;
}
"""
ext = load_inline("zones_ext", ["torch::Tensor product(torch::Tensor);"], [SOURCE], functions=["product"])
'''
DOUBLED = '''
SOURCE = """
#include <torch/extension.h>
__global__ void doubled(const float* x, float* y, int n, int stray) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i + AT];
    if (i == 0 && stray) y[WHERE] = 7;
}
torch::Tensor doubled(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    doubled<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, STRAY);
    return y;
}
"""
ext = load_inline("zones_two_ext", ["torch::Tensor doubled(torch::Tensor);"], [SOURCE], functions=["doubled"])
'''
TWICE = "    def forward(self, x):\n        return x * 2\n"
SQUARE = "    def forward(self, x):\n        return x @ x.t()\n"


def task(forward: str, *shape: int) -> Task:
    workload = Workload(name="w", role="nominal", inputs=(TensorSpec(shape=shape),))
    code = f"import torch\nclass Model(torch.nn.Module):\n{forward}"
    return Task(name="t", title="t", source="file", reference=code, workloads=(workload,))


def program(head: str, body: str) -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return f"{HEAD}{head}\n{CLASS}{lines}"


def doubled(at: str = "0", where: str = "0", stray: int = 0) -> str:
    code = program(DOUBLED, "return ext.doubled(x)")
    return code.replace("AT]", f"{at}]").replace("WHERE", where).replace("STRAY", str(stray))


def run(gpu: CudaDevice, asked: Task, code: str) -> tuple[RunResult, Comparison | None]:
    submission = Submission(sample="s", code=code, line_map=(0,) * code.count("\n"), how="test")
    build = Build(status="built", device="cuda")
    if "load_inline(" in code:
        build = gpu.build(submission, ())
    assert build.status == "built", build.log[-3000:]
    known = reference(asked, asked.workloads, 1, gpu.form, sandbox.Limits(wall=60))
    (result,) = gpu.run(submission, build, asked, known)
    ran = result.run.status == "ran"
    return result, judge.compare(asked, asked.workloads[0], known, result) if ran else None


def plain(gpu: CudaDevice) -> CudaDevice:
    return replace(gpu, prepared=replace(gpu.prepared, guard_zones=None))


def test_there_are_zones(gpu: CudaDevice) -> None:
    assert gpu.prepared.guard_zones is not None, gpu.prepared.unguarded
    assert gpu.facts["guard zones"].startswith("around")
    result, comparison = run(gpu, task(TWICE, 100), program("", "return x * 2"))
    assert result.run.unguarded == ""
    assert comparison is not None
    assert comparison.equal


def test_a_tail_tile_without_a_guard_is_wrong(gpu: CudaDevice) -> None:
    asked = task(SQUARE, 64, 93)
    result, comparison = run(
        gpu, asked, program(PRODUCT.replace("GUARD", ""), "return ext.product(x)")
    )
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert not comparison.equal
    guarded = PRODUCT.replace("GUARD", "at + threadIdx.y >= k ? 0.0f :")
    result, comparison = run(gpu, asked, program(guarded, "return ext.product(x)"))
    assert comparison is not None
    assert comparison.equal, comparison.mismatch
    assert result.run.evidence == ()


@pytest.mark.parametrize("at", ["n", "(-n)", "(n + 8000)"])
def test_what_is_read_outside_of_an_input_is_nobodys(gpu: CudaDevice, at: str) -> None:
    # Multiplied by 1, since arithmetic gives a NaN of its own: the bits tell where it was read.
    code = doubled(at).replace("2 * x", "x")
    result, comparison = run(gpu, task(TWICE, 1000), code)
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert comparison.mismatch is not None
    assert "outside" in {pattern.code for pattern in comparison.mismatch.patterns}


@pytest.mark.parametrize(
    ("where", "offset"), [("n", 4004), ("n + 1000", 8004), ("-1", -4), ("-16000", -64000)]
)
def test_a_stray_write_is_seen(gpu: CudaDevice, where: str, offset: int) -> None:
    result, comparison = run(gpu, task(TWICE, 1001), doubled(where=where, stray=1))
    assert comparison is not None
    assert comparison.equal, comparison.mismatch
    (found,) = result.run.evidence
    assert found.code == "out-of-bounds"
    assert isinstance(found.details, GuardZoneWritten)
    assert (found.details.role, found.details.first, found.details.count) == ("output 1", offset, 4)


RIGHT = {
    "a kernel": doubled(),
    "operators": program("", "return torch.stack([x, x]).sum(0)"),
    "products, sorts and draws": program(
        "", "h = x.view(25, -1)\nt = h @ h.t()\nreturn x * 2 + t.sort()[0].sum() * 0"
    ),
    "a side stream, joined": program(
        "",
        """
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    y = x * 2
torch.cuda.current_stream().wait_stream(s)
y.record_stream(torch.cuda.current_stream())
return y
""",
    ),
    "many that come and go": program(
        "",
        "for _ in range(300):\n    y = (x + 1).mul_(2).sub_(2)\n    z = [y.clone() for _ in range(3)]\nreturn y",
    ),
    "a graph": program(
        "",
        """
given = x.clone()
given * 2
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = (given + given).clone()
graph.replay()
return y.clone()
""",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_give_the_same_bits(gpu: CudaDevice, name: str) -> None:
    asked = task(TWICE, 1000, 100)
    results = [run(device, asked, RIGHT[name]) for device in (gpu, plain(gpu))]
    for result, comparison in results:
        assert result.run.status == "ran", result.run.reason
        assert result.run.evidence == ()
        assert result.run.unguarded == ""
        assert comparison is not None
        assert comparison.equal, comparison.mismatch
    between, without = (result.outputs[0].array.tobytes() for result, _ in results)
    assert between == without


def test_what_only_torchs_own_allocator_knows_is_asked_of_it(gpu: CudaDevice) -> None:
    code = program("", "assert torch.cuda.memory_allocated() >= x.nbytes\nreturn x * 2")
    result, comparison = run(gpu, task(TWICE, 1000), code)
    assert result.run.status == "ran", result.run.reason
    assert comparison is not None
    assert comparison.equal
    assert "raised" in result.run.unguarded


def test_a_failure_is_the_one_without_zones(gpu: CudaDevice) -> None:
    result, _ = run(gpu, task(TWICE, 1000), program("", "raise ValueError('its own')"))
    assert result.run.status == "raised"
    assert "its own" in result.run.reason
    assert result.run.unguarded == ""
