"""2d convolution of AlexNet (11 x 11, stride 4) (KernelBench level 1, problem 50)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, tensor, workload

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """2d convolution of AlexNet (11 x 11, stride 4)."""

    def __init__(self, num_classes: int = 1000):
        super().__init__()
        self.conv1 = nn.Conv2d(
            in_channels=3, out_channels=96, kernel_size=11, stride=4, padding=2
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1(x)
'''

INIT = (1000,)

WORKLOADS = (
    workload("nominal", tensor((2, 3, 44, 44)), init=INIT),
    *(
        workload("stress", tensor((1, 3, 32, 32), values), label=label, init=INIT)
        for label, values in (
            ("uniform", UNIFORM),
            ("heavy tails", HEAVY),
            ("large", LARGE),
        )
    ),
    *(
        workload("general", tensor(shape), init=INIT)
        for shape in (
            (1, 3, 11, 11),
            (1, 3, 31, 60),
        )
    ),
    workload("general", tensor((1, 3, 33, 33)), init=(1000,), weights="drawn"),
    workload("full", tensor((256, 3, 224, 224), UNIFORM), init=(1000,)),
)

ENTRY = Entry(
    task=builtin(
        "conv2d-alexnet",
        "2d convolution of AlexNet (11 x 11, stride 4)",
        REFERENCE,
        workloads=WORKLOADS,
        family="conv",
        parameters={"dims": 2, "transposed": False},
        reduction_length="363",
        prompt="Apply a 2d convolution of AlexNet (11 x 11, stride 4).",
    ),
    prior=-1.5,
    problems=(50,),
    words=(
        r"alex ?net",
        r"conv1",
    ),
    usual=(r"conv\w* ?2 ?d", r"conv\w*"),
    formulas=(
        r"nn\.Conv2d\(in_channels=3,out_channels=96,kernel_size=11,stride=4,padding=2",
        r"nn\.Conv2d\(3,96",
    ),
    against=(r"relu", r"depth ?wise", r"max ?pool\w*", r"classifier", r"fc"),
    vocabulary=frozenset({"conv", "convolution", "conv2d", "2d", "forward", "direct", "conv1"}),
)
