"""Attention that looks back: causal with grouped keys (GQA), in a sliding window; and softmax under a mask."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Shape, Values, tensor, workload

CAUSAL = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal attention in which groups of query heads share a head of keys and values."""

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(Q, K, V, is_causal=True, enable_gqa=True)
'''

WINDOW = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal attention to the last `window` keys, the query's own among them."""

    def __init__(self, window: int):
        super().__init__()
        self.window = window

    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        place = torch.arange(Q.shape[2], device=Q.device)
        back = place[:, None] - place[None, :]
        mask = (back >= 0) & (back < self.window)
        return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
'''

SOFTMAX = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax of scaled scores where the mask is True; 0 elsewhere, and in a row without True."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept = (scores * self.scale).masked_fill(~mask, float("-inf"))
        return torch.softmax(kept, dim=-1).masked_fill(~mask, 0.0)
'''


def attend(
    role: Role,
    shape: Shape,
    key_heads: int,
    values: Values = NORMAL,
    label: str = "",
    window: int | None = None,
) -> Workload:
    """Return a workload of queries of a shape, with fewer heads of keys and values."""
    batch, _, length, width = shape
    keys = tensor((batch, key_heads, length, width), values)
    init = () if window is None else (window,)
    return workload(role, tensor(shape, values), keys, keys, label=label, init=init)


def masked_workload(
    role: Role, shape: Shape, values: Values = NORMAL, label: str = "", mask: Values | None = None
) -> Workload:
    """Return a workload of scores with a mask that all heads share."""
    kept = tensor((shape[0], 1, *shape[2:]), mask or ("randint", 0.0, 2.0), "bool")
    return workload(role, tensor(shape, values), kept, label=label, init=(0.125,))


ATTENTION_WORDS = frozenset(
    {"attention", "attn", "scaled", "dot", "product", "sdpa", "flash", "softmax", "forward", "qk", "qkv", "causal"}
)  # fmt: skip

ENTRIES = (
    Entry(
        task=builtin(
            "causal-attention",
            "Causal attention with grouped keys (GQA)",
            CAUSAL,
            workloads=(
                attend("nominal", (2, 4, 64, 64), 2),
                attend("nominal", (1, 8, 48, 32), 2),
                attend("stress", (1, 4, 64, 32), 2, UNIFORM, "uniform"),
                attend("stress", (1, 4, 64, 32), 2, ("normal", 0.0, 3.0), "wide"),
                attend("stress", (1, 4, 64, 32), 2, HEAVY, "heavy tails"),
                attend("general", (1, 2, 1, 16), 2),
                attend("general", (1, 3, 33, 24), 1),
                attend("general", (2, 6, 100, 40), 3),
                attend("full", (4, 32, 4096, 128), 8),
            ),
            family="attention-back",
            reduction_length="d2*d3",
            prompt="Apply causal scaled dot product attention; groups of query heads share a head of keys and values.",
        ),
        kind="attention",
        words=(
            r"causal (gqa|grouped query|self|flash|scaled dot product)? ?(attention|attn)",
            r"(gqa|grouped query)( causal)?( (attention|attn))?",
            r"(flash )?(attention|attn)( forward)? causal",
        ),
        usual=(r"scaled dot product attention", r"sdpa", r"flash ?(attention|attn)", r"attention"),
        formulas=(r"is_causal=True,enable_gqa=True", r"enable_gqa=True", r"is_causal=True"),
        against=(r"sliding", r"window\w*", r"layer", r"transformer", r"paged", r"decode"),
        vocabulary=ATTENTION_WORDS | {"gqa", "grouped", "query"},
    ),
    Entry(
        task=builtin(
            "sliding-window-attention",
            "Attention in a sliding window",
            WINDOW,
            workloads=(
                attend("nominal", (2, 2, 96, 64), 2, window=32),
                attend("nominal", (1, 3, 64, 32), 3, window=16),
                attend("stress", (1, 2, 64, 32), 2, UNIFORM, "uniform", window=16),
                attend("stress", (1, 2, 64, 32), 2, ("normal", 0.0, 3.0), "wide", window=16),
                attend("stress", (1, 2, 64, 32), 2, HEAVY, "heavy tails", window=16),
                attend("general", (1, 1, 1, 16), 1, window=4),
                attend("general", (1, 2, 33, 24), 2, window=1),
                attend("general", (2, 3, 100, 40), 3, window=33),
                attend("general", (1, 2, 40, 32), 2, window=64),
                attend("full", (4, 32, 4096, 128), 32, window=1024),
            ),
            family="attention-back",
            parameters={"window": True},
            reduction_length="d2*d3",
            prompt="Apply causal attention in which each query sees the last `window` keys, its own among them.",
        ),
        kind="attention",
        words=(
            r"sliding window( causal)?( (attention|attn))?",
            r"swa( (attention|attn))?",
            r"(windowed|local|banded) (attention|attn)",
        ),
        usual=(r"scaled dot product attention", r"flash ?(attention|attn)", r"attention"),
        formulas=(r"\(back>=0\)&\(back<self\.window\)",),
        against=(r"layer", r"transformer", r"paged", r"swin", r"pool\w*"),
        vocabulary=ATTENTION_WORDS | {"sliding", "window", "local", "banded", "swa"},
    ),
    Entry(
        task=builtin(
            "softmax-masked",
            "Softmax of scaled scores under a mask",
            SOFTMAX,
            workloads=(
                masked_workload("nominal", (2, 4, 64, 256)),
                masked_workload("nominal", (1, 2, 32, 1500)),
                masked_workload("stress", (1, 2, 32, 256), UNIFORM, "uniform"),
                masked_workload("stress", (1, 2, 32, 256), ("normal", 0.0, 30.0), "wide"),
                masked_workload(
                    "stress", (1, 2, 32, 256), label="one kept", mask=("one_hot", 0.0, 1.0)
                ),
                masked_workload(
                    "stress", (1, 2, 32, 256), label="all masked", mask=("zeros", 0.0, 0.0)
                ),
                masked_workload("general", (1, 1, 1, 1)),
                masked_workload("general", (2, 3, 5, 33)),
                masked_workload("general", (1, 2, 7, 1023)),
                masked_workload("general", (1, 2, 32, 256), ("normal", 4000.0, 30.0), "offset"),
                masked_workload("full", (8, 32, 2048, 2048)),
            ),
            family="",
            reduction_length="d3",
            prompt=(
                "Scale scores, apply softmax over the last dim where the mask is True, and give 0 elsewhere, "
                "also in a row without any True."
            ),
        ),
        kind="attention",
        words=(
            r"masked scaled softmax",
            r"scaled masked softmax",
            r"masked softmax",
            r"softmax masked?",
        ),
        usual=(r"softmax",),
        formulas=(
            r"torch\.softmax\(kept,dim=-1\)\.masked_fill\(~mask",
            r"masked_fill\(~mask,float\(\"-inf\"\)\)",
        ),
        against=(r"log softmax", r"causal", r"attention"),
        vocabulary=frozenset(
            {"softmax", "mask", "masked", "scaled", "exp", "max", "sum", "row", "online"}
        ),
    ),
)
