"""Time that can't be talked down: honest programs are timed, dishonest ones are told apart."""

from __future__ import annotations

import pytest

from grader import judge, sandbox
from grader.devices.cuda import CudaDevice
from grader.devices.timing import Timed
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


def timed(gpu: CudaDevice, code: str) -> Timed:
    small = [w for w in TASK.workloads if w.role != "full"]
    known = judge.reference(TASK, small, 7, gpu.form, sandbox.Limits(wall=60))
    program = Submission(sample="s", code=code, line_map=(), how="test")
    return gpu.time(program, Build(status="built", device="cuda"), TASK, known)


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


def test_a_program_that_fails_at_full_size_only(gpu: CudaDevice) -> None:
    code = model("assert x.shape[0] < 1000, 'too large for me'\nreturn torch.tanh(x) * 2")
    found = timed(gpu, code).run
    assert found is not None
    assert "too large for me" in found.reason
