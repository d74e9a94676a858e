"""Scaled dot product attention."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Names, module

IDEA = (
    "The scores are never written to memory: a block keeps the running maximum and sum of its queries' softmax\n"
    "and the weighted sums of the values in registers. In float32 throughout, as asked."
)
BODY = """\
def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V)
"""


def _attention(task: Task, names: Names) -> str:
    return module(
        "attention.cu.jinja",
        names,
        title=f"{task.title}: reference-fixed kernel",
        idea=IDEA,
        body=BODY,
        values={"causal": False},
    )


FAMILIES = (Family("attention", _attention),)
