"""Losses: a mean over terms, or over rows."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Text

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
TRIPLET_BODY = """\
def __init__(self, margin: float = 1.0):
    super().__init__()
    self.margin = margin

def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(anchor, positive, negative, self.margin)
"""


IDEA = "Two kernels: partial sums by block, then one block that adds them up in a fixed order."
ROWS_IDEA = (
    "One block for each row finds the row's loss; a second kernel takes the mean of the rows."
)
COSINE = {
    "tensors": ("a", "b"),
    "sums": ("ab", "aa", "bb"),
    "fold": "ab += a[i] * b[i];\naa += a[i] * a[i];\nbb += b[i] * b[i];",
    "finish": "1.0f - ab / fmaxf(sqrtf(aa) * sqrtf(bb), 1e-8f)",
    "margin": False,
}
TRIPLET = {
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


def _loss(task: Task) -> Text | None:
    op = str(task.parameters.get("op", ""))
    if op in TERMS:
        divisor = "predictions.size(0)" if op == "kl-div" else "predictions.numel()"
        body = f"def forward{PAIR}    return EXTENSION.FUNCTION(predictions, targets, {divisor})\n"
        return Text("loss", IDEA, body, {"term": TERMS[op]})
    return _ROWS.get(op)


_PAIRS = f"def forward{PAIR}    return EXTENSION.FUNCTION(predictions, targets)\n"
_ROWS = {
    "cosine": Text("row_loss", ROWS_IDEA, _PAIRS, COSINE),
    "cross-entropy": Text("cross_entropy", ROWS_IDEA, _PAIRS),
    "triplet": Text("row_loss", ROWS_IDEA, TRIPLET_BODY, TRIPLET),
}
FAMILIES = (Family("loss", _loss),)
