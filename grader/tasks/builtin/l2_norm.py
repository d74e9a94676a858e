"""Rows divided by their Euclidean norm (KernelBench level 1, problem 39)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import rows

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Divides each row by its Euclidean norm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, p=2, dim=1, keepdim=True)
'''

ENTRY = Entry(
    task=builtin(
        "l2-norm",
        "L2 normalisation of rows",
        REFERENCE,
        workloads=rows(
            nominal=((3, 65535), (130, 1023)),
            stress_shape=(2, 20479),
            zeros=True,
            full=(32768, 65535),
        ),
        family="row-norm",
        parameters={"p": 2, "mean": False},
        reduction_length="d1",
        prompt="Divide each row of a matrix by its Euclidean norm.",
    ),
    problems=(39,),
    words=(r"l2 ?norm\w*", r"l2 normali[sz]\w+", r"euclidean norm", r"normali[sz]e rows"),
    formulas=(
        r"torch\.norm\(x,p=2,dim=1,keepdim=True\)",
        r"x/torch\.norm\(",
        r"F\.normalize\(x,(p=2)?",
        r"torch\.linalg\.(vector_)?norm\(",
    ),
    against=(r"frobenius", r"rms ?norm\w*", r"l1 norm\w*"),
    vocabulary=frozenset({"l2", "norm", "sqrt", "row", "reduce", "sum", "square"}),
)
