"""Cumulative sums and products along one dim."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Names, module

IDEA = (
    "A block walks along its row in pieces: each warp scans 32 values by shuffles, the warps' totals meet in\n"
    "shared memory, and what came before is carried into the next piece. One read and one write a value."
)
PLAIN = """\
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim

def forward(self, x: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, None, self.dim)
"""
MASKED = """\
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim

def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, mask, self.dim)
"""


def _scan(task: Task, names: Names) -> str:
    op = str(task.parameters.get("op", "cumsum"))
    body = MASKED if op.endswith("masked") else PLAIN
    product = op.startswith("cumprod")
    return module(
        "scan.cu.jinja",
        names,
        title=f"{task.title}: reference-fixed kernel",
        idea=IDEA,
        body=body,
        values={
            "op": "*" if product else "+",
            "start": "1.0f" if product else "0.0f",
            "reverse": op.endswith("reverse"),
            "exclusive": op.endswith("exclusive"),
        },
    )


FAMILIES = (Family("scan", _scan),)
