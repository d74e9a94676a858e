"""Reductions along one dim, alone or followed by a map: norms, softmax, sums, extremes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.records import Task
from grader.repair.families.family import Draft, Family, Operation, Scalar

SUM = (("float", "sum", "0.0f"),)
ADD = "a.sum += b.sum;"
IDEA = (
    "Every value is read once from memory: threads that are neighbours read values that are neighbours,\n"
    "each folds its share into a few registers, and the shares meet by warp shuffles and shared memory."
)
MAP_IDEA = (
    "The result of a row changes each of its values, so the row has to stay near: it is read once into registers\n"
    "and shared memory, reduced there, changed and written. A row that is too large for one multiprocessor is\n"
    "shared by several, which tell each other their parts of the result."
)

FULL_IDEA = (
    "The norm needs every value before the first result: two passes over memory, each at full width; the\n"
    "second goes backwards, and finds the last part of the first still in L2."
)


def _norm(task: Task) -> Operation:
    power = task.parameters.get("p", 2)
    add = "s.sum += v * v;" if power == 2 else "s.sum += fabsf(v);"
    total = "sqrtf(s.sum)" if power == 2 else "s.sum"
    divisor = f"{total} / n" if task.parameters.get("mean") else total
    return Operation(fields=SUM, add=add, merge=ADD, finish=f"return v * (1.0f / ({divisor}));")


def _rms(_task: Task) -> Operation:
    return Operation(
        fields=SUM,
        add="s.sum += v * v;",
        merge=ADD,
        finish="return v * rsqrtf(s.sum / n + eps);",
        scalars=(Scalar("eps"),),
    )


ONLINE_SUM = Operation(
    # The running sum is kept relative to the running maximum, so that one pass is enough and nothing
    # overflows (Milakov and Gimelshein, 2018). __expf is enough: its relative error grows with the distance
    # from the maximum, by which the term itself is small.
    fields=(("float", "top", "-INFINITY"), ("float", "sum", "0.0f")),
    add="""\
const float top = fmaxf(s.top, v);
if (top != -INFINITY) s.sum = s.sum * __expf(s.top - top) + __expf(v - top);
s.top = top;""",
    merge="""\
const float top = fmaxf(a.top, b.top);
if (top != -INFINITY) a.sum = a.sum * __expf(a.top - top) + b.sum * __expf(b.top - top);
a.top = top;""",
    # Of several values the largest first: the running sum is moved on once.
    batch="""\
float top = s.top;
#pragma unroll
for (int k = 0; k < kCount; ++k) top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
const float base = top == -INFINITY ? 0.0f : top;  // nothing else so far: -INFINITY - -INFINITY is NaN
s.sum *= __expf(s.top - base);
#pragma unroll
for (int k = 0; k < kCount; ++k)
    s.sum += (__expf(v[k].x - base) + __expf(v[k].y - base)) + (__expf(v[k].z - base) + __expf(v[k].w - base));
s.top = top;""",
    warp="""\
float top = s.top;
for (int offset = 16; offset > 0; offset >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
if (top != -INFINITY) s.sum *= __expf(s.top - top);
for (int offset = 16; offset > 0; offset >>= 1) s.sum += __shfl_xor_sync(0xffffffffu, s.sum, offset);
s.top = top;""",
    blank="-INFINITY",
    finish="return __expf(v - s.top) * (1.0f / s.sum);",
)
SOFTMAX = ONLINE_SUM
LOG_SOFTMAX = replace(ONLINE_SUM, finish="return v - s.top - logf(s.sum);")


def _extreme(sign: str, *, index: bool) -> Operation:
    start = "-INFINITY" if sign == ">" else "INFINITY"
    # NaN wins, as in torch; of equal values the first one does.
    better = f"(v {sign} s.best || v != v) && s.best == s.best"
    merged = (
        f"const bool nan_a = a.best != a.best, nan_b = b.best != b.best;\n"
        f"const bool wins = nan_a ? (nan_b && b.at < a.at)\n"
        f"                        : (nan_b || b.best {sign} a.best || (b.best == a.best && b.at < a.at));\n"
        "if (wins) a = b;"
    )
    return Operation(
        fields=(("float", "best", start), ("int", "at", "0x7fffffff")),
        add=f"if ({better} || s.at == 0x7fffffff) {{\n    s.best = v;\n    s.at = i;\n}}",
        merge=merged,
        finish="return s.at;" if index else "return s.best;",
        result="int64_t" if index else "float",
        maps=False,
        indexed=True,
    )


REDUCTIONS = {
    "sum": Operation(fields=SUM, add="s.sum += v;", merge=ADD, finish="return s.sum;", maps=False),
    "mean": Operation(
        fields=SUM, add="s.sum += v;", merge=ADD, finish="return s.sum / n;", maps=False
    ),
    "prod": Operation(
        fields=(("float", "product", "1.0f"),),
        add="s.product *= v;",
        merge="a.product *= b.product;",
        finish="return s.product;",
        maps=False,
    ),
    "max": _extreme(">", index=False),
    "min": _extreme("<", index=False),
    "argmax": _extreme(">", index=True),
    "argmin": _extreme("<", index=True),
}


PLAIN_ROW_IDEA = "One block for each row: it reads the row once for what all its values share, and once to change it."
PLAIN_CHANNEL_IDEA = (
    "One thread for each position: two walks along its channels, each coalesced across threads."
)
PLAIN_SOFTMAX_IDEA = "One block for each row, three passes: the largest value, the sum of the exponentials, the result."
PLAIN_FULL_IDEA = "Two kernels: partial sums by block, then the division; the second begins when the first has ended."
PLAIN_REDUCE_IDEA = "One thread for each result walks along the dim; neighbours walk side by side."
_BETTER = "v {sign} best || (isnan(v) && !isnan(best))"
_NAN = "  // NaN wins, as in torch; of equal values the first"


def _plain_extreme(sign: str, *, index: bool) -> dict[str, object]:
    better = _BETTER.format(sign=sign)
    at = ("\nint64_t at = 0;", "\n    at = k;") if index else ("", "")
    return {
        "start": f"float best = from[0];{at[0]}",
        "first": 1,
        "fold": f"if ({better}) {{{_NAN}\n    best = v;{at[1]}\n}}",
        "finish": "at" if index else "best",
        "result": "int64_t" if index else "float",
    }


def _plain_sum(start: str, fold: str, finish: str) -> dict[str, object]:
    return {"start": start, "first": 0, "fold": fold, "finish": finish, "result": "float"}


PLAIN_REDUCTIONS = {
    "sum": _plain_sum("float sum = 0.0f;", "sum += v;", "sum"),
    "mean": _plain_sum("float sum = 0.0f;", "sum += v;", "sum / n"),
    "prod": _plain_sum("float product = 1.0f;", "product *= v;", "product"),
    "max": _plain_extreme(">", index=False),
    "min": _plain_extreme("<", index=False),
    "argmax": _plain_extreme(">", index=True),
    "argmin": _plain_extreme("<", index=True),
}


def _along(
    operation: Operation, body: str, plain: str, idea: str, values: Mapping[str, object]
) -> Draft:
    template, own = ("map", MAP_IDEA) if operation.maps else ("reduce", IDEA)
    return Draft.both(template, (own, idea), body, {"op": operation}, plain, values)


def _forward(dim: str, scalars: str = "") -> str:
    return (
        "def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
        f"    return EXTENSION.FUNCTION(x{scalars}, {dim})\n"
    )


def _row_norm(task: Task) -> Draft:
    squared, mean = task.parameters.get("p", 2) == 2, bool(task.parameters.get("mean"))
    values = {"squared": squared, "mean": mean}
    return _along(_norm(task), _forward("1"), "row_norm", PLAIN_ROW_IDEA, values)


def _full_norm(_task: Task) -> Draft:
    body = "def forward(self, x: torch.Tensor) -> torch.Tensor:\n    return EXTENSION.FUNCTION(x)\n"
    return Draft.both("full_norm", (FULL_IDEA, PLAIN_FULL_IDEA), body)


def _channel_norm(task: Task) -> Draft:
    body = (
        "def __init__(self, num_features: int, eps: float = 1e-5):\n"
        "    super().__init__()\n"
        "    self.num_features = num_features\n"
        "    self.eps = eps\n\n" + _forward("1", ", self.eps")
    )
    return _along(_rms(task), body, "channel_norm", PLAIN_CHANNEL_IDEA, {})


def _softmax(task: Task) -> Draft:
    log = bool(task.parameters.get("log"))
    body = _init_dim(task) + _forward(_dim(task))
    operation = LOG_SOFTMAX if log else SOFTMAX
    return _along(operation, body, "softmax", PLAIN_SOFTMAX_IDEA, {"log": log})


def _reduce(task: Task) -> Draft | None:
    op = str(task.parameters.get("op", ""))
    if op not in REDUCTIONS:
        return None
    keep = "keepdim=True" in task.reference
    body = _init_dim(task) + _forward(f"{_dim(task)}, {keep}")
    return _along(REDUCTIONS[op], body, "reduce", PLAIN_REDUCE_IDEA, PLAIN_REDUCTIONS[op])


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
