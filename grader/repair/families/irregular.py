"""What follows indices: histograms, bags of embeddings, the likeliest experts."""

from __future__ import annotations

from dataclasses import replace

from grader.repair.families.family import Family, Text, element

HISTOGRAM = Text(
    "histogram",
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
    "embedding_bag",
    "One thread for each column of each bag adds up the rows that the bag names.",
    """\
def forward(self, indices: torch.Tensor, table: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(indices, table, weights)
""",
)
GATING = Text(
    "gating",
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


FAMILIES = (
    Family("histogram", lambda _task: HISTOGRAM),
    Family("embedding-bag", lambda task: replace(BAG, values=element(task))),
    Family("gating", lambda _task: GATING),
)
