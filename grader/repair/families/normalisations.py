"""Norms with mean and variance: layer, group, instance and batch norm.

The module of torch that the reference uses stays as the holder of its parameters, so that weights go by
the same names; its forward is not called.
"""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Names, module

IDEA = (
    "Mean and variance come from one pass, as moments that can be merged without cancellation; the values stay\n"
    "in shared memory for the second step, so that memory is read once and written once."
)
BATCH_IDEA = (
    "The statistics of a channel are shared by many blocks; what is left for each value is one multiply and\n"
    "add with its channel's scale and shift."
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
    inner = x[0, 0].numel()
    return EXTENSION.FUNCTION(x, None, None, x.size(0) * x.size(1), inner, self.inorm.eps)
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


def _written(template: str, idea: str, body: str, task: Task, names: Names) -> str:
    title = f"{task.title}: reference-fixed kernel"
    return module(template, names, title=title, idea=idea, body=body, values={})


def _layer(task: Task, names: Names) -> str:
    return _written("normalise.cu.jinja", IDEA, LAYER, task, names)


def _group(task: Task, names: Names) -> str:
    return _written("normalise.cu.jinja", IDEA, GROUP, task, names)


def _instance(task: Task, names: Names) -> str:
    return _written("normalise.cu.jinja", IDEA, INSTANCE, task, names)


def _batch(task: Task, names: Names) -> str:
    fixed = "" if task.parameters.get("training") else "\n    self.bn.eval()"
    body = BATCH.replace("EVAL", fixed)
    return _written("batch_norm.cu.jinja", BATCH_IDEA, body, task, names)


FAMILIES = (
    Family("layer-norm", _layer),
    Family("group-norm", _group),
    Family("instance-norm", _instance),
    Family("batch-norm", _batch),
)
