"""Convolutions and transposed convolutions in one, two and three dims (KernelBench level 1, problems 54-67 of square kernels)."""

from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, UNIFORM, WindowSizes

REFERENCE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """TITLE."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        FOURTH: int = DEFAULT,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.LAYER = nn.CLASS(
            in_channels,
            out_channels,
            WINDOW,
            stride=stride,
            padding=padding,
            FOURTH=FOURTH,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.LAYER(x)
'''
STRESS = (("uniform", UNIFORM), ("heavy tails", HEAVY), ("large", LARGE))
LAYERS = {1: "conv1d_transpose", 2: "conv_transpose2d", 3: "conv_transpose3d"}
"""Name of the layer in KernelBench's transposed references."""


def reference(dims: int, *, transposed: bool) -> str:
    """Return KernelBench's text of the operator."""
    words = {
        "TITLE": title(dims, transposed=transposed),
        "FOURTH": "output_padding" if transposed else "dilation",
        "DEFAULT": "0" if transposed else "1",
        "LAYER": LAYERS[dims] if transposed else f"conv{dims}d",
        "CLASS": f"Conv{'Transpose' if transposed else ''}{dims}d",
        "WINDOW": f"({', '.join(['kernel_size'] * dims)})" if dims > 1 else "kernel_size",
    }
    text = REFERENCE
    for word, written in words.items():
        text = text.replace(word, written)
    return text


def title(dims: int, *, transposed: bool) -> str:
    """Return the operator's title."""
    return f"{dims}d {'transposed ' if transposed else ''}convolution"


def convolution(
    dims: int, sizes: WindowSizes, problems: tuple[int, ...], look_alikes: tuple[str, ...]
) -> Entry:
    """Return the entry of a plain convolution."""
    others = "".join(str(n) for n in (1, 2, 3) if n != dims)
    return Entry(
        task=builtin(
            f"conv{dims}d",
            title(dims, transposed=False),
            reference(dims, transposed=False),
            workloads=sizes.workloads(STRESS, "drawn"),
            family="conv",
            parameters={"dims": dims, "transposed": False},
            reduction_length=f"d1*{3**dims}",
            prompt=f"Apply a {title(dims, transposed=False)}.",
        ),
        problems=problems,
        words=(rf"conv\w* ?{dims} ?d", rf"{dims} ?d conv\w*", r"convolution"),
        formulas=(rf"nn\.Conv{dims}d\(", rf"F\.conv{dims}d\("),
        against=(
            rf"conv\w* ?[{others}] ?d",
            rf"[{others}] ?d conv\w*",
            r"transposed?",
            r"relu",
            r"bias add",
            *look_alikes,
        ),
        vocabulary=frozenset(
            {
                "conv",
                "convolution",
                f"conv{dims}d",
                f"{dims}d",
                "forward",
                "direct",
                "im2col",
                "gemm",
            }
        ),
    )


def transposed_convolution(dims: int, sizes: WindowSizes, problem: int) -> Entry:
    """Return the entry of a transposed convolution."""
    others = "".join(str(n) for n in (1, 2, 3) if n != dims)
    return Entry(
        task=builtin(
            f"conv-transposed-{dims}d",
            title(dims, transposed=True),
            reference(dims, transposed=True),
            workloads=sizes.workloads(STRESS, "drawn"),
            family="conv",
            parameters={"dims": dims, "transposed": True},
            reduction_length=f"d1*{3**dims}",
            prompt=f"Apply a {title(dims, transposed=True)}.",
        ),
        problems=(problem,),
        words=(
            rf"conv\w* ?transposed? ?{dims} ?d",
            rf"transposed? conv\w* ?{dims} ?d",
            rf"{dims} ?d transposed? conv\w*",
            r"transposed? conv\w*",
            r"conv\w* ?transposed?",
        ),
        formulas=(rf"nn\.ConvTranspose{dims}d\(", rf"F\.conv_transpose{dims}d\("),
        against=(
            rf"(conv\w*|transposed?) ?[{others}] ?d",
            rf"[{others}] ?d (transposed? )?conv\w*",
        ),
        vocabulary=frozenset(
            {
                "conv",
                "convolution",
                "transpose",
                "transposed",
                f"conv{dims}d",
                f"{dims}d",
                "deconv",
                "forward",
            }
        ),
    )


ENTRIES = (
    convolution(
        1,
        WindowSizes(
            init=(16, 32, 3),
            nominal=((4, 16, 512),),
            stress=(2, 16, 128),
            general=((1, 16, 3), (3, 16, 31), (2, 16, 1000)),
            other=(2, 6, 100),
            other_init=(6, 5, 5, 2, 2, 2, 1, True),
            full=(32, 64, 131072),
            full_init=(64, 128, 3),
        ),
        problems=(67,),
        look_alikes=(r"dilated?",),
    ),
    convolution(
        2,
        WindowSizes(
            init=(16, 32, 3),
            nominal=((2, 16, 20, 20), (1, 16, 9, 41)),
            stress=(1, 16, 12, 12),
            general=((1, 16, 3, 3), (3, 16, 7, 11), (1, 16, 5, 100)),
            other=(2, 6, 17, 19),
            other_init=(6, 4, 5, 2, 2, 1, 2, True),
            full=(16, 16, 1024, 1024),
            full_init=(16, 128, 3),
        ),
        problems=(63, 55),
        look_alikes=(r"depth ?wise", r"point ?wise", r"separable", r"asymmetric", r"dilated?"),
    ),
    convolution(
        3,
        WindowSizes(
            init=(3, 8, 3),
            nominal=((2, 3, 14, 14, 14),),
            stress=(1, 3, 8, 8, 8),
            general=((1, 3, 3, 3, 3), (2, 3, 5, 7, 11)),
            other=(2, 4, 7, 9, 8),
            other_init=(4, 6, 3, 2, 1, 1, 2, True),
            full=(16, 3, 64, 64, 64),
            full_init=(3, 64, 3),
        ),
        problems=(54, 66, 60),
        look_alikes=(),
    ),
    transposed_convolution(
        1,
        WindowSizes(
            init=(16, 32, 3),
            nominal=((4, 16, 256),),
            stress=(2, 16, 128),
            general=((1, 16, 1), (3, 16, 31), (2, 16, 1000)),
            other=(2, 6, 100),
            other_init=(6, 4, 5, 2, 2, 1, 2, True),
            full=(64, 128, 65536),
            full_init=(128, 128, 3),
        ),
        problem=64,
    ),
    transposed_convolution(
        2,
        WindowSizes(
            init=(16, 32, 3),
            nominal=((2, 16, 18, 18), (1, 16, 9, 33)),
            stress=(1, 16, 10, 10),
            general=((1, 16, 1, 1), (3, 16, 7, 11), (1, 16, 5, 100)),
            other=(2, 6, 17, 19),
            other_init=(6, 4, 5, 2, 2, 1, 2, True),
            full=(8, 64, 1024, 1024),
            full_init=(64, 64, 3),
        ),
        problem=57,
    ),
    transposed_convolution(
        3,
        WindowSizes(
            init=(4, 8, 3),
            nominal=((2, 4, 10, 10, 10),),
            stress=(1, 4, 6, 6, 6),
            general=((1, 4, 1, 1, 1), (2, 4, 5, 7, 3)),
            other=(2, 4, 5, 6, 7),
            other_init=(4, 6, 3, 2, 1, 1, 2, True),
            full=(8, 48, 64, 64, 64),
            full_init=(48, 48, 3),
        ),
        problem=61,
    ),
)
