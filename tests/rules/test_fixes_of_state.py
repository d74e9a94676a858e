"""What rules propose for tensors on the CPU, statistics of a batch, and functions that nothing calls."""

from __future__ import annotations

from grader.records import Context, Evidence, Task, TensorSpec, Workload

from .fixed import PLAIN, fixes, program, seen


def test_a_tensor_of_its_own_type_is_made_where_the_input_is() -> None:
    cuda = PLAIN.replace("torch::empty_like(x)", "torch::empty({x.size(0)}, torch::kFloat)")
    (lines,) = fixes("MEM003", program(cuda))
    assert "auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kFloat));" in lines


NORM = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 1)
        self.bn = nn.BatchNorm2d(o)

    def forward(self, x):
        return ops.fused(
            x.contiguous(), GIVEN self.bn.weight, self.bn.bias,
            self.bn.running_mean.contiguous(),
            self.bn.running_var,
        )
"""
TRAINING = """
import torch
class Model(torch.nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = torch.nn.Conv2d(i, o, 1)
        self.bn = torch.nn.BatchNorm2d(o)
    def forward(self, x):
        return self.bn(self.conv(x))
"""


def means(given: str) -> list[str]:
    inputs = (TensorSpec(shape=(4, 3, 8, 8)),)
    work = Workload(name="w", role="nominal", inputs=inputs)
    task = Task(name="t", title="t", source="file", reference=TRAINING, workloads=(work,))
    item = Evidence(kind="mismatch", code="values", text="every element is wrong", workload="w")
    context = Context(evidence=(item,), task=task, device="sim")
    ways = fixes("NUM005", NORM.replace("GIVEN", given), context)
    return [line for lines in ways for line in sorted(lines) if ".mean(" in line]


def test_a_batchs_statistics_are_of_what_the_kernels_own_layer_makes() -> None:
    over = "mean([d for d in range(LAYER.dim()) if d != 1]) if self.training else "
    plain = f"(x.contiguous().{over}".replace("LAYER", "x.contiguous()")
    fused = f"(self.conv(x.contiguous()).{over}".replace("LAYER", "self.conv(x.contiguous())")
    last = "self.bn.running_mean.contiguous()),"
    assert means("self.conv.weight,") == [fused + last, plain + last]
    assert means("") == [plain + last]


def test_a_module_that_takes_itself_out_of_training_mode_no_longer_does() -> None:
    own = NORM.replace("self.bn.", "self.bn_").replace(
        "self.bn = nn.BatchNorm2d(o)",
        "self.register_buffer('bn_running_mean', torch.zeros(o))\n        self.eval()",
    )
    context = Context(
        evidence=(Evidence(kind="mismatch", code="values", text="every element is wrong"),),
        task=Task(name="t", title="t", source="file", reference=TRAINING, workloads=()),
        device="sim",
    )
    (lines,) = fixes("NUM005", own.replace("GIVEN", ""), context)
    assert "self.train()" in lines
    assert sum(" if self.training else self.bn_running" in line for line in lines) == 2


def test_a_function_that_nothing_calls_is_left_out() -> None:
    helper = "__device__ int at(int i) { return i * features; }\n"
    code = program(helper + PLAIN)
    line = next(k for k, words in enumerate(code.splitlines(), 1) if "features" in words)
    said = 'nvcc: identifier "features" is undefined'
    lines, *_ = fixes("BLD015", code, seen("compiler", said, line=line))
    assert not any("features" in words for words in lines)
    used = program(helper + PLAIN.replace("y[i] =", "y[at(i)] ="))
    assert not fixes("BLD015", used, seen("compiler", said, line=line))
