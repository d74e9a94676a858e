"""Rewrites of a Triton program's expressions as data: a pattern in Python, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression, `c` for a number, and no letter at all for what plays a
role (`stored`, `mask`). In what it becomes `{a}` is what the letter stood for, in parentheses where it needs them, and
`{SIZE}` each name of that kind in scope; `{INSIDE}` is each index in the expression itself, and `{BOUND}` each
comparison of the kernel that the expression lacks.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.repair.candidates.candidate import Touches
from grader.repair.candidates.triton.scope import Role

INFINITY = 'float("inf")'


@dataclass(frozen=True)
class Rewrite:
    """What an expression may have been meant to be."""

    pattern: str
    become: tuple[str, ...]
    cost: float
    touches: Touches
    role: Role = ""
    kind: str = ""
    """What the expression has to be: a name of a kind, `number`s that are computed with and are no places, what a
    kernel assigns to a `real` number, a `whole` number, part of the `host`; empty for anything."""


REWRITES = (
    # a count, a root, a factor
    Rewrite("a / (n - c)", ("{a} / {n}",), 0.6, "factor"),
    Rewrite("a / (n + c)", ("{a} / {n}",), 0.6, "factor"),
    Rewrite("a / n", ("{a}", "{a} / ({n} - 1)", "{a} * {n}"), 2.0, "factor"),
    Rewrite("a / n", ("{a} / {SIZE}",), 1.6, "factor"),
    Rewrite("a * b", ("{a} / {b}",), 2.0, "factor", "", "number"),
    Rewrite("a * b", ("{a}", "{b}"), 2.2, "factor", "", "number"),
    Rewrite("tl.sqrt(a)", ("{a}", "1.0 / tl.sqrt({a})"), 1.6, "degree"),
    Rewrite("tl.rsqrt(a)", ("tl.sqrt({a})",), 1.6, "degree"),
    Rewrite("a", ("tl.sqrt({a})",), 1.6, "degree", "assigned", "real"),
    Rewrite("1.0 / a", ("1.0 / tl.sqrt({a})",), 1.2, "degree"),
    Rewrite("a", ("{a} / {REAL}", "{a} / {REAL}[:, None]"), 1.7, "factor", "assigned", "real"),
    Rewrite("a", ("{a} / {REAL}", "{a} / {SIZE}", "tl.sqrt({a})"), 1.8, "factor", "stored"),
    # a sum
    Rewrite("a + b", ("{a} - {b}",), 1.8, "shift", "", "number"),
    Rewrite("a - b", ("{a} + {b}",), 1.6, "shift", "", "number"),
    Rewrite("a - c", ("{a}",), 0.9, ""),
    Rewrite("a + c", ("{a}",), 1.2, ""),
    Rewrite("a + b", ("{a}", "{b}"), 2.4, "shift", "", "number"),
    Rewrite("a - b", ("{a}", "{b} - {a}"), 2.2, "shift", "", "number"),
    # places
    Rewrite("a // b", ("{a} % {b}",), 1.4, "index"),
    Rewrite("a % b", ("{a} // {b}",), 1.2, "index"),
    Rewrite("tl.arange(0, n)", ("{INDEX}",), 1.5, "index"),
    Rewrite("a", ("{a} + {INDEX}",), 1.2, "index", "pointer", "POINTER"),
    Rewrite("p + i", ("{p} + {INDEX}",), 1.2, "index", "pointer"),
    Rewrite("p + r * n + i", ("{p} + {r} * {SIZE} + {i}",), 1.1, "index", "pointer"),
    Rewrite("a", ("{SIZE}",), 1.4, "index", "", "SIZE"),
    Rewrite("a", ("{INDEX}",), 1.6, "index", "", "INDEX"),
    Rewrite("a", ("{POINTER}",), 1.9, "index", "", "POINTER"),
    Rewrite("a", ("{REAL}",), 2.1, "value", "", "REAL"),
    Rewrite("a[:, None]", ("{a}[None, :]",), 1.5, "index"),
    Rewrite("a[None, :]", ("{a}[:, None]",), 1.5, "index"),
    # conditions
    Rewrite("a < b", ("{a} <= {b}", "{a} > {b}"), 1.7, "bound"),
    Rewrite("a <= b", ("{a} < {b}", "{a} >= {b}"), 1.5, "bound"),
    Rewrite("a > b", ("{a} >= {b}", "{a} < {b}"), 1.7, "bound"),
    Rewrite("a >= b", ("{a} > {b}", "{a} <= {b}"), 1.7, "bound"),
    Rewrite("a == b", ("{a} != {b}",), 2.2, "bound"),
    Rewrite("a", ("({a}) & ({INSIDE} >= 0)",), 1.1, "guard", "mask"),
    Rewrite("a", ("({a}) & ({BOUND})",), 1.1, "guard", "mask"),
    Rewrite("tl.where(m, a, b)", ("tl.where({m}, {b}, {a})",), 1.4, "value"),
    # an operation
    Rewrite("tl.maximum(a, b)", ("tl.minimum({a}, {b})",), 1.3, "value"),
    Rewrite("tl.minimum(a, b)", ("tl.maximum({a}, {b})",), 1.3, "value"),
    Rewrite("tl.max(a, axis=i)", ("tl.min({a}, axis={i})", "tl.sum({a}, axis={i})"), 1.6, "value"),
    Rewrite("tl.min(a, axis=i)", ("tl.max({a}, axis={i})",), 1.4, "value"),
    Rewrite("tl.sum(a, axis=i)", ("tl.max({a}, axis={i})",), 1.9, "value"),
    Rewrite("tl.exp2(a)", ("tl.exp({a})",), 1.1, "value"),
    Rewrite("tl.float16", ("tl.float32",), 0.9, "value"),
    Rewrite("torch.float16", ("torch.float32",), 1.2, "host"),
    # numbers
    Rewrite("a", ("0.0", f"-{INFINITY}", INFINITY, "1.0"), 1.3, "literal", "start"),
    Rewrite("a", ("0.0", f"-{INFINITY}", INFINITY, "1.0"), 1.5, "literal", "other"),
    Rewrite("c", ("0", "1"), 1.8, "literal", "", "whole"),
    Rewrite("c", ("{SELF}",), 1.0, "literal", "", "host"),
    # the host
    Rewrite("a // b", ("triton.cdiv({a}, {b})",), 0.9, "launch"),
    Rewrite("a", ("torch.empty_like({a})",), 0.8, "host", "assigned", "POINTER"),
    Rewrite("a", ("{a} * {SIZE}",), 1.8, "launch", "grid"),
)  # fmt: skip
