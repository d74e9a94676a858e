"""Norms with mean and variance: layer, group, instance and batch norm.

The module of torch that the reference uses stays as the holder of its parameters, so that weights go by
the same names; its forward is not called.
"""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Text

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


IDEA = "One block for each group, three passes: the mean, the variance about it, the result."
BATCH_IDEA = {
    True: "Two kernels: one block for each channel finds its mean and variance, then each value is normalised.",
    False: "The statistics are known beforehand, so each value is changed on its own.",
}


def _of_groups(body: str, *, affine: bool = True) -> Text:
    return Text("group_norm", IDEA, body, {"affine": affine})


def _batch(task: Task) -> Text:
    training = bool(task.parameters.get("training"))
    body = BATCH.replace("EVAL", "" if training else "\n    self.bn.eval()")
    return Text("batch_norm", BATCH_IDEA[training], body, {"training": training})


FAMILIES = (
    Family("layer-norm", lambda _task: _of_groups(LAYER)),
    Family("group-norm", lambda _task: _of_groups(GROUP)),
    Family("instance-norm", lambda _task: _of_groups(INSTANCE, affine=False)),
    Family("batch-norm", _batch),
)
