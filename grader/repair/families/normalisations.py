"""Norms with mean and variance: layer, group, instance and batch norm.

The module of torch that the reference uses stays as the holder of its parameters, so that weights go by
the same names; its forward is not called.
"""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Draft, Family, Operation

IDEA = (
    "Mean and variance come from one pass, as moments that can be merged without cancellation; the values stay\n"
    "in registers and shared memory for the second step, so that memory is read once and written once. A group\n"
    "that is too large for one multiprocessor is shared by several."
)
BATCH_IDEA = (
    "The statistics of a channel are shared by many blocks; what is left for each value is one multiply and\n"
    "add with its channel's scale and shift."
)
MOMENTS = Operation(
    fields=(("float", "count", "0.0f"), ("float", "mean", "0.0f"), ("float", "m2", "0.0f")),
    merge="""\
const float count = a.count + b.count;
if (count > 0.0f) {
    const float delta = b.mean - a.mean, share = __fdividef(b.count, count);
    a.mean += delta * share;
    a.m2 += b.m2 + delta * delta * a.count * share;
    a.count = count;
}""",
    warp="""\
float count = s.count, sum = s.count * s.mean;
for (int offset = 16; offset > 0; offset >>= 1) {
    count += __shfl_xor_sync(0xffffffffu, count, offset);
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
}
const float mean = count > 0.0f ? sum / count : 0.0f;
s.m2 += s.count * (s.mean - mean) * (s.mean - mean);
for (int offset = 16; offset > 0; offset >>= 1) s.m2 += __shfl_xor_sync(0xffffffffu, s.m2, offset);
s.count = count;
s.mean = mean;""",
    finish="",
)
LAYER = """\
def __init__(self, normalized_shape: tuple):
    super().__init__()
    self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

def forward(self, x: torch.Tensor) -> torch.Tensor:
    groups = x.numel() // self.ln.weight.numel()
    return EXTENSION.FUNCTION(x, self.ln.weight, self.ln.bias, groups, 1, self.ln.eps)
"""
GROUP = """\
def __init__(self, num_features: int, num_groups: int):
    super().__init__()
    self.gn = nn.GroupNorm(num_groups=num_groups, num_channels=num_features)

def forward(self, x: torch.Tensor) -> torch.Tensor:
    inner = x[0, 0].numel()
    groups = x.size(0) * self.gn.num_groups
    return EXTENSION.FUNCTION(x, self.gn.weight, self.gn.bias, groups, inner, self.gn.eps)
"""
INSTANCE = """\
def __init__(self, num_features: int):
    super().__init__()
    self.inorm = nn.InstanceNorm2d(num_features=num_features)

def forward(self, x: torch.Tensor) -> torch.Tensor:
    return EXTENSION.FUNCTION(x, x.size(0) * x.size(1), self.inorm.eps)
"""
BATCH = """\
def __init__(self, num_features: int):
    super().__init__()
    self.bn = nn.BatchNorm2d(num_features=num_features)EVAL

def forward(self, x: torch.Tensor) -> torch.Tensor:
    bn = self.bn
    return EXTENSION.FUNCTION(
        x, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.training, bn.momentum, bn.eps
    )
"""


PLAIN_IDEA = "One block for each group, three passes: the mean, the variance about it, the result."
PLAIN_BATCH_IDEA = {
    True: "Two kernels: one block for each channel finds its mean and variance, then each value is normalised.",
    False: "The statistics are known beforehand, so each value is changed on its own.",
}


def _group_draft(body: str) -> Draft:
    values = {"op": MOMENTS, "layer": body is LAYER}
    return Draft.both("normalise", (IDEA, PLAIN_IDEA), body, values, "group_norm", {"affine": True})


def _instance(_task: Task) -> Draft:
    ideas, values = (IDEA, PLAIN_IDEA), {"op": MOMENTS}
    return Draft.both("instance_norm", ideas, INSTANCE, values, "group_norm", {"affine": False})


def _batch(task: Task) -> Draft:
    training = bool(task.parameters.get("training"))
    body = BATCH.replace("EVAL", "" if training else "\n    self.bn.eval()")
    ideas = BATCH_IDEA, PLAIN_BATCH_IDEA[training]
    return Draft.both("batch_norm", ideas, body, plain_values={"training": training})


FAMILIES = (
    Family("layer-norm", lambda _task: _group_draft(LAYER)),
    Family("group-norm", lambda _task: _group_draft(GROUP)),
    Family("instance-norm", _instance),
    Family("batch-norm", _batch),
)
