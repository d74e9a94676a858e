"""Fused operators of a training step: the loss of the last layer, and the optimiser."""

from grader.records import Role, Workload
from grader.tasks.entry import Entry, builtin
from grader.tasks.shapes import HEAVY, LARGE, NORMAL, UNIFORM, Shape, Values, tensor, workload

LOSS = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """The mean cross-entropy of the logits of a linear layer; the logits need not be kept."""

    def forward(self, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(hidden @ weight.t(), targets)
'''

ADAM = '''\
import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of AdamW: the new parameter and its two running moments."""

    def __init__(self, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float):
        super().__init__()
        self.lr, self.beta1, self.beta2 = lr, beta1, beta2
        self.eps, self.weight_decay = eps, weight_decay

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, exp_avg: torch.Tensor, exp_avg_sq: torch.Tensor, step: int
    ):
        first = self.beta1 * exp_avg + (1 - self.beta1) * grad
        second = self.beta2 * exp_avg_sq + (1 - self.beta2) * grad * grad
        size = torch.sqrt(second / (1 - self.beta2**step)) + self.eps
        kept = param * (1 - self.lr * self.weight_decay)
        return kept - self.lr * first / (1 - self.beta1**step) / size, first, second
'''

NORM = '''\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Layer norm of the residual plus what dropout leaves of x: 0 where `kept` is False, the rest over 1 - p."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(
        self,
        x: torch.Tensor,
        residual: torch.Tensor,
        kept: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        h = residual + x * kept / (1 - self.p)
        return F.layer_norm(h, h.shape[-1:], weight, bias)
'''


def dropped_workload(
    role: Role, shape: Shape, p: float, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of rows, a residual, a mask of what dropout keeps, and a norm's weight and bias."""
    rows, columns = tensor(shape, values), tensor(shape[-1:])
    kept = tensor(shape, ("randint", 0.0, 2.0), "bool")
    return workload(role, rows, rows, kept, columns, columns, label=label, init=(p,))


def loss(
    role: Role, tokens: int, width: int, words: int, values: Values = NORMAL, label: str = ""
) -> Workload:
    """Return a workload of hidden states, a vocabulary's weights, and labels below its size."""
    targets = tensor((tokens,), ("randint", 0.0, float(words)), "int64")
    weight = tensor((words, width), ("normal", 0.0, 0.1))
    return workload(role, tensor((tokens, width), values), weight, targets, label=label)


def adam(role: Role, shape: Shape, step: int, values: Values = NORMAL, label: str = "") -> Workload:
    """Return a workload of a parameter, its gradient, its moments and the number of the step."""
    one = tensor(shape, NORMAL)
    moment = tensor(shape, ("uniform", 0.01, 1.0))
    init = (0.01, 0.9, 0.999, 1e-8, 0.1)
    label = label or f"step {step}"
    return workload(role, one, tensor(shape, values), one, moment, step, label=label, init=init)


ENTRIES = (
    Entry(
        task=builtin(
            "linear-cross-entropy",
            "Cross-entropy of a linear layer's logits, fused",
            LOSS,
            workloads=(
                loss("nominal", 64, 64, 2000),
                loss("nominal", 100, 48, 1001),
                loss("stress", 32, 64, 500, UNIFORM, "uniform"),
                loss("stress", 32, 64, 500, HEAVY, "heavy tails"),
                loss("stress", 32, 64, 500, ("normal", 0.0, 8.0), "wide"),
                loss("general", 1, 8, 2),
                loss("general", 33, 31, 100),
                loss("general", 5, 100, 1023),
                loss("general", 32, 64, 500, ("large", 0.0, 200.0), "large"),
                loss("full", 8192, 4096, 128256),
            ),
            family="",
            reduction_length="d0*d1",
            prompt="Return the mean cross-entropy of labels and the logits `hidden @ weight.T`.",
        ),
        kind="loss",
        words=(r"(fused )?linear (and )?cross ?entropy( loss)?", r"fused linear ce"),
        usual=(r"cross ?entropy( loss)?",),
        formulas=(r"F\.cross_entropy\(hidden@weight",),
        against=(r"binary", r"kl ?div\w*"),
        vocabulary=frozenset(
            {
                "linear",
                "cross",
                "entropy",
                "crossentropy",
                "loss",
                "fused",
                "ce",
                "softmax",
                "log",
                "mean",
                "reduce",
                "sum",
                "logits",
                "lse",
                "matmul",
                "gemm",
            }
        ),
    ),
    Entry(
        task=builtin(
            "layer-norm-dropout",
            "Dropout with a given mask, residual and layer norm",
            NORM,
            workloads=(
                dropped_workload("nominal", (64, 1024), 0.1),
                dropped_workload("nominal", (100, 333), 0.5),
                dropped_workload("stress", (32, 512), 0.1, UNIFORM, "uniform"),
                dropped_workload("stress", (32, 512), 0.1, HEAVY, "heavy tails"),
                dropped_workload("stress", (32, 512), 0.9, LARGE, "large"),
                dropped_workload("general", (1, 2), 0.1),
                dropped_workload("general", (3, 33), 0.0),
                dropped_workload("general", (7, 1023), 0.3),
                dropped_workload("full", (16384, 8192), 0.1),
            ),
            family="",
            reduction_length="d1",
            prompt="Drop the elements of x where `kept` is False, divide by 1 - p, add the residual and apply layer norm with weight and bias.",
        ),
        kind="training",
        words=(
            r"(fused )?(layer ?norm|ln) (residual )?dropout",
            r"(fused )?dropout( (add|residual))*( (layer ?norm|ln))",
        ),
        usual=(r"layer ?norm",),
        formulas=(r"residual\+x\*kept/\(1-self\.p\)", r"\w\*(mask|kept)/\(1(\.0)?-(self\.)?p\)"),
        against=(r"attention", r"softmax"),
        vocabulary=frozenset(
            {
                "layer",
                "norm",
                "layernorm",
                "dropout",
                "residual",
                "add",
                "fused",
                "bias",
                "mask",
                "forward",
            }
        ),
    ),
    Entry(
        task=builtin(
            "adam-step",
            "One step of AdamW",
            ADAM,
            workloads=(
                adam("nominal", (300, 500), 10),
                adam("nominal", (100003,), 1),
                adam("stress", (64, 512), 3, UNIFORM, "uniform"),
                adam("stress", (64, 512), 3, HEAVY, "heavy tails"),
                adam("stress", (64, 512), 3, LARGE, "large"),
                adam("general", (1,), 2),
                adam("general", (3, 33), 100),
                adam("general", (5, 7, 29), 5000),
                adam("full", (16384, 16384), 1000),
            ),
            family="",
            prompt="Make one AdamW step; return the parameter and its first and second moments.",
        ),
        kind="training",
        words=(r"(fused )?adam ?w?( (step|optimizer|update))?",),
        formulas=(r"self\.beta1\*exp_avg\+\(1-self\.beta1\)\*grad", r"exp_avg_sq"),
        against=(r"sgd", r"lion", r"8 ?bit"),
        vocabulary=frozenset(
            {"adam", "adamw", "step", "optimizer", "update", "fused", "moment", "w"}
        ),
    ),
)
