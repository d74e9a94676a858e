"""Matrix products: general, transposed, batched, triangular; with a vector; with a diagonal."""

from __future__ import annotations

import re

from grader.records import Task
from grader.repair.families.family import Family, Text

VECTOR_IDEA = (
    "One block for each row; the matrix is read once, and the time is the time of reading it."
)
_HEAD = "def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:\n"


IDEA = (
    "One thread for each result, tiles of both operands in shared memory: each value is read from memory once for\n"
    "16 results."
)
DIAGONAL_IDEA = "One thread for each value: it is read once, scaled, and written once."


def _matmul(task: Task) -> Text:
    left = re.search(r"\bA\.T\b", task.reference) is not None
    right = re.search(r"\bB\.T\b", task.reference) is not None
    triangle = -1 if "torch.tril" in task.reference else 1 if "torch.triu" in task.reference else 0
    more = f", {triangle}" if triangle else ""
    operands = f"{'A.T' if left else 'A'}, {'B.T' if right else 'B'}"
    body = f"{_HEAD}    return EXTENSION.FUNCTION({operands}{more})\n"
    values = {"left": left, "right": right, "triangle": triangle}
    return Text("matmul", IDEA, body, values)


_BODY = f"{_HEAD}    return EXTENSION.FUNCTION(A, B)\n"


def _matvec(_task: Task) -> Text:
    return Text("matvec", VECTOR_IDEA, _BODY)


def _diagonal(_task: Task) -> Text:
    return Text("row_scale", DIAGONAL_IDEA, _BODY)


FAMILIES = (
    Family("matmul", _matmul),
    Family("matvec", _matvec),
    Family("diag-matmul", _diagonal),
)
