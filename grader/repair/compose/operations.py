"""What a row is folded into and what comes of it, as the fast templates take it: sums, extremes, softmax, moments."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Operation:
    """The operator-specific part of a kernel: C++ statements over `s` (a Stat), `v` and `i`."""

    finish: str
    """Gives the result: `return ...;` with `v` the value (where it maps) and `n` the length."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Type, name and start value of each field of Stat."""
    add: str = ""
    """Folds the value `v` (at index `i`) into `s`."""
    batch: str = ""
    """Folds the kCount vectors `v` of four values into `s`, where that is cheaper than one by one."""
    blank: str = "0.0f"
    """A value that changes nothing when it is folded in."""
    warp: str = ""
    """Merges the `s` of all lanes of a warp, where that is cheaper than `merge` in five steps."""
    merge: str = ""
    """Folds `b` into `a`."""
    scalars: tuple[()] = ()
    """Numbers that a kernel takes beside its tensors: none does here."""
    result: str = "float"
    maps: bool = True
    """One result for each value; otherwise one for each row."""
    indexed: bool = False
    """Whether `add` needs the index."""

    @property
    def counted(self) -> bool:
        """Whether `finish` needs the number of values."""
        return re.search(r"\bn\b", self.finish) is not None


SUM = (("float", "sum", "0.0f"),)
ADD = "a.sum += b.sum;"
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
