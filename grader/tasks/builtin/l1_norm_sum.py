"""Rows divided by the sum of their absolute values (KernelBench problem 38 as of 2024)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import rows

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides each row by the sum of its absolute values."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.sum(torch.abs(x), dim=1, keepdim=True)
'''

ENTRY = Entry(
    task=builtin(
        "l1-norm-sum",
        "L1 normalisation by the sum of absolute values",
        REFERENCE,
        workloads=rows(
            nominal=((3, 65535), (130, 1023)),
            stress_shape=(2, 20479),
            zeros=True,
            full=(32768, 65535),
        ),
        family="row-norm",
        parameters={"p": 1, "mean": False},
        reduction_length="d1",
        prompt="Divide each row of a matrix by the sum of its absolute values.",
    ),
    words=(
        r"l1 norm\w* sum",
        r"l1 ?norm\w*( \w+)?",
        r"sum of (the )?absolute",
        r"abs(olute)? sum",
        r"l1 sum",
    ),
    formulas=(
        r"torch\.sum\(torch\.abs\(x\),dim=1,keepdim=True\)",
        r"x\.abs\(\)\.sum\(",
        r"sum\(\|?abs",
        r"F\.normalize\(x,p=1",
        r"torch\.norm\(x,p=1,",
    ),
    against=(
        r"mean absolute",
        r"mean of (the )?absolute",
        r"abs(olute)? mean",
        r"smooth l1",
        r"l2 norm\w*",
    ),
    outside=(
        r"mean",
        r"/=?\(?(static_cast<float>\(|\(float\))?(dim|D|n|N|(num_)?cols|C|(row_)?size)\b",
        r"/=?\(?(static_cast<float>\(|\(float\))?(features?(_size)?|dim_size)\b",
    ),
    vocabulary=frozenset({"l1", "norm", "abs", "row", "reduce", "sum"}),
)
