"""Matrix products: general, transposed, batched, triangular; with a vector; with a diagonal."""

from __future__ import annotations

import re

from grader.records import Task
from grader.repair.families.family import Family, Names, module

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


def _matmul(task: Task, names: Names) -> str:
    left = "A.T" if re.search(r"\bA\.T\b", task.reference) else "A"
    right = "B.T" if re.search(r"\bB\.T\b", task.reference) else "B"
    triangle = -1 if "torch.tril" in task.reference else 1 if "torch.triu" in task.reference else 0
    more = f", {triangle}" if triangle else ""
    return module(
        "matmul.cu.jinja",
        names,
        title=f"{task.title}: reference-fixed kernel",
        idea=IDEA,
        body=f"{_HEAD}    return EXTENSION.FUNCTION({left}, {right}{more})\n",
        values={"triangle": bool(triangle)},
    )


def _plain(template: str, idea: str, task: Task, names: Names) -> str:
    return module(
        template,
        names,
        title=f"{task.title}: reference-fixed kernel",
        idea=idea,
        body=f"{_HEAD}    return EXTENSION.FUNCTION(A, B)\n",
        values={},
    )


def _matvec(task: Task, names: Names) -> str:
    return _plain("matvec.cu.jinja", VECTOR_IDEA, task, names)


def _diagonal(task: Task, names: Names) -> str:
    return _plain("row_scale.cu.jinja", DIAGONAL_IDEA, task, names)


FAMILIES = (
    Family("matmul", _matmul),
    Family("matvec", _matvec),
    Family("diag-matmul", _diagonal),
)
