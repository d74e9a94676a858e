"""Matrix products: general, transposed, batched, triangular; with a vector; with a diagonal."""

from __future__ import annotations

import re

from grader.records import Task
from grader.repair.families.family import Draft, Family

IDEA = (
    "Tiles of 128 x 128 results, 8 x 8 in each thread's registers, the next slice of the operands loaded while\n"
    "the current one is used. Transposed operands are read where they lie. In float32, as asked: no tensor cores,\n"
    "which would round the inputs to 10 bits."
)
VECTOR_IDEA = (
    "One block for each row; the matrix is read once, and the time is the time of reading it."
)
DIAGONAL_IDEA = "Each row times its diagonal element: the diagonal matrix is never made."
_HEAD = "def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:\n"


PLAIN_IDEA = (
    "One thread for each result, tiles of both operands in shared memory: each value is read from memory once for\n"
    "16 results."
)
PLAIN_DIAGONAL_IDEA = "One thread for each value: it is read once, scaled, and written once."


def _matmul(task: Task) -> Draft:
    left = re.search(r"\bA\.T\b", task.reference) is not None
    right = re.search(r"\bB\.T\b", task.reference) is not None
    triangle = -1 if "torch.tril" in task.reference else 1 if "torch.triu" in task.reference else 0
    more = f", {triangle}" if triangle else ""
    operands = f"{'A.T' if left else 'A'}, {'B.T' if right else 'B'}"
    body = f"{_HEAD}    return EXTENSION.FUNCTION({operands}{more})\n"
    values = {"left": left, "right": right, "triangle": triangle}
    fast = {"triangle": bool(triangle)}
    return Draft.both("matmul", (IDEA, PLAIN_IDEA), body, fast, plain_values=values)


_BODY = f"{_HEAD}    return EXTENSION.FUNCTION(A, B)\n"


def _matvec(_task: Task) -> Draft:
    return Draft.both("matvec", (VECTOR_IDEA, VECTOR_IDEA), _BODY)


def _diagonal(_task: Task) -> Draft:
    return Draft.both("row_scale", (DIAGONAL_IDEA, PLAIN_DIAGONAL_IDEA), _BODY)


FAMILIES = (
    Family("matmul", _matmul),
    Family("matvec", _matvec),
    Family("diag-matmul", _diagonal),
)
