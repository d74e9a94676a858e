"""Operators around attention in a transformer: rotary positions, RMS norm with a residual, SwiGLU."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import (
    CONSTANT,
    HEAVY,
    LARGE,
    NEGATIVE,
    NORMAL,
    TINY,
    UNIFORM,
    Shape,
    Values,
    tensor,
    workload,
)

ROPE = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Rotary positions of queries and keys: the first half of a head turns with the second."""

    def turned(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    def forward(self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
        return self.turned(q, cos, sin), self.turned(k, cos, sin)
'''

NORM = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Adds the residual, then divides by the root mean square of each row and multiplies by the weight."""

    def __init__(self, eps: float = 1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor):
        h = x + residual
        y = h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + self.eps) * weight
        return y, h
'''

SWIGLU = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """SwiGLU: SiLU of the gate, times the other projection."""

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * up
'''


def rope(
    role: Role, shape: Shape, key_heads: int, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of queries of a shape, keys with fewer heads, and a table of each position's rotation."""
    batch, _, length, width = shape
    turn = tensor((length, width // 2), ("uniform", -1.0, 1.0))
    keys = tensor((batch, key_heads, length, width), values)
    return workload(role, tensor(shape, values), keys, turn, turn, label=label)


def norm(role: Role, shape: Shape, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of rows, a residual of the same shape and a weight around 1."""
    rows = tensor(shape, values)
    return workload(role, rows, rows, tensor(shape[-1:], ("normal", 1.0, 0.25)), label=label)


def gated_workload(
    role: Role, shape: Shape, values: Values = ("normal", 0.0, 2.0), label: str = ""
) -> Workload:
    """Return a workload of a gate and the tensor that it is multiplied with."""
    return workload(role, tensor(shape, values), tensor(shape, NORMAL), label=label)


ENTRIES = (
    Entry(
        task=builtin(
            "rope",
            "Rotary position embedding of queries and keys",
            ROPE,
            workloads=(
                rope("nominal", (2, 8, 64, 128), 2),
                rope("nominal", (1, 6, 100, 64), 6),
                rope("stress", (1, 4, 32, 64), 2, UNIFORM, "uniform"),
                rope("stress", (1, 4, 32, 64), 2, HEAVY, "heavy tails"),
                rope("stress", (1, 4, 32, 64), 2, LARGE, "large"),
                rope("general", (1, 1, 1, 2), 1),
                rope("general", (3, 5, 33, 40), 1),
                rope("general", (1, 3, 7, 250), 3),
                rope("full", (4, 32, 4096, 128), 8),
            ),
            family="rope",
            prompt="Apply rotary position embedding to queries and keys; the halves of a head turn with one another.",
        ),
        kind="transformer",
        words=(r"rotary( position\w*)?( embedding\w*)?", r"rope", r"apply rotary( pos)?( emb)?"),
        formulas=(r"a\*cos-b\*sin,b\*cos\+a\*sin", r"rotate_half\("),
        against=(r"attention", r"layer ?norm\w*"),
        vocabulary=frozenset(
            {
                "rope",
                "rotary",
                "embedding",
                "position",
                "pos",
                "emb",
                "rotate",
                "half",
                "apply",
                "forward",
            }
        ),
    ),
    Entry(
        task=builtin(
            "rms-norm-residual",
            "RMS norm of a sum with a residual",
            NORM,
            workloads=(
                norm("nominal", (32, 2048)),
                norm("nominal", (64, 1000)),
                *(
                    norm("stress", (16, 512), values, label)
                    for label, values in (
                        ("uniform", UNIFORM),
                        ("negative", NEGATIVE),
                        ("heavy tails", HEAVY),
                        ("large", LARGE),
                        ("constant", CONSTANT),
                    )
                ),
                *(norm("general", shape) for shape in ((1, 1), (3, 33), (5, 1023), (2, 4099))),
                norm("general", (16, 512), TINY, "tiny"),
                norm("full", (8192, 4096)),
            ),
            family="",
            reduction_length="d1",
            prompt="Add a residual, then apply RMS norm over the last dim with a weight; return both the norm and the sum.",
        ),
        kind="norm",
        words=(
            r"(fused )?add (and )?rms ?norm\w*",
            r"rms ?norm\w* (and |with |with a )?(residual|add)",
            r"residual (add )?(and )?rms ?norm\w*",
        ),
        usual=(r"rms ?norm\w*",),
        formulas=(r"h=x\+residual",),
        against=(r"layer ?norm\w*", r"group ?norm\w*"),
        vocabulary=frozenset(
            {"rms", "norm", "residual", "add", "fused", "mean", "square", "sqrt", "reduce", "sum"}
        ),
    ),
    Entry(
        task=builtin(
            "swiglu",
            "SwiGLU: SiLU of a gate, times the other half",
            SWIGLU,
            workloads=(
                gated_workload("nominal", (16, 8192)),
                gated_workload("nominal", (100, 1000)),
                gated_workload("stress", (2, 8192), NEGATIVE, "negative"),
                gated_workload("stress", (2, 8192), HEAVY, "heavy tails"),
                *(
                    gated_workload("general", shape)
                    for shape in ((1, 1), (1, 31), (5, 1000), (7, 1023))
                ),
                gated_workload("general", (2, 8192), ("large", 0.0, 200.0), "large"),
                gated_workload("full", (8192, 14336)),
            ),
            family="",
            prompt="Multiply the SiLU of a gate with another tensor of its shape (SwiGLU).",
        ),
        kind="transformer",
        words=(r"swi ?glu( forward)?", r"si ?lu (and )?mul\w*"),
        formulas=(r"F\.silu\(gate\)\*up", r"silu\(gate\)\*"),
        against=(r"ge ?glu", r"re ?glu", r"linear", r"mlp"),
        vocabulary=frozenset(
            {
                "swiglu",
                "swi",
                "glu",
                "silu",
                "swish",
                "mul",
                "gate",
                "up",
                "sigmoid",
                "forward",
                "fused",
                "and",
            }
        ),
    ),
)
