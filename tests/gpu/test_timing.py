"""Time that can't be talked down: honest programs are timed, dishonest ones are told apart."""

from __future__ import annotations

import pytest

from grader import execution, sandbox
from grader.devices.cuda.device import CudaDevice
from grader.devices.timed import Timed
from grader.records import Build, Submission, Task, TensorSpec, Workload

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2
"""
ROWS = 1 << 14
TASK = Task(
    name="tanh-twice",
    title="twice the tanh",
    source="file",
    reference=REFERENCE,
    workloads=(
        Workload(name="small", role="nominal", inputs=(TensorSpec(shape=(64, 100)),)),
        Workload(name="large", role="full", inputs=(TensorSpec(shape=(ROWS, 8192)),)),
    ),
)
HEAD = "import torch, threading, time\n"


def model(body: str, head: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return f"{HEAD}{head}\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n{lines}"


HONEST = {
    "eager": model("return torch.tanh(x) * 2"),
    "in place on its own": model("return torch.tanh(x).mul_(2)"),
    "a side stream, joined": model(
        """
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    y = torch.tanh(x).mul_(2)
torch.cuda.current_stream().wait_stream(s)
y.record_stream(torch.cuda.current_stream())
return y
"""
    ),
}
DISHONEST = {
    "a result cached by address": model(
        """
key = (x.data_ptr(), x.shape)
if key not in kept:
    kept[key] = torch.tanh(x) * 2
return kept[key].clone()
""",
        "kept = {}",
    ),
    "a side stream, not joined": model(
        """
with torch.cuda.stream(side):
    y = torch.tanh(x) * 2
    for _ in range(20):
        y = torch.tanh(x) * 2
return y
""",
        "side = torch.cuda.Stream()",
    ),
    "only the first call computes": model(
        """
global calls
calls += 1
return torch.tanh(x) * 2 if calls < 4 else torch.empty_like(x)
""",
        "calls = 0",
    ),
    "done as the inputs are made": model(
        """
y = ready.pop(x.data_ptr(), None)
return torch.tanh(x) * 2 if y is None else y
""",
        """
ready = {}
made = torch.Tensor.normal_
def normal_(self, *a, **k):
    made(self, *a, **k)
    if self.numel() > 1 << 20:
        for _ in range(2):
            ready[self.data_ptr()] = torch.tanh(self) * 2
    return self
torch.Tensor.normal_ = normal_
""",
    ),
    "clocks that stand still, work put off": model(
        """
y = torch.empty(0, device="cuda").as_subclass(Late)
y.x = x
return y
""",
        """
class Late(torch.Tensor):
    @property
    def shape(self):
        return self.x.shape
    def numel(self):
        return self.x.numel()
    @property
    def device(self):
        return self.x.device
    def reshape(self, *_):
        return (torch.tanh(self.x) * 2).reshape(-1)
""",
    ),
}


def timed(gpu: CudaDevice, code: str, task: Task = TASK) -> Timed:
    small = [w for w in task.workloads if w.role != "full"]
    known = execution.reference(TASK, small, 7, gpu.form, sandbox.Limits(wall=60))
    program = Submission(sample="s", code=code, line_map=(), how="test")
    return gpu.time(program, Build(status="built", device="cuda"), task, known)


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_are_timed(gpu: CudaDevice, name: str) -> None:
    found = timed(gpu, HONEST[name])
    assert (found.run, found.note, found.dishonest) == (None, "", ())
    assert found.speedup is not None
    middle, low, high = found.speedup
    assert low <= middle <= high
    assert 0.7 < middle < 4
    by_name = {timing.what: timing for timing in found.timings}
    assert {"submission", "eager", "floor"} <= set(by_name)
    assert by_name["submission"].median > 0.8 * by_name["floor"].median


def test_the_same_program_twice_is_as_fast_as_itself(gpu: CudaDevice) -> None:
    found = timed(gpu, HONEST["eager"])
    assert found.speedup is not None
    assert 0.95 < found.speedup[0] < 1.05


@pytest.mark.parametrize("name", DISHONEST)
def test_dishonest_programs_get_no_time(gpu: CudaDevice, name: str) -> None:
    found = timed(gpu, DISHONEST[name])
    assert found.dishonest or found.comparison, found.timings


def rows(width: int, reference: str) -> Task:
    full = Workload(name="large", role="full", inputs=(TensorSpec(shape=(1 << 16, width)),))
    return TASK.model_copy(update={"reference": reference, "workloads": (TASK.workloads[0], full)})


def test_over_two_to_the_31_elements(gpu: CudaDevice) -> None:
    task = rows((1 << 15) + 1, REFERENCE)
    right = timed(gpu, HONEST["eager"], task)
    assert (right.run, right.comparison, right.note, right.dishonest) == (None, None, "", ())
    cut = model("y = torch.tanh(x) * 2\ny.view(-1)[(1 << 31):] = 0\nreturn y")
    wrong = timed(gpu, cut, task).comparison
    assert wrong is not None
    assert wrong.mismatch is not None
    assert wrong.mismatch.kind == "values"


def test_eager_torch_that_is_off_itself_accuses_nobody(gpu: CudaDevice) -> None:
    sloppy = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        if x.dtype == torch.float64:
            return torch.tanh(x) * 2
        return (torch.tanh(x.half()) * 2).float()
"""
    found = timed(gpu, HONEST["eager"], rows(8192, sloppy))
    assert (found.run, found.comparison) == (None, None)
    worse = timed(gpu, model("return torch.tanh(x) * 3"), rows(8192, sloppy))
    assert worse.comparison is not None


def test_a_reference_that_fails_is_no_failure_of_the_program(gpu: CudaDevice) -> None:
    failing = REFERENCE.replace(
        "return", "assert x.shape[0] < 1000, 'not so large'\n        return"
    )
    found = timed(gpu, HONEST["eager"], rows(8192, failing))
    assert found.run is None
    assert "the reference" in found.note
    assert "not so large" in found.note


@pytest.mark.parametrize("rows", [1, 16, 63])
def test_a_result_of_few_elements_of_a_large_input(gpu: CudaDevice, rows: int) -> None:
    """The elements that are taken of the first call's result lie within it."""
    spec = TensorSpec(shape=(rows, (1 << 28) // 16))
    full = Workload(name="large", role="full", inputs=(spec,))
    reference = REFERENCE.replace("torch.tanh(x) * 2", "x.mean(dim=1, keepdim=True)")
    task = TASK.model_copy(update={"reference": reference, "workloads": (TASK.workloads[0], full)})
    found = timed(gpu, model("return x.mean(dim=1).unsqueeze(1)"), task)
    assert (found.run, found.comparison, found.dishonest) == (None, None, ())


WATCHED = "import sys\nWATCHED = sys.argv == ['guest']"


@pytest.mark.parametrize(
    "body",
    [
        "assert not WATCHED, 'not like this'\nreturn torch.tanh(x) * 2",
        "return torch.tanh(x) * (3 if WATCHED else 2)",
    ],
)
def test_what_a_plain_guest_does_not_show_is_the_graders_own(gpu: CudaDevice, body: str) -> None:
    found = timed(gpu, model(body, WATCHED))
    assert found.comparison is None
    assert found.run is not None
    assert found.run.status == "grader_error"


def test_a_product_that_underflows_is_honest(gpu: CudaDevice) -> None:
    spec = TensorSpec(shape=(16, 256, 256), distribution="normal")
    full = Workload(name="large", role="full", inputs=(spec,))
    reference = REFERENCE.replace("torch.tanh(x) * 2", "torch.prod(x, dim=1)")
    task = TASK.model_copy(update={"reference": reference, "workloads": (TASK.workloads[0], full)})
    found = timed(gpu, model("return torch.prod(x.flip(1), dim=1) + 1.4e-45"), task)
    assert (found.run, found.comparison, found.note, found.dishonest) == (None, None, "", ())
    assert found.speedup is not None


def test_the_parts_of_a_time(gpu: CudaDevice) -> None:
    found = timed(gpu, HONEST["eager"])
    by_name = {timing.what: timing for timing in found.timings}
    mine = by_name["submission"]
    assert mine.on_gpu is not None
    assert 0.5 * mine.median < mine.on_gpu <= mine.median
    assert mine.peak_bytes is not None
    assert ROWS * 8192 * 4 <= mine.peak_bytes <= 3 * ROWS * 8192 * 4
    assert found.work is not None
    assert found.work.products == 0
    assert found.work.others == 2 * ROWS * 8192
    assert found.work.bandwidth > 1e11


def test_a_product_has_a_floor_of_arithmetic(gpu: CudaDevice) -> None:
    task = rows(1024, REFERENCE.replace("torch.tanh(x) * 2", "x @ x.t()[:, :4096]"))
    found = timed(gpu, model("return x @ x.t()[:, :4096]"), task)
    assert found.work is not None
    assert found.work.products == 2 * (1 << 16) * 1024 * 4096
    assert found.work.rate is not None
    floor = next(timing for timing in found.timings if timing.what == "floor")
    assert "matrix product" in floor.note
    assert 0.5 * floor.median < found.timings[0].median < 3 * floor.median


def test_a_program_that_fails_at_full_size_only(gpu: CudaDevice) -> None:
    code = model("assert x.shape[0] < 1000, 'too large for me'\nreturn torch.tanh(x) * 2")
    found = timed(gpu, code).run
    assert found is not None
    assert "too large for me" in found.reason
