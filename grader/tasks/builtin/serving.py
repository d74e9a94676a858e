"""Operators of language model serving: decode attention over paged keys, experts, sampling of the next token."""

from grader.records import Role, Tolerance, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, NORMAL, UNIFORM, Values, tensor, workload

PAGED = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """One query a sequence, over the keys and values of the pages that its row of the table names; heads share keys (GQA)."""

    def forward(
        self,
        q: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        table: torch.Tensor,
        lengths: torch.Tensor,
    ) -> torch.Tensor:
        batch, heads, width = q.shape
        k, v = (
            cache[table.long()].flatten(1, 2).repeat_interleave(heads // cache.shape[2], dim=2)
            for cache in (keys, values)
        )
        score = torch.einsum("bhd,blhd->bhl", q, k) / width**0.5
        beyond = torch.arange(k.shape[1], device=q.device) >= lengths[:, None]
        weight = torch.softmax(score.masked_fill(beyond[:, None], float("-inf")), dim=-1)
        return torch.einsum("bhl,blhd->bhd", weight, v)
'''

EXPERTS = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """Each token times the matrices of the experts that it is routed to, added up by its weights."""

    def forward(
        self, x: torch.Tensor, experts: torch.Tensor, weights: torch.Tensor, w: torch.Tensor
    ) -> torch.Tensor:
        y = x.new_zeros(x.shape[0], w.shape[2])
        for expert in range(w.shape[0]):
            token, place = torch.where(experts == expert)
            y.index_add_(0, token, weights[token, place, None] * (x[token] @ w[expert]))
        return y
'''

TOP_P = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """One token a row: of the likeliest until their probabilities reach `p`, the first whose running share is beyond u."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, logits: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        ordered, tokens = torch.sort(torch.softmax(logits, dim=-1), dim=-1, descending=True)
        before = torch.cumsum(ordered, dim=-1) - ordered
        reach = torch.cumsum(ordered.masked_fill(before >= self.p, 0.0), dim=-1)
        place = (reach > u[:, None] * reach[:, -1:]).int().argmax(dim=-1)
        return tokens.gather(1, place[:, None]).squeeze(1)
'''


def paged_workload(
    role: Role,
    batch: int,
    heads: tuple[int, int],
    width: int,
    pages: tuple[int, int, int],
    values: Values = NORMAL,
    label: str = "",
    longest: bool = False,
) -> Workload:
    """Return a workload of queries, `pages` (how many there are, of how many keys, how many a sequence), and lengths."""
    cache = tensor((pages[0], pages[1], heads[1], width), values)
    whole = pages[1] * pages[2]
    return workload(
        role,
        tensor((batch, heads[0], width), values),
        cache,
        cache,
        tensor((batch, pages[2]), ("randint", 0.0, float(pages[0])), "int32"),
        tensor((batch,), ("randint", float(whole if longest else 1), float(whole + 1)), "int32"),
        label=label,
    )


def routed_workload(role: Role, tokens: int, k: int, w: tuple[int, int, int], values: Values = NORMAL, label: str = "", experts: int | None = None) -> Workload:  # fmt: skip
    """Return a workload of tokens, `k` experts of each, their weights, and the experts' matrices."""
    chosen = tensor((tokens, k), ("randint", 0.0, float(experts or w[0])), "int64")
    return workload(
        role,
        tensor((tokens, w[1]), values),
        chosen,
        tensor((tokens, k), UNIFORM),
        tensor(w, values),
        label=label,
    )


def drawn_workload(
    role: Role, rows: int, words: int, p: float, values: Values, label: str = ""
) -> Workload:
    """Return a workload of logits and a random number for each row."""
    return workload(
        role, tensor((rows, words), values), tensor((rows,), UNIFORM), label=label, init=(p,)
    )


WIDE: Values = ("normal", 0.0, 3.0)
BY_ROUNDING = Tolerance(
    relative=0.0,
    absolute=0.0,
    few=2e-3,
    why="where u lies within rounding of a bound, the neighbouring token is as right: 2 of 1000 rows may differ",
)

ENTRIES = (
    Entry(
        task=builtin(
            "decode-attention-paged",
            "Decode attention over a paged cache",
            PAGED,
            workloads=(
                paged_workload("nominal", 4, (8, 2), 64, (24, 16, 5)),
                paged_workload("nominal", 3, (4, 4), 32, (40, 8, 9)),
                paged_workload("stress", 4, (4, 2), 32, (20, 16, 4), UNIFORM, "uniform"),
                paged_workload("stress", 4, (4, 2), 32, (20, 16, 4), ("normal", 0.0, 3.0), "wide"),
                paged_workload("stress", 4, (4, 2), 32, (20, 16, 4), HEAVY, "heavy tails", longest=True),
                paged_workload("general", 1, (1, 1), 16, (1, 1, 1)),
                paged_workload("general", 2, (6, 3), 40, (7, 4, 33)),
                paged_workload("general", 5, (16, 2), 128, (16, 16, 3)),
                paged_workload("full", 64, (32, 8), 128, (8192, 16, 256)),
            ),
            family="paged-attention",
            reduction_length="d2",
            prompt="For one query a sequence, apply attention over the first `lengths` keys and values of the pages that the table names; heads share keys in groups.",
        ),
        kind="attention",
        words=(r"paged (decode )?(attention|attn)", r"(decode|decoding) (attention|attn)( paged)?", r"(attention|attn) (decode|paged)"),
        usual=(r"(attention|attn)",),
        formulas=(r"cache\[table\.long\(\)\]", r"block_tables?\["),
        against=(r"causal", r"window", r"reshape and cache"),
        vocabulary=frozenset({"paged", "page", "attention", "attn", "decode", "decoding", "kv", "cache", "block", "table", "single", "query", "gqa", "softmax", "flash"}),
    ),
    Entry(
        task=builtin(
            "moe-matmul",
            "Products with the experts that tokens are routed to (grouped GEMM)",
            EXPERTS,
            workloads=(
                routed_workload("nominal", 64, 2, (8, 64, 96)),
                routed_workload("nominal", 50, 1, (5, 100, 33)),
                routed_workload("stress", 32, 2, (4, 64, 32), UNIFORM, "uniform"),
                routed_workload("stress", 32, 4, (8, 64, 32), NORMAL, "one expert for all", experts=1),
                routed_workload("stress", 32, 2, (4, 64, 32), HEAVY, "heavy tails"),
                routed_workload("general", 1, 1, (1, 1, 1)),
                routed_workload("general", 7, 3, (16, 31, 17)),
                routed_workload("general", 130, 2, (3, 20, 40)),
                routed_workload("full", 4096, 2, (8, 1024, 2048)),
            ),
            family="moe-matmul",
            reduction_length="d1",
            prompt="Multiply each token by the matrices of the experts that it is routed to, and add the products up by its weights.",
        ),
        kind="irregular",
        words=(r"(fused )?moe( (gemm|mat ?mul|experts?|mlp|forward|layer))?", r"group(ed)? (gemm|mat ?mul)", r"(mixture of )?experts? (gemm|mat ?mul)"),
        usual=(r"gemm", r"mat ?mul"),
        formulas=(r"index_add_\(0,token,weights\[token,place,None\]", r"torch\.where\(experts==\w+\)"),
        against=(r"gating", r"router", r"top ?k", r"fp8", r"int ?4", r"align"),
        vocabulary=frozenset({"moe", "fused", "grouped", "group", "gemm", "matmul", "expert", "experts", "routed", "token", "tokens", "mixture", "scatter", "align", "sorted"}),
    ),
    Entry(
        task=builtin(
            "top-p-sampling",
            "Top-p sampling with given random numbers",
            TOP_P,
            workloads=(
                drawn_workload("nominal", 512, 200, 0.9, WIDE),
                drawn_workload("nominal", 600, 65, 0.7, WIDE),
                drawn_workload("stress", 512, 64, 0.5, NORMAL, "flat"),
                drawn_workload("stress", 512, 64, 0.95, ("normal", 20.0, 6.0), "peaked"),
                drawn_workload("stress", 512, 64, 1.0, WIDE, "all tokens"),
                drawn_workload("general", 1, 1, 0.9, WIDE),
                drawn_workload("general", 3, 1000, 0.9, WIDE),
                drawn_workload("general", 33, 31, 0.3, WIDE),
                drawn_workload("full", 256, 128256, 0.9, WIDE),
            ),
            family="top-p",
            tolerance=BY_ROUNDING,
            prompt="Return a token a row: among the likeliest tokens until their probabilities reach p, the first whose running share of their sum exceeds u.",
        ),
        kind="irregular",
        words=(r"top ?p( (nucleus )?(sampl\w+|filter\w*))?", r"nucleus( sampl\w+)?"),
        formulas=(r"reach>u\[:,None\]\*reach", r"before>=self\.p"),
        against=(r"top ?k gating", r"gating", r"min ?p"),
        vocabulary=frozenset({"top", "p", "topp", "nucleus", "sampling", "sample", "sampler", "softmax", "sort", "cumsum", "token", "probs", "from"}),
    ),
)  # fmt: skip
