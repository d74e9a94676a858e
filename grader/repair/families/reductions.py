"""Reductions along one dim, alone or followed by a map: norms, softmax, sums, extremes."""

from __future__ import annotations

from grader.records import Task
from grader.repair.families.family import Family, Text

ROW_IDEA = "One block for each row: it reads the row once for what all its values share, and once to change it."
CHANNEL_IDEA = (
    "One thread for each position: two walks along its channels, each coalesced across threads."
)
SOFTMAX_IDEA = "One block for each row, three passes: the largest value, the sum of the exponentials, the result."
FULL_IDEA = "Two kernels: partial sums by block, then the division; the second begins when the first has ended."
REDUCE_IDEA = "One thread for each result walks along the dim; neighbours walk side by side."
_BETTER = "v {sign} best || (isnan(v) && !isnan(best))"
_NAN = "  // NaN wins, as in torch; of equal values the first"


def _extreme(sign: str, *, index: bool) -> dict[str, object]:
    better = _BETTER.format(sign=sign)
    at = ("\nint64_t at = 0;", "\n    at = k;") if index else ("", "")
    return {
        "start": f"float best = from[0];{at[0]}",
        "first": 1,
        "fold": f"if ({better}) {{{_NAN}\n    best = v;{at[1]}\n}}",
        "finish": "at" if index else "best",
        "result": "int64_t" if index else "float",
    }


def _sum(start: str, fold: str, finish: str) -> dict[str, object]:
    return {"start": start, "first": 0, "fold": fold, "finish": finish, "result": "float"}


REDUCTIONS = {
    "sum": _sum("float sum = 0.0f;", "sum += v;", "sum"),
    "mean": _sum("float sum = 0.0f;", "sum += v;", "sum / n"),
    "prod": _sum("float product = 1.0f;", "product *= v;", "product"),
    "max": _extreme(">", index=False),
    "min": _extreme("<", index=False),
    "argmax": _extreme(">", index=True),
    "argmin": _extreme("<", index=True),
}


def _forward(dim: str, scalars: str = "") -> str:
    return (
        "def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        f"    return EXTENSION.FUNCTION(x{scalars}, {dim})\n"
    )


def _row_norm(task: Task) -> Text:
    squared, mean = task.parameters.get("p", 2) == 2, bool(task.parameters.get("mean"))
    return Text("row_norm", ROW_IDEA, _forward("1"), {"squared": squared, "mean": mean})


def _full_norm(_task: Task) -> Text:
    body = "def forward(self, x: torch.Tensor) -> torch.Tensor:\n    return EXTENSION.FUNCTION(x)\n"
    return Text("full_norm", FULL_IDEA, body)


def _channel_norm(_task: Task) -> Text:
    body = (
        "def __init__(self, num_features: int, eps: float = 1e-5):\n"
        "    super().__init__()\n"
        "    self.num_features = num_features\n"
        "    self.eps = eps\n\n" + _forward("1", ", self.eps")
    )
    return Text("channel_norm", CHANNEL_IDEA, body)


def _softmax(task: Task) -> Text:
    body = _init_dim(task) + _forward(_dim(task))
    return Text("softmax", SOFTMAX_IDEA, body, {"log": bool(task.parameters.get("log"))})


def _reduce(task: Task) -> Text | None:
    values = REDUCTIONS.get(str(task.parameters.get("op", "")))
    keep = "keepdim=True" in task.reference
    body = _init_dim(task) + _forward(f"{_dim(task)}, {keep}")
    return Text("reduce", REDUCE_IDEA, body, values) if values is not None else None


def _dim(task: Task) -> str:
    return "self.dim" if _takes_dim(task) else str(task.parameters.get("dim", 1))


def _takes_dim(task: Task) -> bool:
    return "self.dim" in task.reference


def _init_dim(task: Task) -> str:
    if not _takes_dim(task):
        return ""
    default = " = 1" if "dim: int = " in task.reference or "dim=" in task.reference else ""
    return f"def __init__(self, dim: int{default}):\n    super().__init__()\n    self.dim = dim\n\n"


FAMILIES = (
    Family("row-norm", _row_norm),
    Family("channel-norm", _channel_norm),
    Family("full-norm", _full_norm),
    Family("softmax", _softmax),
    Family("reduce", _reduce),
    Family("arg-reduce", _reduce),
)
