"""Rewrites of a Triton program's expressions as data: a pattern in Python, what it may become, and how unlikely that is.

In a pattern a single small letter stands for any expression, `c` for a number, and no letter at all for what plays a
role (`stored`, `mask`). In what it becomes `{a}` is what the letter stood for, in parentheses where it needs them, and
`{SIZE}` each name of that kind in scope (`{REAL}` those that the expression lacks); `{INSIDE}` is each index in the expression itself, `{IDLE}` each that nothing uses, `{BOUND}`
each comparison of the kernel that it lacks, and `{TARGET}` the name that a loop assigns it to.
"""

from __future__ import annotations

from grader.repair.candidates.candidate import Touches
from grader.repair.candidates.pattern import Rewrite
from grader.repair.candidates.triton.roles import Role
from grader.repair.candidates.triton.scope import Site

INFINITY = 'float("inf")'
STARTS = ("0.0", f"-{INFINITY}", INFINITY, "1.0")


def _row(
    pattern: str, become: tuple[str, ...], cost: float, touches: Touches, role: Role = "", kind: str = ""
) -> Rewrite:  # fmt: skip
    """Return what an expression that plays a role, and is of a kind, may have been meant to be.

    `kind` is what it has to be: a name of a kind, `number`s that are computed with and are no places, an `index` that
    isn't, what a kernel assigns to a `real` number, a `whole` number or a `float`, part of the `host` or of a `kernel`;
    empty for anything. Where an operation is left out, or a power is another one, it is so all over a statement.
    """

    def fits(site: Site) -> bool:
        plays = not role or role in site.scope.roles.get(site.node, ())
        return plays and site.scope.is_of(kind, site.node)

    return Rewrite(
        pattern, become, cost, touches, (fits,), together=become == ("{a}",) or touches == "degree"
    )


REWRITES = (
    # a count, a root, a factor
    _row("a / (n - c)", ("{a} / {n}",), 0.6, "factor"),
    _row("a / (n + c)", ("{a} / {n}",), 0.6, "factor"),
    _row("a / n", ("{a}", "{a} / ({n} - 1)", "{a} * {n}"), 2.0, "factor"),
    _row("a / n", ("{a} / {SIZE}",), 1.6, "factor"),
    _row("a * b", ("{a} / {b}",), 2.0, "factor", "", "number"),
    _row("a * b", ("{a}", "{b}"), 2.2, "factor", "", "number"),
    _row("a", ("{a} + {REAL}", "{a} - {REAL}"), 2.2, "shift", "assigned", "real"),
    _row("tl.sqrt(a)", ("{a}", "1.0 / tl.sqrt({a})", "tl.sqrt({a} + {REAL})"), 1.6, "degree"),
    _row("tl.sqrt(a + e)", ("tl.sqrt({a}) + {e}",), 1.6, "degree"),
    _row("tl.sqrt(a) + e", ("tl.sqrt({a} + {e})",), 1.2, "degree"),
    _row("tl.rsqrt(a)", ("tl.sqrt({a})", "1.0 / {a}"), 1.6, "degree"),
    _row("a", ("tl.sqrt({a})",), 1.6, "degree", "assigned", "real"),
    _row("a", ("{a} * {a}",), 1.6, "degree", "assigned", "real"),
    _row("1.0 / a", ("1.0 / tl.sqrt({a})",), 1.2, "degree", "", "kernel"),
    _row("tl.sum(a, i)", ("tl.sum({a}, {i}) / {SIZE}",), 1.4, "factor"),
    _row("tl.sum(a, i)", ("tl.sqrt(tl.sum({a}, {i}))",), 1.4, "degree"),
    _row("tl.sum(a, axis=i)", ("tl.sum({a}, axis={i}) / {SIZE}",), 1.4, "factor"),
    _row("tl.sum(a, axis=i)", ("tl.sqrt(tl.sum({a}, axis={i}))",), 1.4, "degree"),
    _row("a", ("{a} / {REAL}", "{a} / {REAL}[:, None]"), 1.7, "factor", "assigned", "real"),
    _row("a", ("{a} / {REAL}", "{a} / {SIZE}", "tl.sqrt({a})", "{a} * {REAL}"), 1.8, "factor", "stored"),
    _row("a", ("{a} * {REAL}",), 1.9, "factor", "term", "number"),
    _row("a", ("2 * {a}",), 2.4, "factor", "term"),
    _row("a", ("tl.maximum({a}, 0.0)", "tl.abs({a})", "tl.log({a})", "tl.exp({a})"), 2.4, "value", "assigned", "real"),
    _row("a", ("tl.maximum({a}, 0.0)", "tl.abs({a})", "tl.log({a})", "tl.exp({a})"), 2.6, "value", "stored"),
    _row("a", ("{a} * {REAL}[:, None]", "{a} * {REAL}[None, :]"), 1.9, "factor", "stored"),
    # a sum
    _row("a", ("{TARGET} + {a}",), 0.7, "store"),
    _row("tl.dot(a, b)", ("tl.dot({a}, {b}, {TARGET})",), 0.7, "store"),
    _row("a + b", ("{a} - {b}",), 1.8, "shift", "", "number"),
    _row("a - b", ("{a} + {b}",), 1.6, "shift", "", "number"),
    _row("a - b", ("{a} - {b} * {b}",), 1.5, "degree", "", "number"),
    _row("a - c", ("{a}",), 0.9, ""),
    _row("a + c", ("{a}",), 1.2, ""),
    _row("a + b", ("{a}", "{b}"), 2.4, "shift", "", "number"),
    _row("a - b", ("{a}", "{b} - {a}"), 2.2, "shift", "", "number"),
    _row("tl.exp(a)", ("tl.exp({a} - {REAL})",), 1.6, "shift"),
    # places
    _row("a // b", ("{a} % {b}", "{a} // {b} % {SIZE}"), 1.4, "index"),
    _row("a % b", ("{a} // {b}", "{a} // {b} % {SIZE}", "{a} // {SIZE} % {b}"), 1.2, "index"),
    _row("a // b % c", ("{a} % {b}", "{a} // {b}"), 1.4, "index"),
    _row("a // c", ("{a}",), 1.3, "index"),
    _row("tl.arange(0, n)", ("{INDEX}",), 1.5, "index"),
    _row("a", ("{a} + {INDEX}",), 1.2, "index", "pointer", "POINTER"),
    _row("p + i", ("{p} + {INDEX}",), 1.2, "index", "pointer"),
    _row("p + r * n + i", ("{p} + {r} * {SIZE} + {i}",), 1.1, "index", "pointer"),
    _row("a + b", ("{a} * {SIZE} + {b}",), 1.5, "index", "", "index"),
    _row("a * n + b", ("{b} * {SIZE} + {a}",), 1.3, "index", "", "index"),
    _row("a", ("{a} * {SIZE}",), 1.1, "bound", "assigned", "SIZE"),
    _row("a * b", ("{a} * {SIZE} * {b}", "{a}"), 1.5, "index", "", "index"),
    _row("a", ("{SIZE}",), 1.4, "index", "", "SIZE"),
    _row("a", ("{INDEX}",), 1.6, "index", "", "INDEX"),
    _row("a", ("{IDLE} * {SIZE} + {a} % {SIZE}",), 1.6, "index", "", "INDEX"),
    _row("a", ("{POINTER}",), 1.9, "index", "", "POINTER"),
    _row("a", ("{REAL}",), 2.1, "value", "", "REAL"),
    _row("a[:, None]", ("{a}[None, :]",), 1.5, "index"),
    _row("a[None, :]", ("{a}[:, None]",), 1.5, "index"),
    # conditions
    _row("a < b", ("{a} <= {b}", "{a} > {b}"), 1.7, "bound"),
    _row("a <= b", ("{a} < {b}", "{a} >= {b}"), 1.5, "bound"),
    _row("a > b", ("{a} >= {b}", "{a} < {b}"), 1.7, "bound"),
    _row("a >= b", ("{a} > {b}", "{a} <= {b}"), 1.7, "bound"),
    _row("a == b", ("{a} != {b}",), 2.2, "bound"),
    _row("a & b", ("{a}", "{b}"), 1.9, "bound"),
    _row("a", ("({a}) & ({INSIDE} >= 0)",), 1.1, "guard", "mask"),
    _row("a", ("({a}) & ({BOUND})",), 1.1, "guard", "mask"),
    _row("tl.where(m, a, b)", ("tl.where({m}, {b}, {a})", "{a}"), 1.5, "value"),
    _row("tl.where(m, a, c)", tuple(f"tl.where({{m}}, {{a}}, {start})" for start in STARTS), 1.4, "literal"),
    _row("tl.where(m, c, a)", tuple(f"tl.where({{m}}, {start}, {{a}})" for start in STARTS), 1.4, "literal"),
    _row("tl.load(p)", ("tl.load({p}, mask={BOUND})",), 1.0, "guard"),
    _row("tl.store(p, v)", ("tl.store({p}, {v}, mask={BOUND})",), 1.0, "guard"),
    _row("tl.atomic_add(p, v)", ("tl.atomic_add({p}, {v}, mask={BOUND})",), 1.0, "guard"),
    _row("tl.histogram(a, n)", ("tl.histogram({a}, {n}, mask={BOUND})",), 0.8, "guard"),
    # an operation
    _row("tl.maximum(a, b)", ("tl.minimum({a}, {b})",), 1.3, "value"),
    _row("tl.minimum(a, b)", ("tl.maximum({a}, {b})",), 1.3, "value"),
    _row("tl.max(a, axis=i)", ("tl.min({a}, axis={i})", "tl.sum({a}, axis={i})"), 1.6, "value"),
    _row("tl.min(a, axis=i)", ("tl.max({a}, axis={i})",), 1.4, "value"),
    _row("tl.sum(a, axis=i)", ("tl.max({a}, axis={i})",), 1.9, "value"),
    _row("tl.relu(a)", ("tl.maximum({a}, 0.0)",), 0.5, "value"),
    _row("tl.tanh(a)", ("(2.0 * tl.sigmoid(2.0 * {a}) - 1.0)",), 0.5, "value"),
    _row("tl.math.tanh(a)", ("(2.0 * tl.sigmoid(2.0 * {a}) - 1.0)",), 0.5, "value"),
    _row("tl.silu(a)", ("({a} * tl.sigmoid({a}))",), 0.5, "value"),
    _row("tl.softplus(a)", ("tl.log(1.0 + tl.exp({a}))",), 0.5, "value"),
    _row("tl.square(a)", ("({a} * {a})",), 0.5, "value"),
    _row("tl.pow(a, b)", ("tl.exp2({b} * tl.log2({a}))", "({a} * {a})"), 0.5, "value"),
    _row("tl.mean(a, axis=i)", ("(tl.sum({a}, axis={i}) / {SIZE})",), 0.5, "value"),
    _row("tl.mean(a, i)", ("(tl.sum({a}, {i}) / {SIZE})",), 0.5, "value"),
    _row("tl.exp2(a)", ("tl.exp({a})",), 1.1, "value"),
    _row("tl.log2(a)", ("tl.log({a})",), 1.1, "value"),
    _row("a", ("tl.trans({a})",), 1.4, "index", "operand", "kernel"),
    _row("tl.trans(a)", ("{a}",), 1.4, "index"),
    _row("tl.dot(a, b)", ('tl.dot({a}, {b}, input_precision="ieee")',), 1.0, "value"),
    _row("tl.dot(a, b, c)", ('tl.dot({a}, {b}, {c}, input_precision="ieee")',), 1.0, "value"),
    # types
    _row("tl.float16", ("tl.float32",), 0.9, "value"),
    _row("tl.bfloat16", ("tl.float32",), 0.9, "value"),
    _row("tl.int32", ("tl.float32", "tl.int64"), 1.1, "value"),
    _row("torch.float16", ("torch.float32",), 1.2, "host"),
    _row("torch.bfloat16", ("torch.float32",), 1.2, "host"),
    _row("a.to(t)", ("{a}",), 1.7, "value"),
    *(_row(f"a.to(tl.{whole})", (f"tl.floor({{a}} + 0.5).to(tl.{whole})",), 1.2, "value") for whole in ("int8", "uint8", "int32")),
    *(_row(f"(a {sign} b).to(t)", (f"{{a}}.to({{t}}) {sign} {{b}}.to({{t}})",), 0.9, "value") for sign in "+-*"),
    # axes
    *(_row(f"tl.{function}(a, axis={axis})", (f"tl.{function}({{a}}, axis={1 - axis})",), 1.4, "index")
      for function in ("sum", "max", "min", "argmax", "argmin", "cumsum") for axis in (0, 1)),
    # numbers
    _row("a", STARTS, 1.3, "literal", "start"),
    _row("a", STARTS, 1.5, "literal", "other"),
    _row("tl.zeros(s, dtype=t)", tuple(f"tl.full({{s}}, {v}, dtype={{t}})" for v in STARTS[1:]), 1.3, "literal"),
    _row("tl.zeros(s, t)", tuple(f"tl.full({{s}}, {v}, {{t}})" for v in STARTS[1:]), 1.3, "literal"),
    _row("c", ("0", "1"), 1.8, "literal", "", "whole"),
    _row("c", ("{NEAR}",), 2.0, "literal", "", "float"),
    _row("c", ("{SELF}",), 1.0, "literal", "", "host"),
    _row("c", ("{SIZE} ** -0.5",), 1.4, "factor", "argument"),
    _row("a", ("{SIZE}",), 1.0, "host", "allocated"),
    *(_row(f"torch.{made}(a{of})", (f"torch.{made}({{a}}{of and ', dtype={t}'}, device={{POINTER}}.device)",), 0.5, "launch", "", "host")
      for made in ("empty", "zeros") for of in ("", ", dtype=t")),
    # loops
    _row("range(a, b)", ("range({b})",), 1.0, "bound"),
    _row("range(a)", ("range({SIZE})",), 1.4, "bound"),
    _row("range(a, b, s)", ("range({a}, {SIZE}, {s})", "range({a}, {b})"), 1.3, "bound"),
    _row("min(a, b)", ("{a}", "{b}", "max({a}, {b})"), 1.3, "bound"),
    _row("max(a, b)", ("{a}", "{b}", "min({a}, {b})"), 1.5, "bound"),
    # the host
    _row("a.sum()", ("{a}.mean()", "{a}.sum() / {SIZE}"), 1.0, "factor", "", "host"),
    _row("a.mean()", ("{a}.sum()",), 1.4, "factor", "", "host"),
    _row("a.numel()", ("{a}.shape[0]", "{a}.shape[-1]"), 1.4, "factor", "", "host"),
    _row("a", ("{a} / {SIZE}",), 1.8, "factor", "returned"),
    _row("a // b", ("triton.cdiv({a}, {b})",), 0.9, "launch", "", "host"),
    _row("a", ("torch.empty_like({a})",), 0.8, "host", "assigned", "POINTER"),
    _row("a", ("{a} * {SIZE}",), 1.8, "launch", "grid"),
    _row("a", ("triton.next_power_of_2({SIZE})", "triton.next_power_of_2({a})"), 1.0, "launch", "whole"),
    _row("a", ("triton.next_power_of_2({SIZE})", "triton.next_power_of_2({a})"), 3.2, "launch", "step"),
    _row("c", ("16", "32", "64", "128"), 1.3, "launch", "block"),
    _row("a", ("{a}.contiguous()",), 1.6, "launch", "argument", "POINTER"),
    _row("a", ("{a}.transpose(0, 1).contiguous()", "{a}.transpose(-1, -2).contiguous()"), 1.8, "host", "argument", "POINTER"),
    _row("a", ("{SELF}",), 2.2, "host", "argument", "SELF"),
)  # fmt: skip
