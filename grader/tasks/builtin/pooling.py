"""Average and max pooling in one, two and three dims (KernelBench level 1, problems 41-46)."""

from math import prod

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NEGATIVE, UNIFORM, WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """TITLE."""

    def __init__(SIGNATURE):
        super().__init__()
        self.pool = nn.CLASS(ARGUMENTS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)
'''
AVERAGE = "kernel_size=kernel_size, stride=stride, padding=padding"
STRESS = (("uniform", UNIFORM), ("negative", NEGATIVE), ("heavy tails", HEAVY), ("large", LARGE))


def pooling(
    dims: int, op: str, problem: int, signature: str, arguments: str, sizes: WindowSizes
) -> Entry:
    """Return the entry of a pooling by `avg` or `max`; its constructor is KernelBench's, which differs by dims."""
    others = "".join(str(n) for n in (1, 2, 3) if n != dims)
    title = f"{'Average' if op == 'avg' else 'Max'} pooling {dims}d"
    named = r"(avg|average)\w*" if op == "avg" else r"max\w*"
    layer = f"{op.capitalize()}Pool{dims}d"
    reference = REFERENCE.replace("TITLE", title).replace("SIGNATURE", signature)
    reference = reference.replace("CLASS", layer).replace("ARGUMENTS", arguments)
    window = sizes.init[0] if isinstance(sizes.init[0], int) else 1
    return Entry(
        task=builtin(
            f"{op}-pool-{dims}d",
            title,
            reference,
            workloads=sizes.workloads(STRESS),
            family="pool",
            parameters={"op": op, "dims": dims},
            reduction_length=str(prod([window] * dims)) if op == "avg" else "1",
            prompt=f"Apply {title[0].lower()}{title[1:]}.",
        ),
        problems=(problem,),
        words=(
            rf"{named} ?pool\w* ?{dims} ?d",
            rf"{dims} ?d {named} ?pool\w*",
            rf"{named} ?pool\w*",
        ),
        formulas=(rf"nn\.{layer}\(", rf"F\.{op}_pool{dims}d\("),
        against=(
            rf"\w*pool\w* ?[{others}] ?d",
            rf"[{others}] ?d [a-z]+ ?pool\w*",
            r"max ?pool\w*" if op == "avg" else r"avg|average ?pool\w*",
            r"adaptive",
            r"global",
        ),
        vocabulary=frozenset(
            {
                *({"avg", "average"} if op == "avg" else {"max"}),
                *("pool", "pooling", f"{op}pool", f"{dims}d", f"{op}pool{dims}d", f"pool{dims}d"),
                *("forward", "maximum"),
            }
        ),
    )


ENTRIES = (
    pooling(
        1,
        "avg",
        44,
        "self, kernel_size: int, stride: int = 1, padding: int = 0",
        AVERAGE,
        WindowSizes(
            init=(8, 1, 4),
            nominal=((2, 16, 4096), (3, 7, 1025)),
            stress=(2, 8, 1024),
            general=((1, 1, 31), (1, 3, 33), (5, 2, 1000)),
            other=(2, 8, 1000),
            other_init=(3, 2, 1),
            full=(64, 128, 65536),
        ),
    ),
    pooling(
        2,
        "avg",
        45,
        "self, kernel_size: int, stride: int = None, padding: int = 0",
        AVERAGE,
        WindowSizes(
            init=(11,),
            nominal=((2, 8, 88, 88), (1, 5, 128, 128)),
            stress=(2, 4, 33, 44),
            general=((1, 1, 11, 31), (1, 3, 33, 12), (3, 2, 25, 100)),
            other=(2, 3, 33, 40),
            other_init=(3, 2, 1),
            full=(16, 64, 2048, 2048),
        ),
    ),
    pooling(
        3,
        "avg",
        46,
        "self, kernel_size: int, stride: int = None, padding: int = 0",
        AVERAGE,
        WindowSizes(
            init=(3, 2, 1),
            nominal=((2, 4, 24, 24, 32), (1, 3, 17, 20, 31)),
            stress=(1, 4, 16, 16, 16),
            general=((1, 1, 3, 9, 11), (2, 3, 8, 33, 7)),
            other=(2, 3, 12, 10, 9),
            other_init=(2, 2, 0),
            full=(16, 32, 128, 128, 256),
        ),
    ),
    pooling(
        1,
        "max",
        41,
        """
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
    """,
        "kernel_size, stride, padding, dilation, return_indices",
        WindowSizes(
            init=(8, 1, 4, 3, False),
            nominal=((2, 16, 4096), (3, 7, 1025)),
            stress=(2, 8, 1024),
            general=((1, 1, 31), (1, 3, 33), (5, 2, 1000)),
            other=(2, 8, 1000),
            other_init=(3, 2, 1, 1, False),
            full=(64, 192, 65536),
        ),
    ),
    pooling(
        2,
        "max",
        42,
        "self, kernel_size: int, stride: int, padding: int, dilation: int",
        "kernel_size, stride, padding, dilation",
        WindowSizes(
            init=(4, 1, 1, 1),
            nominal=((2, 8, 64, 64), (1, 5, 63, 100)),
            stress=(2, 4, 32, 32),
            general=((1, 1, 7, 31), (1, 3, 33, 4), (3, 2, 5, 100)),
            other=(2, 3, 33, 40),
            other_init=(3, 2, 1, 2),
            full=(32, 64, 512, 512),
        ),
    ),
    pooling(
        3,
        "max",
        43,
        """
        self,
        kernel_size: int,
        stride: int = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    """,
        "\n            kernel_size, stride, padding, dilation, return_indices, ceil_mode\n        ",
        WindowSizes(
            init=(3, 2, 1, 3, False, False),
            nominal=((2, 4, 24, 24, 24), (1, 3, 17, 20, 31)),
            stress=(1, 4, 16, 16, 16),
            general=((1, 1, 7, 9, 11), (2, 3, 8, 33, 7)),
            other=(2, 3, 12, 10, 9),
            other_init=(2, 2, 0, 1, False, False),
            full=(16, 32, 128, 128, 128),
        ),
    ),
)
