"""What rules propose for tensors on the CPU, statistics of a batch, and functions that nothing calls."""

from __future__ import annotations

from grader.records import Context, Evidence, Task, TensorSpec, Workload

from .fixed import PLAIN, fixes, program


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


def test_a_batchs_statistics_are_of_what_is_normalised() -> None:
    over = "mean([d for d in range(LAYER.dim()) if d != 1]) if self.training else "
    plain = f"(x.contiguous().{over}".replace("LAYER", "x.contiguous()")
    assert means("") == [f"{plain}self.bn.running_mean.contiguous()),"]
