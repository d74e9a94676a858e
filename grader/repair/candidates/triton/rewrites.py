"""Rewrites of a Triton program's expressions as data: a pattern in Python, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression, `c` for a number, and no letter at all for what plays a
role (`stored`, `mask`). In what it becomes `{a}` is what the letter stood for, in parentheses where it needs them, and
`{SIZE}` each name of that kind in scope (`{REAL}` those that the expression lacks); `{INSIDE}` is each index in the expression itself, `{BOUND}`
each comparison of the kernel that it lacks, and `{TARGET}` the name that a loop assigns it to.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.repair.candidates.candidate import Touches
from grader.repair.candidates.triton.roles import Role

INFINITY = 'float("inf")'
STARTS = ("0.0", f"-{INFINITY}", INFINITY, "1.0")


@dataclass(frozen=True)
class Rewrite:
    """What an expression may have been meant to be."""

    pattern: str
    become: tuple[str, ...]
    cost: float
    touches: Touches
    role: Role = ""
    kind: str = ""
    """What the expression has to be: a name of a kind, `number`s that are computed with and are no places, an `index`
    that isn't, what a kernel assigns to a `real` number, a `whole` number or a `float`, part of the `host`; empty for anything."""


REWRITES = (
    # a count, a root, a factor
    Rewrite("a / (n - c)", ("{a} / {n}",), 0.6, "factor"),
    Rewrite("a / (n + c)", ("{a} / {n}",), 0.6, "factor"),
    Rewrite("a / n", ("{a}", "{a} / ({n} - 1)", "{a} * {n}"), 2.0, "factor"),
    Rewrite("a / n", ("{a} / {SIZE}",), 1.6, "factor"),
    Rewrite("a * b", ("{a} / {b}",), 2.0, "factor", "", "number"),
    Rewrite("a * b", ("{a}", "{b}"), 2.2, "factor", "", "number"),
    Rewrite("a", ("{a} + {REAL}", "{a} - {REAL}"), 2.2, "shift", "assigned", "real"),
    Rewrite("tl.sqrt(a)", ("{a}", "1.0 / tl.sqrt({a})", "tl.sqrt({a} + {REAL})"), 1.6, "degree"),
    Rewrite("tl.sqrt(a + e)", ("tl.sqrt({a}) + {e}",), 1.6, "degree"),
    Rewrite("tl.sqrt(a) + e", ("tl.sqrt({a} + {e})",), 1.2, "degree"),
    Rewrite("tl.rsqrt(a)", ("tl.sqrt({a})", "1.0 / {a}"), 1.6, "degree"),
    Rewrite("a", ("tl.sqrt({a})",), 1.6, "degree", "assigned", "real"),
    Rewrite("1.0 / a", ("1.0 / tl.sqrt({a})",), 1.2, "degree"),
    Rewrite("tl.sum(a, i)", ("tl.sum({a}, {i}) / {SIZE}", "tl.sqrt(tl.sum({a}, {i}))"), 1.4, "factor"),
    Rewrite("tl.sum(a, axis=i)", ("tl.sum({a}, axis={i}) / {SIZE}", "tl.sqrt(tl.sum({a}, axis={i}))"), 1.4, "factor"),
    Rewrite("a", ("{a} / {REAL}", "{a} / {REAL}[:, None]"), 1.7, "factor", "assigned", "real"),
    Rewrite("a", ("{a} / {REAL}", "{a} / {SIZE}", "tl.sqrt({a})", "{a} * {REAL}"), 1.8, "factor", "stored"),
    Rewrite("a", ("{a} * {REAL}",), 1.9, "factor", "term", "number"),
    Rewrite("a", ("2 * {a}",), 2.4, "factor", "term"),
    Rewrite("a", ("tl.maximum({a}, 0.0)", "tl.abs({a})", "tl.log({a})", "tl.exp({a})"), 2.4, "value", "assigned", "real"),
    Rewrite("a", ("tl.maximum({a}, 0.0)", "tl.abs({a})", "tl.log({a})", "tl.exp({a})"), 2.6, "value", "stored"),
    # a sum
    Rewrite("a", ("{TARGET} + {a}",), 0.7, "store"),
    Rewrite("tl.dot(a, b)", ("tl.dot({a}, {b}, {TARGET})",), 0.7, "store"),
    Rewrite("a + b", ("{a} - {b}",), 1.8, "shift", "", "number"),
    Rewrite("a - b", ("{a} + {b}",), 1.6, "shift", "", "number"),
    Rewrite("a - c", ("{a}",), 0.9, ""),
    Rewrite("a + c", ("{a}",), 1.2, ""),
    Rewrite("a + b", ("{a}", "{b}"), 2.4, "shift", "", "number"),
    Rewrite("a - b", ("{a}", "{b} - {a}"), 2.2, "shift", "", "number"),
    Rewrite("tl.exp(a)", ("tl.exp({a} - {REAL})",), 1.6, "shift"),
    # places
    Rewrite("a // b", ("{a} % {b}", "{a} // {b} % {SIZE}"), 1.4, "index"),
    Rewrite("a % b", ("{a} // {b}", "{a} // {b} % {SIZE}", "{a} // {SIZE} % {b}"), 1.2, "index"),
    Rewrite("a // b % c", ("{a} % {b}", "{a} // {b}"), 1.4, "index"),
    Rewrite("a // c", ("{a}",), 1.3, "index"),
    Rewrite("tl.arange(0, n)", ("{INDEX}",), 1.5, "index"),
    Rewrite("a", ("{a} + {INDEX}",), 1.2, "index", "pointer", "POINTER"),
    Rewrite("p + i", ("{p} + {INDEX}",), 1.2, "index", "pointer"),
    Rewrite("p + r * n + i", ("{p} + {r} * {SIZE} + {i}",), 1.1, "index", "pointer"),
    Rewrite("a + b", ("{a} * {SIZE} + {b}",), 1.5, "index", "", "index"),
    Rewrite("a", ("{a} * {SIZE}",), 1.1, "bound", "assigned", "SIZE"),
    Rewrite("a * b", ("{a} * {SIZE} * {b}", "{a}"), 1.5, "index", "", "index"),
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
    Rewrite("a & b", ("{a}", "{b}"), 1.9, "bound"),
    Rewrite("a", ("({a}) & ({INSIDE} >= 0)",), 1.1, "guard", "mask"),
    Rewrite("a", ("({a}) & ({BOUND})",), 1.1, "guard", "mask"),
    Rewrite("tl.where(m, a, b)", ("tl.where({m}, {b}, {a})", "{a}"), 1.5, "value"),
    # an operation
    Rewrite("tl.maximum(a, b)", ("tl.minimum({a}, {b})",), 1.3, "value"),
    Rewrite("tl.minimum(a, b)", ("tl.maximum({a}, {b})",), 1.3, "value"),
    Rewrite("tl.max(a, axis=i)", ("tl.min({a}, axis={i})", "tl.sum({a}, axis={i})"), 1.6, "value"),
    Rewrite("tl.min(a, axis=i)", ("tl.max({a}, axis={i})",), 1.4, "value"),
    Rewrite("tl.sum(a, axis=i)", ("tl.max({a}, axis={i})",), 1.9, "value"),
    Rewrite("tl.relu(a)", ("tl.maximum({a}, 0.0)",), 0.5, "value"),
    Rewrite("tl.tanh(a)", ("(2.0 * tl.sigmoid(2.0 * {a}) - 1.0)",), 0.5, "value"),
    Rewrite("tl.math.tanh(a)", ("(2.0 * tl.sigmoid(2.0 * {a}) - 1.0)",), 0.5, "value"),
    Rewrite("tl.silu(a)", ("({a} * tl.sigmoid({a}))",), 0.5, "value"),
    Rewrite("tl.softplus(a)", ("tl.log(1.0 + tl.exp({a}))",), 0.5, "value"),
    Rewrite("tl.square(a)", ("({a} * {a})",), 0.5, "value"),
    Rewrite("tl.pow(a, b)", ("tl.exp2({b} * tl.log2({a}))", "({a} * {a})"), 0.5, "value"),
    Rewrite("tl.mean(a, axis=i)", ("(tl.sum({a}, axis={i}) / {SIZE})",), 0.5, "value"),
    Rewrite("tl.mean(a, i)", ("(tl.sum({a}, {i}) / {SIZE})",), 0.5, "value"),
    Rewrite("tl.exp2(a)", ("tl.exp({a})",), 1.1, "value"),
    Rewrite("tl.log2(a)", ("tl.log({a})",), 1.1, "value"),
    Rewrite("a", ("tl.trans({a})",), 1.4, "index", "operand"),
    Rewrite("tl.trans(a)", ("{a}",), 1.4, "index"),
    Rewrite("tl.dot(a, b)", ('tl.dot({a}, {b}, input_precision="ieee")',), 1.0, "value"),
    Rewrite("tl.dot(a, b, c)", ('tl.dot({a}, {b}, {c}, input_precision="ieee")',), 1.0, "value"),
    # types
    Rewrite("tl.float16", ("tl.float32",), 0.9, "value"),
    Rewrite("tl.bfloat16", ("tl.float32",), 0.9, "value"),
    Rewrite("tl.int32", ("tl.float32", "tl.int64"), 1.1, "value"),
    Rewrite("torch.float16", ("torch.float32",), 1.2, "host"),
    Rewrite("torch.bfloat16", ("torch.float32",), 1.2, "host"),
    Rewrite("a.to(t)", ("{a}",), 1.7, "value"),
    Rewrite("a.to(t)", ("tl.floor({a} + 0.5).to({t})",), 1.2, "value", "stored"),
    # numbers
    Rewrite("a", STARTS, 1.3, "literal", "start"),
    Rewrite("a", STARTS, 1.5, "literal", "other"),
    Rewrite("tl.zeros(s, dtype=t)", tuple(f"tl.full({{s}}, {v}, dtype={{t}})" for v in STARTS[1:]), 1.3, "literal"),
    Rewrite("tl.zeros(s, t)", tuple(f"tl.full({{s}}, {v}, {{t}})" for v in STARTS[1:]), 1.3, "literal"),
    Rewrite("c", ("0", "1"), 1.8, "literal", "", "whole"),
    Rewrite("c", ("{NEAR}",), 2.0, "literal", "", "float"),
    Rewrite("c", ("{SELF}",), 1.0, "literal", "", "host"),
    # loops
    Rewrite("range(a, b)", ("range({b})",), 1.0, "bound"),
    Rewrite("range(a)", ("range({SIZE})",), 1.4, "bound"),
    Rewrite("range(a, b, s)", ("range({a}, {SIZE}, {s})", "range({a}, {b})"), 1.3, "bound"),
    Rewrite("min(a, b)", ("{a}", "{b}", "max({a}, {b})"), 1.3, "bound"),
    Rewrite("max(a, b)", ("{a}", "{b}", "min({a}, {b})"), 1.5, "bound"),
    # the host
    Rewrite("a.sum()", ("{a}.mean()", "{a}.sum() / {SIZE}"), 1.0, "factor", "", "host"),
    Rewrite("a.mean()", ("{a}.sum()",), 1.4, "factor", "", "host"),
    Rewrite("a.numel()", ("{a}.shape[0]", "{a}.shape[-1]"), 1.4, "factor", "", "host"),
    Rewrite("a.shape[0]", ("{a}.numel()",), 1.6, "factor", "", "host"),
    Rewrite("a", ("{a} / {SIZE}",), 1.8, "factor", "returned"),
    Rewrite("a // b", ("triton.cdiv({a}, {b})",), 0.9, "launch", "", "host"),
    Rewrite("a", ("torch.empty_like({a})",), 0.8, "host", "assigned", "POINTER"),
    Rewrite("a", ("{a} * {SIZE}",), 1.8, "launch", "grid"),
    Rewrite("a", ("triton.next_power_of_2({SIZE})", "triton.next_power_of_2({a})"), 1.0, "launch", "whole"),
    Rewrite("a", ("triton.next_power_of_2({SIZE})", "triton.next_power_of_2({a})"), 1.8, "launch", "step"),
    Rewrite("c", ("16", "32", "64", "128"), 1.3, "launch", "block"),
    Rewrite("a", ("{a}.contiguous()",), 1.6, "launch", "argument", "POINTER"),
)  # fmt: skip
