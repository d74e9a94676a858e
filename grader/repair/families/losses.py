"""Losses: a mean over terms, or over rows."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Draft, Family

IDEA = (
    "Every value is read once. Blocks leave partial sums and a second, small kernel joins them in a fixed order,\n"
    "so that the result is the same in every run; sums of many terms are kept in double."
)
TERMS = {
    "mse": "const float d = a - b;\nreturn d * d;",
    "l1": "return fabsf(a - b);",
    "hinge": "return fmaxf(1.0f - a * b, 0.0f);",
    "huber": "const float d = fabsf(a - b);\nreturn d < 1.0f ? 0.5f * d * d : d - 0.5f;",
    "kl-div": (
        "// one logarithm; two where the ratio itself leaves the range of a float\n"
        "const float ratio = b / a;\n"
        "if (ratio > 0.0f && ratio < INFINITY) return b * logf(ratio);\n"
        "return b > 0.0f ? b * (logf(b) - logf(a)) : 0.0f;"
    ),
}
PAIR = "(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:\n"
TWO = {
    "tensors": ("a", "b"),
    "others": "",
    "batch": 2,
    "fold_all": "",
    "warp": "",
    "each": 16,
    "early": "",
    "signature": "torch::Tensor a, torch::Tensor b",
    "first": "a",
    "prepare": "a = a.contiguous();\nb = b.contiguous();",
    "arguments": "a.data_ptr<float>(), b.data_ptr<float>()",
    "extra": "",
    "passed": "",
}
COSINE = TWO | {
    "fields": (("ab", "0.0f"), ("aa", "0.0f"), ("bb", "0.0f")),
    "merge": "a.ab += b.ab;\na.aa += b.aa;\na.bb += b.bb;",
    "fold": "s.ab = fmaf(a, b, s.ab);\ns.aa = fmaf(a, a, s.aa);\ns.bb = fmaf(b, b, s.bb);",
    "finish": "losses[row] = 1.0f - s.ab / fmaxf(sqrtf(s.aa) * sqrtf(s.bb), 1e-8f);",
}
CROSS_ENTROPY = TWO | {
    "tensors": ("a",),
    "others": "const int64_t* __restrict__ b, ",
    "batch": 4,
    "arguments": "a.data_ptr<float>(), b.data_ptr<int64_t>()",
    "fields": (("top", "-INFINITY"), ("sum", "0.0f")),
    "merge": "",
    "warp": (
        "float top = s.top;\n"
        "for (int offset = 16; offset > 0; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));\n"
        "if (top != -INFINITY) s.sum *= __expf(s.top - top);\n"
        "for (int offset = 16; offset > 0; offset >>= 1) s.sum += __shfl_xor_sync(0xffffffffu, s.sum, offset);\n"
        "s.top = top;"
    ),
    "fold": (
        "const float top = fmaxf(s.top, a);\n"
        "if (top != -INFINITY) s.sum = s.sum * __expf(s.top - top) + __expf(a - top);\ns.top = top;"
    ),
    "fold_all": (
        "// of several values the largest first: the running sum is moved on once\n"
        "float top = s.top;\n"
        "#pragma unroll\n"
        "for (int k = 0; k < kCount; ++k) top = fmaxf(top, fmaxf(fmaxf(a[k].x, a[k].y), fmaxf(a[k].z, a[k].w)));\n"
        "const float base = top == -INFINITY ? 0.0f : top;  // nothing else so far: -INFINITY - -INFINITY is NaN\n"
        "s.sum *= __expf(s.top - base);\n"
        "#pragma unroll\n"
        "for (int k = 0; k < kCount; ++k)\n"
        "    s.sum += (__expf(a[k].x - base) + __expf(a[k].y - base)) + (__expf(a[k].z - base) + __expf(a[k].w - base));\n"
        "s.top = top;"
    ),
    "early": (
        "// asked for before the row, so that nobody waits for it in the end\n"
        "const float picked = threadIdx.x == 0 ? a[row * n + b[row]] : 0.0f;"
    ),
    "finish": "losses[row] = s.top + logf(s.sum) - picked;",
}
TRIPLET = TWO | {
    "tensors": ("a", "p", "q"),
    "signature": "torch::Tensor a, torch::Tensor p, torch::Tensor q, double margin",
    "prepare": "a = a.contiguous();\np = p.contiguous();\nq = q.contiguous();",
    "arguments": "a.data_ptr<float>(), p.data_ptr<float>(), q.data_ptr<float>()",
    "extra": ", float margin",
    "passed": ", (float)margin",
    "fields": (("near", "0.0f"), ("far", "0.0f")),
    "merge": "a.near += b.near;\na.far += b.far;",
    "fold": (
        "// torch adds 1e-6 to each difference before the norm\n"
        "const float u = a - p + 1e-6f;\n"
        "const float v = a - q + 1e-6f;\n"
        "s.near = fmaf(u, u, s.near);\ns.far = fmaf(v, v, s.far);"
    ),
    "finish": "losses[row] = fmaxf(sqrtf(s.near) - sqrtf(s.far) + margin, 0.0f);",
}
TRIPLET_BODY = """\
def __init__(self, margin: float = 1.0):
    super().__init__()
    self.margin = margin

def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(anchor, positive, negative, self.margin)
"""


PLAIN_IDEA = (
    "Two kernels: partial sums by block, then one block that adds them up in a fixed order."
)
PLAIN_ROWS_IDEA = (
    "One block for each row finds the row's loss; a second kernel takes the mean of the rows."
)
PLAIN_COSINE = {
    "tensors": ("a", "b"),
    "sums": ("ab", "aa", "bb"),
    "fold": "ab += a[i] * b[i];\naa += a[i] * a[i];\nbb += b[i] * b[i];",
    "finish": "1.0f - ab / fmaxf(sqrtf(aa) * sqrtf(bb), 1e-8f)",
    "margin": False,
}
PLAIN_TRIPLET = {
    "tensors": ("a", "p", "q"),
    "sums": ("near", "far"),
    "fold": (
        "const float u = a[i] - p[i] + 1e-6f;  // torch adds 1e-6 to each difference before the norm\n"
        "const float v = a[i] - q[i] + 1e-6f;\n"
        "near += u * u;\nfar += v * v;"
    ),
    "finish": "fmaxf(sqrtf(near) - sqrtf(far) + margin, 0.0f)",
    "margin": True,
}


def _loss(task: Task) -> Draft | None:
    op = str(task.parameters.get("op", ""))
    if op in TERMS:
        divisor = "predictions.size(0)" if op == "kl-div" else "predictions.numel()"
        body = f"def forward{PAIR}    return EXTENSION.FUNCTION(predictions, targets, {divisor})\n"
        return Draft.both("loss", (IDEA, PLAIN_IDEA), body, {"term": TERMS[op]})
    return _ROWS.get(op)


_PAIRS = f"def forward{PAIR}    return EXTENSION.FUNCTION(predictions, targets)\n"
_IDEAS = IDEA, PLAIN_ROWS_IDEA
_ROWS = {
    "cosine": Draft.both("row_loss", _IDEAS, _PAIRS, COSINE, plain_values=PLAIN_COSINE),
    "cross-entropy": Draft.both("row_loss", _IDEAS, _PAIRS, CROSS_ENTROPY, "cross_entropy", {}),
    "triplet": Draft.both("row_loss", _IDEAS, TRIPLET_BODY, TRIPLET, plain_values=PLAIN_TRIPLET),
}
FAMILIES = (Family("loss", _loss),)
