"""Scaled dot product attention."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Draft, Family, Text

IDEA = (
    "The scores are never written to memory: a block keeps the running maximum and sum of its queries' softmax\n"
    "and the weighted sums of the values in registers. In float32 throughout, as asked."
)
BODY = """\
def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V)
"""


PLAIN_IDEA = "One block for each query: scores, softmax and the weighted mean, with the scores in shared memory."


def _attention(_task: Task) -> Draft:
    return Draft(
        fast=Text("attention.cu.jinja", IDEA, BODY, {"causal": False}),
        plain=Text("plain/attention.cu.jinja", PLAIN_IDEA, BODY),
    )


WINDOW_IDEA = "One block for each query: scores, softmax and the weighted mean of the keys in its window alone."
WINDOW_BODY = """\
def __init__(self, window: int):
    super().__init__()
    self.window = window

def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V, self.window)
"""


def _window_attention(_task: Task) -> Draft:
    return Draft(None, Text("plain/window_attention.cu.jinja", WINDOW_IDEA, WINDOW_BODY))


FAMILIES = (Family("attention", _attention), Family("window-attention", _window_attention))
