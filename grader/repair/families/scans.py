"""Cumulative sums and products along one dim, and the selective scan."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Text

IDEA = (
    "One block for each row, a piece of it at a time: scanned in shared memory, what came before carried on. Along a\n"
    "dim other than the last, one thread for each column."
)
INIT = """\
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim

"""
ONE = """\
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, self.dim)
"""
MASKED = """\
def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, mask, self.dim)
"""


def _scan(task: Task) -> Text:
    op = str(task.parameters.get("op", "cumsum"))
    masked, product = op.endswith("masked"), op.startswith("cumprod")
    body = INIT + (MASKED if masked else ONE)
    values = {
        "op": "*" if product else "+",
        "start": "1.0f" if product else "0.0f",
        "reverse": op.endswith("reverse"),
        "exclusive": op.endswith("exclusive"),
        "masked": masked,
    }
    return Text("scan", IDEA, body, values)


SELECTIVE_IDEA = (
    "A warp for each channel: its lanes hold the states, which go along the sequence step by step."
)
SELECTIVE_BODY = """\
def forward(
    self, x: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, D: torch.Tensor
) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, delta, A, B, C, D)
"""


def _selective_scan(_task: Task) -> Text:
    return Text("selective_scan", SELECTIVE_IDEA, SELECTIVE_BODY)


FAMILIES = (Family("scan", _scan), Family("selective-scan", _selective_scan))
