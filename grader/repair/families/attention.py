"""Scaled dot product attention."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Text, element

BODY = """\
def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V)
"""


IDEA = "One block for each query: scores, softmax and the weighted mean, with the scores in shared memory."


def _attention(_task: Task) -> Text:
    return Text("attention", IDEA, BODY, {"causal": False})


BACK_IDEA = "One block for each query: scores, softmax and the weighted mean of the keys up to its own, or of the last ones."
WINDOW_BODY = """\
def __init__(self, window: int):
    super().__init__()
    self.window = window

def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V, self.window)
"""
CAUSAL_BODY = """\
def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(Q, K, V, Q.shape[2])  # a window of all keys
"""


def _attention_back(task: Task) -> Text:
    body = WINDOW_BODY if task.parameters.get("window") else CAUSAL_BODY
    return Text("attention_back", BACK_IDEA, body, element(task))


FAMILIES = (Family("attention", _attention), Family("attention-back", _attention_back))
