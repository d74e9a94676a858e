"""What follows indices: histograms, bags of embeddings, the likeliest experts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grader.records import Task
from grader.repair.families.family import Draft, Family, Text, element

HISTOGRAM = Text(
    "plain/histogram.cu.jinja",
    "Each block counts in shared memory and adds its counts to the result in the end, all by atomic additions.",
    """\
def __init__(self, bins: int):
    super().__init__()
    self.bins = bins

def forward(self, x: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, self.bins)
""",
)
BAG = Text(
    "plain/embedding_bag.cu.jinja",
    "One thread for each column of each bag adds up the rows that the bag names.",
    """\
def forward(self, indices: torch.Tensor, table: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(indices, table, weights)
""",
)
GATING = Text(
    "plain/gating.cu.jinja",
    "A warp for each token: the largest logit, then the largest after it, and so on; then their softmax.",
    """\
def __init__(self, k: int):
    super().__init__()
    self.k = k

def forward(self, logits: torch.Tensor):
    weights = logits.new_empty(len(logits), self.k)
    experts = EXTENSION.FUNCTION(logits, weights)  # fills the weights too
    return weights, experts
""",
)


def _bag(task: Task) -> Draft:
    return Draft(fast=None, plain=replace(BAG, values=element(task)))


def _of(text: Text) -> Callable[[Task], Draft]:
    return lambda _task: Draft(fast=None, plain=text)


FAMILIES = (
    Family("histogram", _of(HISTOGRAM)),
    Family("embedding-bag", _bag),
    Family("gating", _of(GATING)),
)
