"""A state space model's operators along a sequence: a short causal convolution, and the selective scan."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import (
    HEAVY,
    LARGE,
    NEGATIVE,
    NORMAL,
    UNIFORM,
    Shape,
    Values,
    tensor,
    workload,
)

CONV = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal depthwise convolution with a short filter for each channel, then SiLU."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (weight.shape[1] - 1, 0))
        return F.silu(F.conv1d(padded, weight.unsqueeze(1), bias, groups=x.shape[1]))
'''

SCAN = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Selective scan: a state for each channel decays and takes in, both as the step `delta` says."""

    def forward(
        self,
        x: torch.Tensor,
        delta: torch.Tensor,
        A: torch.Tensor,
        B: torch.Tensor,
        C: torch.Tensor,
        D: torch.Tensor,
    ) -> torch.Tensor:
        step = F.softplus(delta)
        decay = torch.exp(step[:, :, None, :] * A[None, :, :, None])
        taken = (step * x)[:, :, None, :] * B[:, None, :, :]
        state = torch.zeros_like(decay[..., 0])
        given = []
        for place in range(x.shape[2]):
            state = decay[..., place] * state + taken[..., place]
            given.append((state * C[:, None, :, place]).sum(dim=2))
        return torch.stack(given, dim=2) + D[None, :, None] * x
'''


def conv(
    role: Role, shape: Shape, taps: int = 4, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of batch, channels and length, with a filter of so many taps."""
    channels = shape[1]
    return workload(
        role, tensor(shape, values), tensor((channels, taps)), tensor((channels,)), label=label
    )


def scan(
    role: Role, shape: Shape, states: int = 16, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of batch, channels and length, with so many states for each channel."""
    batch, channels, length = shape
    mixed = tensor((batch, states, length))
    return workload(
        role,
        tensor(shape, values),
        tensor(shape),
        tensor((channels, states), ("uniform", -1.0, -0.05)),
        mixed,
        mixed,
        tensor((channels,)),
        label=label,
    )


ENTRIES = (
    Entry(
        task=builtin(
            "short-convolution",
            "Causal depthwise convolution with a short filter, then SiLU",
            CONV,
            workloads=(
                conv("nominal", (2, 64, 1024)),
                conv("nominal", (3, 100, 333)),
                *(
                    conv("stress", (1, 32, 512), 4, values, label)
                    for label, values in (
                        ("uniform", UNIFORM),
                        ("negative", NEGATIVE),
                        ("heavy tails", HEAVY),
                        ("large", LARGE),
                    )
                ),
                conv("general", (1, 1, 1)),
                conv("general", (2, 3, 33), 3),
                conv("general", (1, 7, 1023), 2),
                conv("general", (1, 33, 100)),
                conv("full", (8, 4096, 4096)),
            ),
            family="short-convolution",
            reduction_length="4",
            prompt="Apply a causal depthwise 1-D convolution with a short filter for each channel, a bias, and SiLU.",
        ),
        kind="sequence",
        words=(
            r"causal (depthwise )?conv ?(1d|olution)?",
            r"short conv\w*",
            r"depthwise causal conv\w*",
        ),
        usual=(r"depthwise conv\w*", r"conv ?1d"),
        formulas=(r"weight\.shape\[1\]-1,0\)", r"causal_conv1d"),
        against=(r"2d", r"3d", r"transpose\w*", r"attention", r"scan"),
        vocabulary=frozenset(
            {
                "causal",
                "conv",
                "conv1d",
                "1d",
                "short",
                "depthwise",
                "silu",
                "bias",
                "forward",
                "convolution",
            }
        ),
    ),
    Entry(
        task=builtin(
            "selective-scan",
            "Selective scan of a state space model",
            SCAN,
            workloads=(
                scan("nominal", (2, 48, 128)),
                scan("nominal", (1, 33, 100)),
                scan("stress", (1, 16, 96), 16, UNIFORM, "uniform"),
                scan("stress", (1, 16, 96), 16, HEAVY, "heavy tails"),
                scan("stress", (1, 16, 96), 16, LARGE, "large"),
                scan("general", (1, 1, 1)),
                scan("general", (3, 5, 33), 8),
                scan("general", (1, 7, 200), 4),
                scan("full", (8, 2048, 2048)),
            ),
            family="selective-scan",
            reduction_length="d2*16",
            prompt="Run the selective scan of a state space model: softplus of delta, decay exp(delta * A), skip D * x.",
        ),
        kind="sequence",
        words=(r"selective (state )?(space )?scan", r"mamba( selective)?( scan)?", r"ssm scan"),
        formulas=(r"decay\[\.\.\.,place\]\*state\+taken", r"selective_scan"),
        against=(r"cum ?sum", r"conv\w*"),
        vocabulary=frozenset(
            {"selective", "scan", "state", "space", "ssm", "mamba", "softplus", "exp", "forward"}
        ),
    ),
)
