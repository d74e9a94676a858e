"""Operators with data-dependent indices: routing to experts, bags of embeddings, histograms."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NEGATIVE, NORMAL, UNIFORM, Shape, Values, tensor, workload

GATING = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """The `k` likeliest experts of each token, the likeliest first; their probabilities sum to 1."""

    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, logits: torch.Tensor):
        largest, experts = torch.topk(logits, self.k, dim=-1)
        return torch.softmax(largest, dim=-1), experts
'''

BAG = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The weighted sum of the table's rows that each bag of indices names."""

    def forward(self, indices: torch.Tensor, table: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(indices, table, mode="sum", per_sample_weights=weights)
'''

HISTOGRAM = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """How often each number below `bins` comes in a tensor."""

    def __init__(self, bins: int):
        super().__init__()
        self.bins = bins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bincount(x.flatten(), minlength=self.bins)
'''

NMS = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Which boxes are kept: by falling score, each that overlaps no kept one by more than `threshold` (intersection over union)."""

    def __init__(self, threshold: float):
        super().__init__()
        self.threshold = threshold

    def forward(
        self, corners: torch.Tensor, sizes: torch.Tensor, scores: torch.Tensor
    ) -> torch.Tensor:
        order = torch.argsort(scores, descending=True)
        low, high = corners[order], corners[order] + sizes[order]
        area = sizes[order].prod(dim=1)
        side = torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)
        common = side.clamp(min=0).prod(dim=2)
        close = (common / (area[:, None] + area - common) > self.threshold).triu(1)
        kept = torch.ones_like(scores, dtype=torch.bool)
        for box in range(len(scores)):
            kept = kept & ~(kept[box] & close[box])
        return torch.empty_like(kept).index_put((order,), kept)
'''


def boxes(
    role: Role, count: int, most: int = 33, label: str = "", threshold: float = 0.4567
) -> Workload:
    """Return a workload of boxes of whole coordinates: no overlap lies within rounding of the threshold."""
    corners = tensor((count, 2), ("randint", 0.0, 64.0))
    sizes = tensor((count, 2), ("randint", 1.0, float(most)))
    return workload(role, corners, sizes, tensor((count,)), label=label, init=(threshold,))


def gating_workload(
    role: Role, shape: Shape, k: int, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of logits: tokens by experts."""
    return workload(role, tensor(shape, values), label=label, init=(k,))


def bag(
    role: Role, shape: Shape, table: Shape, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of bags by indices, into a table of rows by features."""
    indices = tensor(shape, ("randint", 0.0, float(table[0])), "int64")
    return workload(role, indices, tensor(table, values), tensor(shape), label=label)


def counted_workload(
    role: Role, length: int, bins: int, most: int | None = None, label: str = ""
) -> Workload:
    """Return a workload of numbers below `most`, or below the number of bins."""
    values: Values = ("randint", 0.0, float(most or bins))
    return workload(role, tensor((length,), values, "int32"), label=label, init=(bins,))


ENTRIES = (
    Entry(
        task=builtin(
            "topk-gating",
            "Top-k gating of experts (MoE)",
            GATING,
            workloads=(
                gating_workload("nominal", (512, 64), 8),
                gating_workload("nominal", (300, 8), 2),
                gating_workload("stress", (200, 64), 4, UNIFORM, "uniform"),
                gating_workload("stress", (200, 64), 4, NEGATIVE, "negative"),
                gating_workload("stress", (200, 64), 4, ("normal", 0.0, 5.0), "wide"),
                gating_workload("general", (1, 2), 1),
                gating_workload("general", (33, 60), 6),
                gating_workload("general", (5, 257), 8),
                gating_workload("general", (200, 64), 4, ("normal", 200.0, 3.0), "offset"),
                gating_workload("full", (65536, 128), 8),
            ),
            family="gating",
            reduction_length="d1",
            prompt="Return the probabilities, scaled to sum to 1, and the indices of each token's k likeliest experts.",
        ),
        kind="irregular",
        words=(
            r"top ?k (softmax |expert )?(gating|routing|router)",
            r"(moe|expert) (gating|routing|router)",
            r"top ?k softmax",
            r"softmax top ?k",
        ),
        usual=(r"gating", r"router"),
        formulas=(
            r"torch\.topk\(torch\.softmax\(\w+,dim=-1\),",
            r"torch\.topk\(logits,",
        ),
        against=(r"gemm", r"sampling", r"nucleus"),
        vocabulary=frozenset(
            {
                "topk",
                "top",
                "k",
                "gating",
                "gate",
                "router",
                "routing",
                "moe",
                "expert",
                "softmax",
                "max",
                "sum",
                "exp",
            }
        ),
    ),
    Entry(
        task=builtin(
            "embedding-bag",
            "Weighted sums of bags of embeddings",
            BAG,
            workloads=(
                bag("nominal", (128, 20), (1000, 64)),
                bag("nominal", (77, 7), (500, 100)),
                bag("stress", (64, 16), (300, 64), UNIFORM, "uniform"),
                bag("stress", (64, 16), (300, 64), HEAVY, "heavy tails"),
                bag("stress", (64, 16), (3, 64), NORMAL, "rows again and again"),
                bag("general", (1, 1), (1, 1)),
                bag("general", (3, 33), (50, 31)),
                bag("general", (5, 100), (1000, 130)),
                bag("full", (65536, 32), (1000000, 128)),
            ),
            family="embedding-bag",
            reduction_length="d1",
            prompt="Return for each bag of indices the weighted sum of the rows that they name in a table.",
        ),
        kind="irregular",
        words=(r"embedding ?bag", r"(bag|pooled?) (of )?embedding\w*"),
        formulas=(r"F\.embedding_bag\(", r"nn\.EmbeddingBag\("),
        against=(r"rotary", r"position\w*"),
        vocabulary=frozenset(
            {
                "embedding",
                "bag",
                "embeddingbag",
                "pooled",
                "lookup",
                "gather",
                "sum",
                "weighted",
                "forward",
            }
        ),
    ),
    Entry(
        task=builtin(
            "nms",
            "Non-maximum suppression of boxes",
            NMS,
            workloads=(
                boxes("nominal", 200),
                boxes("nominal", 333),
                boxes("stress", 200, 5, "small boxes"),
                boxes("stress", 300, 60, "large boxes"),
                boxes("stress", 200, 33, "a low threshold", 0.1234),
                boxes("general", 1),
                boxes("general", 33),
                boxes("general", 1000),
                boxes("full", 4096),
            ),
            family="nms",
            prompt="Return which boxes are kept: by falling score, each that overlaps no kept box by more than the threshold (intersection over union).",
        ),
        kind="irregular",
        words=(r"(2d )?nms", r"non ?max(imum)? suppression"),
        formulas=(r"common/\(area\[:,None\]\+area-common\)", r"ops\.nms\("),
        against=(r"soft nms", r"top ?k"),
        vocabulary=frozenset(
            {
                "nms",
                "non",
                "max",
                "maximum",
                "suppression",
                "gather",
                "iou",
                "boxes",
                "box",
                "keep",
                "mask",
                "2d",
            }
        ),
    ),
    Entry(
        task=builtin(
            "histogram",
            "Histogram of whole numbers",
            HISTOGRAM,
            workloads=(
                counted_workload("nominal", 100000, 256),
                counted_workload("nominal", 77777, 1000),
                counted_workload("stress", 50000, 256, 8, "few numbers"),
                counted_workload("stress", 50000, 256, 1, "one number"),
                counted_workload("general", 1, 1),
                counted_workload("general", 31, 33),
                counted_workload("general", 1023, 10),
                counted_workload("general", 10000, 5000),
                counted_workload("full", 2**27, 256),
            ),
            family="histogram",
            prompt="Count how often each number below `bins` comes in a tensor of whole numbers.",
        ),
        kind="irregular",
        words=(r"histogram( kernel)?", r"bin ?count"),
        formulas=(r"torch\.bincount\(", r"torch\.histc\("),
        against=(r"equal\w*", r"observer"),
        vocabulary=frozenset({"histogram", "hist", "bincount", "bin", "count", "bins"}),
    ),
)
