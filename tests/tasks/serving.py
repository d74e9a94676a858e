"""Programs for what serves a language model and for what came with it, right and mistaken."""

from __future__ import annotations

from .programs import Case

SERVING = {
    "decode-attention-paged": Case(
        """
y = torch.empty_like(q)
for b in range(len(q)):
    n, page = int(lengths[b]), keys.shape[1]
    at = torch.arange(n)
    where = (table[b][at // page].long(), at % page)
    for h in range(q.shape[1]):
        g = h // (q.shape[1] // keys.shape[2])
        s = keys[where][:, g] @ q[b, h] / q.shape[2] ** 0.5
        e = torch.exp(s - s.max())
        y[b, h] = e @ values[where][:, g] / e.sum()
return y
""",
        {
            "all keys of the pages": ("int(lengths[b])", "table.shape[1] * keys.shape[1]"),
            "the pages as they lie": ("table[b][at // page].long()", "(at // page) % len(keys)"),
            "heads in the order of another grouping": ("h // (q.shape[1] // keys.shape[2])", "h % keys.shape[2]"),
            "not scaled": (" / q.shape[2] ** 0.5", ""),
        },
    ),
    "moe-matmul": Case(
        "return torch.einsum('tk,tkdf,td->tf', weights, w[experts], x)",
        {
            "the first expert alone": ("weights, w[experts]", "weights[:, :1], w[experts[:, :1]]"),
            "no weights": ("'tk,tkdf,td->tf', weights", "'tk,tkdf,td->tf', torch.ones_like(weights)"),
            "the next token's experts": ("w[experts]", "w[experts.roll(1, 0)]"),
        },
    ),
    "top-p-sampling": Case(
        """
e = torch.exp(logits - logits.amax(1, keepdim=True))
found = torch.empty(len(logits), dtype=torch.int64)
for row in range(len(logits)):
    order = torch.argsort(-e[row])
    share = e[row][order] / e[row].sum()
    run = torch.cumsum(share.double(), 0)
    last = min(int((run < p).sum()), len(order) - 1)
    found[row] = order[:last + 1][min(int((run[:last + 1] <= u[row] * run[last]).sum()), last)]
return found
""",
        {
            "the one that crosses p left out": ("int((run < p).sum())", "max(int((run < p).sum()) - 1, 0)"),
            "the share of all": ("u[row] * run[last]", "u[row]"),
            "the likeliest": ("min(int((run[:last + 1] <= u[row] * run[last]).sum()), last)", "0"),
        },
    ),
    "nms": Case(
        """
low, high = corners, corners + sizes
left, kept = torch.argsort(-scores).tolist(), torch.zeros(len(scores), dtype=torch.bool)
area = sizes[:, 0] * sizes[:, 1]
while left:
    box = left.pop(0)
    kept[box] = True
    rest = torch.tensor(left, dtype=torch.long)
    side = (torch.minimum(high[box], high[rest]) - torch.maximum(low[box], low[rest])).clamp(min=0)
    common = side[:, 0] * side[:, 1]
    left = rest[common <= threshold * (area[box] + area[rest] - common)].tolist()
return kept
""",
        {
            "in the order that they come in": ("torch.argsort(-scores)", "torch.arange(len(scores))"),
            "over the smaller area": ("(area[box] + area[rest] - common)", "torch.minimum(area[box], area[rest])"),
            "the lowest score first": ("torch.argsort(-scores)", "torch.argsort(scores)"),
        },
    ),
    "layer-norm-dropout": Case(
        """
h = torch.where(kept, x * (1 / (1 - p)), 0.0) + residual
away = h - h.mean(-1, keepdim=True)
return away * torch.rsqrt((away * away).mean(-1, keepdim=True) + 1e-5) * weight + bias
""",
        {
            "not scaled up": ("x * (1 / (1 - p))", "x"),
            "the mask the other way": ("torch.where(kept, ", "torch.where(~kept, "),
            "dropout of the sum": ("torch.where(kept, x * (1 / (1 - p)), 0.0) + residual", "torch.where(kept, (x + residual) / (1 - p), 0.0)"),
        },
    ),
}  # fmt: skip
