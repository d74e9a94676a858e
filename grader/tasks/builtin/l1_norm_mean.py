"""Rows divided by the mean of their absolute values (KernelBench level 1, problem 38)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import rows

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides each row by the mean of its absolute values."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.mean(torch.abs(x), dim=1, keepdim=True)
'''

ENTRY = Entry(
    task=builtin(
        "l1-norm-mean",
        "L1 normalisation by the mean of absolute values",
        REFERENCE,
        workloads=rows(
            nominal=((3, 65535), (130, 1023)),
            stress_shape=(2, 20479),
            zeros=True,
            full=(32768, 65535),
        ),
        family="row-norm",
        parameters={"p": 1, "mean": True},
        reduction_length="d1",
        prompt="Divide each row of a matrix by the mean of its absolute values.",
    ),
    inside=(
        r"mean",
        r"/=?\(?(static_cast<float>\(|\(float\))?(dim|D|n|N|(num_)?cols|C|(row_)?size)\b",
        r"/=?\(?(static_cast<float>\(|\(float\))?(features?(_size)?|dim_size)\b",
    ),
    problems=(38,),
    words=(
        r"l1 norm\w* mean",
        r"mean l1 norm\w*",
        r"l1 ?norm\w*( \w+)?",
        r"mean absolute",
        r"abs(olute)? mean",
        r"mean of (the )?absolute",
        r"l1 mean",
    ),
    formulas=(
        r"torch\.mean\(torch\.abs\(x\),dim=1,keepdim=True\)",
        r"x\.abs\(\)\.mean\(",
        r"mean\(\|?abs",
        r"mean\(\|",
    ),
    against=(r"sum of (the )?absolute", r"l1 sum", r"abs(olute)? sum", r"smooth l1", r"l2 norm\w*"),
    vocabulary=frozenset({"l1", "norm", "mean", "abs", "row", "reduce", "sum"}),
)
