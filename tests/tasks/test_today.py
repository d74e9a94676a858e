"""Tasks of today: a right program written another way passes, and two mistakes of different kinds are found.

Programs are torch here, since only what they give matters to a task; each is the body of `forward`, with
the constructor's arguments beside the reference's.
"""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from grader.tasks import builtin_tasks, entries

from .few_bits import FEW_BITS
from .programs import Case, bench, results_of
from .serving import SERVING

torch.set_num_threads(1)


ATTEND = """
k, v = (t.repeat_interleave(Q.shape[1] // t.shape[1], dim=1) for t in (K, V))
score = Q @ k.transpose(2, 3) / Q.shape[3] ** 0.5
i, j = torch.arange(Q.shape[2])[:, None], torch.arange(k.shape[2])[None, :]
seen = {seen}
score = score.masked_fill(~seen, -1e30)
weight = torch.exp(score - score.amax(-1, keepdim=True))
return (weight @ v) / weight.sum(-1, keepdim=True)
"""
TURN = """
half = q.shape[-1] // 2
def turn(x):
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
return turn(q), turn(k)
"""
CASES = {
    "causal-attention": Case(
        ATTEND.format(seen="j <= i"),
        {
            "a key too many": ("j <= i", "j <= i + 1"),
            "heads in the order of another grouping": (
                "t.repeat_interleave(Q.shape[1] // t.shape[1], dim=1)",
                "t.repeat(1, Q.shape[1] // t.shape[1], 1, 1)",
            ),
            "not scaled": ("/ Q.shape[3] ** 0.5", ""),
        },
    ),
    "sliding-window-attention": Case(
        ATTEND.format(seen="(j <= i) & (j > i - window)"),
        {
            "a window one too long": ("j > i - window", "j >= i - window"),
            "looks ahead": ("(j <= i) & (j > i - window)", "(i - j).abs() < window"),
        },
    ),
    "softmax-masked": Case(
        """
x = torch.where(mask, scores * scale, -3e38)
e = torch.where(mask, torch.exp(x - x.amax(-1, keepdim=True)), 0.0)
return e / e.sum(-1, keepdim=True).clamp(min=1e-30)
""",
        {
            "masked ones still count": ("e = torch.where(mask, ", "e = (lambda _, e, z: e)(mask, "),
            "not scaled": ("scores * scale", "scores"),
        },
    ),
    "rope": Case(
        TURN,
        {
            "turns the other way": ("a * cos - b * sin, b * cos + a * sin", "a * cos + b * sin, b * cos - a * sin"),
            "pairs of neighbours": ("x[..., :half], x[..., half:]", "x[..., ::2], x[..., 1::2]"),
            "keys left alone": ("turn(q), turn(k)", "turn(q), k"),
        },
    ),
    "rms-norm-residual": Case(
        """
h = residual + x
return h / torch.sqrt((h * h).sum(-1, keepdim=True) / h.shape[-1] + eps) * weight, h
""",
        {
            "the norm of x alone": ("((h * h)", "((x * x)"),
            "no weight": (" * weight", ""),
            "the old residual handed on": ("weight, h", "weight, residual"),
        },
    ),
    "swiglu": Case(
        "return gate / (1 + torch.exp(-gate)) * up",
        {
            "gate and up exchanged": ("return gate", "gate, up = up, gate\nreturn gate"),
            "GELU": ("gate / (1 + torch.exp(-gate))", "F.gelu(gate)"),
        },
    ),
    "short-convolution": Case(
        """
taps, n = weight.shape[1], x.shape[2]
y = bias[:, None].expand_as(x)
for tap in range(taps):
    back = taps - 1 - tap
    y = y + F.pad(x, (back, 0))[:, :, :n] * weight[:, tap, None]
return y * torch.sigmoid(y)
""",
        {
            "the filter turned round": ("back = taps - 1 - tap", "back = tap"),
            "centred": ("F.pad(x, (back, 0))", "F.pad(x, (back, taps))[:, :, 1:]"),
            "no SiLU": ("y * torch.sigmoid(y)", "y"),
        },
    ),
    "selective-scan": Case(
        """
step = torch.log1p(torch.exp(delta))
h, y = torch.zeros(*x.shape[:2], A.shape[1]), torch.empty_like(x)
for t in range(x.shape[2]):
    d = step[:, :, t, None]
    h = h * torch.exp(d * A) + d * B[:, None, :, t] * x[:, :, t, None]
    y[:, :, t] = (h @ C[:, :, t, None]).squeeze(-1)
return y + D[:, None] * x
""",
        {
            "no softplus": ("torch.log1p(torch.exp(delta))", "delta"),
            "the state of before": ("(h @ C", "((h - d * B[:, None, :, t] * x[:, :, t, None]) @ C"),
            "no skip": (" + D[:, None] * x", ""),
        },
    ),
    "topk-gating": Case(
        """
p = torch.softmax(logits, -1)
order = torch.argsort(p, dim=-1, descending=True)[:, :k]
w = p.gather(1, order)
return w / w.sum(-1, keepdim=True), order
""",
        {
            "not scaled to sum to 1": (" / w.sum(-1, keepdim=True)", ""),
            "the least likely": ("descending=True", "descending=False"),
            "by index": ("[:, :k]", "[:, :k].sort(-1)[0]"),
        },
    ),
    "embedding-bag": Case(
        "return (table[indices] * weights[..., None]).sum(1)",
        {
            "not weighted": (" * weights[..., None]", ""),
            "mean": (".sum(1)", ".mean(1)"),
            "a row twice in a bag counts once": (
                "table[indices] * weights[..., None]",
                "table[indices] * (weights * (indices != indices.roll(1, 1)))[..., None]",
            ),
        },
    ),
    "histogram": Case(
        "return torch.zeros(bins, dtype=torch.int64).scatter_add_(0, x.long(), torch.ones_like(x, dtype=torch.int64))",
        {
            "lost updates": ("scatter_add_(0, x.long(), ", "scatter_(0, x.long(), "),
            "the last one left out": ("return torch", "x = x[:-1]\nreturn torch"),
        },
    ),
    "linear-cross-entropy": Case(
        """
top = torch.full((len(hidden), 1), -3e38)
total = torch.zeros(len(hidden), 1)
for part in weight.split(300):
    logits = hidden @ part.t()
    new = torch.maximum(top, logits.amax(1, keepdim=True))
    total = total * torch.exp(top - new) + torch.exp(logits - new).sum(1, keepdim=True)
    top = new
picked = (hidden * weight[targets]).sum(1)
return ((top + torch.log(total)).squeeze(1) - picked).mean()
""",
        {
            "sums of other maxima": ("total * torch.exp(top - new)", "total"),
            "the sum": (".mean()", ".sum()"),
            "the last part of the words left out": ("weight.split(300)", "weight.split(300)[:-1]"),
        },
    ),
    "adam-step": Case(
        """
m, v = torch.lerp(exp_avg, grad, 1 - beta1), exp_avg_sq * beta2 + (1 - beta2) * grad.square()
p = param - lr * weight_decay * param
rate = lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
return p - rate * m / (v.sqrt() + eps * (1 - beta2 ** step) ** 0.5), m, v
""",
        {
            "no correction of the bias": ("lr * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)", "lr"),
            "decay in the gradient": ("m, v =", "grad = grad + weight_decay * param\nm, v ="),
            "moments handed back unchanged": (", m, v\n", ", exp_avg, exp_avg_sq\n"),
        },
    ),
    "matmul-w8a8": Case(
        "return (a.int() @ w.int().t()).float() * (scale_a[:, None] * scale_w)",
        {
            "sums of 16 bits": ("(a.int() @ w.int().t())", "(a.int() @ w.int().t()).short()"),
            "scales exchanged": ("scale_a[:, None] * scale_w", "scale_a.mean() * scale_w"),
            "unsigned": ("a.int()", "a.int().remainder(256)"),
        },
    ),
    "dequantise": Case(
        "return q.float() * scale[:, None] - (zero.float() * scale)[:, None]",
        {
            "differences of 8 bits": (
                "q.float() * scale[:, None] - (zero.float() * scale)[:, None]",
                "(q - zero[:, None]).float() * scale[:, None]",
            ),
            "no zero point": (" - (zero.float() * scale)[:, None]", ""),
        },
    ),
    **FEW_BITS,
    **SERVING,
}  # fmt: skip


def program(name: str, body: str, init: tuple[Any, ...]) -> Any:
    """Return a function of the arguments of `forward`; the constructor's are known by name."""
    entry = entries()[name]
    space = {"torch": torch, "F": F, **dict(zip(entry.constructor, init, strict=False))}
    space |= {} if "eps" in space or "eps" not in entry.constructor else {"eps": 1e-6}
    exec(f"def forward({', '.join(entry.forward)}):\n{indent(body.strip(), '    ')}\n", space)
    return space["forward"]


def right_on(name: str, body: str, roles: set[str]) -> dict[str, bool]:
    """Return by workload whether what a program gives there counts as equal."""
    found = {}
    for workload in builtin_tasks()[name].workloads:
        if workload.role in roles:
            b = bench(builtin_tasks()[name], workload)
            made = results_of(program(name, body, workload.init), b.inputs)
            found[workload.name] = b.judge(made).equal
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_right_program_passes_at_every_size(name: str) -> None:
    found = right_on(name, CASES[name].right, {"nominal", "stress", "general"})
    assert [workload for workload, equal in found.items() if not equal] == []


@pytest.mark.parametrize(
    ("name", "mistake"), [(name, mistake) for name in CASES for mistake in CASES[name].mistakes]
)
def test_a_mistake_is_found(name: str, mistake: str) -> None:
    old, new = CASES[name].mistakes[mistake]
    assert old in CASES[name].right.strip() + "\n"
    body = (CASES[name].right.strip() + "\n").replace(old, new)
    assert not all(right_on(name, body, {"nominal", "stress"}).values())


def test_every_task_whose_kernel_comes_from_a_trace_is_here() -> None:
    assert {name for name, task in builtin_tasks().items() if not task.family} <= set(CASES)
