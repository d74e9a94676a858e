"""One value in, one value out."""

from __future__ import annotations

from dataclasses import dataclass

from grader.records import Task
from grader.repair.families.family import Family, Text


@dataclass(frozen=True)
class Scalar:
    """A number that the kernel takes beside its tensors."""

    name: str
    """Name in C++; the Python side passes it by position."""
    type: str = "float"


@dataclass(frozen=True)
class Formula:
    """C++ statements that return the result for a value `v`."""

    finish: str
    scalars: tuple[Scalar, ...] = ()


ALPHA, LOW_HIGH = (Scalar("alpha"),), (Scalar("low"), Scalar("high"))
OPERATIONS = {
    "relu": Formula("return v < 0.0f ? 0.0f : v;  // NaN stays NaN, as in torch"),
    "gelu": Formula("return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));"),
    "gelu-tanh": Formula(
        "const float inner = 0.79788456080286536f * (v + 0.044715f * v * v * v);\n"
        "return 0.5f * v * (1.0f + tanhf(inner));"
    ),
    "sigmoid": Formula("return 1.0f / (1.0f + expf(-v));"),
    "tanh": Formula("return tanhf(v);"),
    "silu": Formula("return v / (1.0f + expf(-v));"),
    "softsign": Formula("return v / (1.0f + fabsf(v));"),
    "softplus": Formula("return v > 20.0f ? v : log1pf(expf(v));"),
    "leaky-relu": Formula("return v > 0.0f ? v : alpha * v;", scalars=ALPHA),
    "elu": Formula("return v > 0.0f ? v : alpha * expm1f(v);", scalars=ALPHA),
    "selu": Formula(
        "const float scale = 1.0507009873554805f, alpha = 1.6732632423543772f;\n"
        "return v > 0.0f ? scale * v : scale * alpha * expm1f(v);"
    ),
    "hardsigmoid": Formula("return fminf(fmaxf(v / 6.0f + 0.5f, 0.0f), 1.0f);"),
    "hardtanh": Formula("return fminf(fmaxf(v, low), high);", scalars=LOW_HIGH),
    "scale": Formula("return v * alpha;", scalars=ALPHA),
}
IDEA = "One thread for each value: it is read once, changed, and written once."


def _write(task: Task) -> Text | None:
    operation = OPERATIONS.get(str(task.parameters.get("op", "")))
    if operation is None:
        return None
    return Text("elementwise", IDEA, _body(task, operation), {"op": operation})


def _body(task: Task, operation: Formula) -> str:
    if not operation.scalars:
        return "def forward(self, x: torch.Tensor) -> torch.Tensor:\n    return EXTENSION.FUNCTION(x)\n"
    if "scalars" not in task.parameters and task.parameters.get("op") == "scale":
        return (
            "def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:\n"
            "    return EXTENSION.FUNCTION(x, factor)\n"
        )
    values = task.parameters.get("scalars", {})
    passed = "".join(f", {_value(values, item.name)}" for item in operation.scalars)
    head = _constructor(task)
    return f"{head}def forward(self, x: torch.Tensor) -> torch.Tensor:\n    return EXTENSION.FUNCTION(x{passed})\n"


def _value(values: object, name: str) -> str:
    return str(values.get(name)) if isinstance(values, dict) and name in values else f"self.{name}"


def _constructor(task: Task) -> str:
    """Keep the arguments that the reference's constructor takes, under the kernel's names."""
    init = task.parameters.get("init", {})
    if not isinstance(init, dict) or not init:
        return ""
    arguments = "".join(f", {name}: float = {default}" for name, (default, _) in init.items())
    lines = "".join(f"    self.{kernel} = {name}\n" for name, (_, kernel) in init.items())
    return f"def __init__(self{arguments}):\n    super().__init__()\n{lines}\n"


FAMILIES = (Family("elementwise", _write),)
