"""The slips that an expression may be, as rewrites: what an author wrote, what may have been meant, how unlikely that is.

A rewrite is added here, in the table of what it touches; `pattern` says how to read one, `holes` what the capital names
stand for, `sites` what the conditions ask.
"""

from __future__ import annotations

import re
from functools import partial

from grader.repair.candidates.cuda import holes as these
from grader.repair.candidates.cuda.scope import Site, parts, stored_in
from grader.repair.candidates.cuda.sites import (
    axes_of,
    calls,
    device,
    host,
    in_index,
    in_loop_head,
    integer,
    is_a,
    is_added_up,
    is_addend,
    is_block_size,
    is_grid_size,
    is_index,
    is_launch_size,
    is_made,
    is_outermost,
    is_stored,
    is_truncated,
    is_value,
    is_whole_condition,
    kind,
    kind_of,
    launched_text,
    node_is,
    not_,
    real,
)
from grader.repair.candidates.pattern import Cost, Rewrite, Where
from grader.source.cuda_code import text

NAME = r"\(?[A-Za-z_]\w*\)?"


def _rows(touches: str, *rows: tuple[str, str, float | Cost], where: tuple[Where, ...] = ()) -> tuple[Rewrite, ...]:  # fmt: skip
    return tuple(Rewrite(a, (b,), cost, touches, where) for a, b, cost in rows)  # type: ignore[arg-type]


# ---------------------------------------------------------------- bounds and loops


def _other_way(site: Site, _: str) -> float:
    return 2.5 if kind_of(site, "a") == "real" else 4.0


BOUNDS = (
    *_rows(
        "bound",
        *((f"a {one} b", f"{{a}} {other} {{b}}", 1.0) for one, other in (("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"))),
        *((f"a {one} b", f"{{a}} {other} {{b}}", _other_way) for one, other in (("<", ">"), (">", "<"), ("<=", ">="), (">=", "<="))),
        *((f"a {sign} s {than} n", "{a} < {n}", 2.5) for sign in "+-" for than in ("<", "<=")),
        ("a == b", "{a} != {b}", 4.0),
        ("a != b", "{a} == {b}", 4.0),
        ("a || b", "{a} && {b}", 3.0),
    ),
    *_rows(
        "guard",
        *((f"a {joined} b", f"{{a}} {joined} {{b}} && {{MISSING}}", lambda _, name: 3.0 if ">=" in name else 1.5) for joined in ("&&", ">=", "<")),
        where=(is_whole_condition,),
    ),
    *_rows(
        "bound",
        ("a += b", "{a} += {STEP}", 2.5),
        *((step, "{a} += {STEP}", 3.0) for step in ("a++", "++a")),
        where=(in_loop_head, device),
    ),
)  # fmt: skip

# ---------------------------------------------------------------- operators and formulas

SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}


def _without(site: Site, _: str) -> float:
    one, whole = site.text("b") == "1", kind_of(site, "b") == "integer"
    return 1.5 if one else 2.5 if whole and site.text("b").isdigit() else 4.0


def _cost_undivided(site: Site, _: str) -> float:
    return (
        2.5 if site.scope.kind_of(site.node) == "real" and kind_of(site, "b") == "integer" else 3.5
    )


def _cost_summed(site: Site, _: str) -> float:
    array = stored_in(site.node)
    return 2.0 if not array or site.text("b").startswith(f"{array}[") else 4.0


def _cost_inverted(site: Site, _: str) -> float:
    return 1.5 if host(site) and real(site) else 4.0  # how an image is scaled


def _other_sign(site: Site, _: str) -> float:
    return 2.0 if real(site) and device(site) else 3.0


def _numeric(site: Site) -> bool:
    return bool(kind_of(site, "a") or kind_of(site, "b")) and not in_loop_head(site)


OPERATORS = (
    Rewrite("a / b", ("{b} / {a}",), _cost_inverted, "", together=True),
    *_rows(
        "",
        *((f"a {one} b", f"{{a}} {other} {{b}}", _other_sign) for one, other in SIGNS.items()),
        ("a - b", "{b} - {a}", 4.0),
        *((f"a {sign} b", "{a}", _without) for sign in "+-"),
        ("a * b", "{a}", 3.5),
        ("a / b", "{a}", _cost_undivided),
        ("-a", "{a}", 4.0),
        ("!a", "{a}", 4.0),
        ("c ? a : b", "{c} ? {b} : {a}", 3.0),
        ("c ? a : b", "({a})", 3.5),
        ("c ? a : b", "({b})", 3.5),
    ),
    *_rows("launch", ("a / b", "({a} + {b} - 1) / {b}", 1.2), where=(integer, not_(is_a("a", r".*- 1\)?")))),
    *_rows("launch", ("a / b", "({a} / {b} + 1)", 2.5), where=(integer, host)),
    *_rows(
        "store",
        ("a = b", "{a} += {b}", _cost_summed),
        ("a = b", "{a} *= {b}", lambda site, _: 6.0 if stored_in(site.node) else 4.0),
        *((f"a {one} b", f"{{a}} {other} {{b}}", 3.0) for one in ("+=", "*=", "-=") for other in ("=", "+=", "-=", "*=") if one != other),
        where=(_numeric,),
    ),
)  # fmt: skip

PAIRS = [("fmax", "fmin"), ("max", "min")]
OPPOSITES = [
    *((f"{one}{f}(a, b)", f"{other}{f}({{a}}, {{b}})") for a, b in PAIRS for one, other in ((a, b), (b, a)) for f in (("f", "") if a == "fmax" else ("",))),
    *((f"{one}{f}(a)", f"{other}{f}({{a}})") for a, b in (("sqrt", "rsqrt"), ("exp", "expm1"), ("log", "log1p"), ("sin", "cos"), ("floor", "ceil")) for one, other in ((a, b), (b, a)) for f in ("f", "")),
    *((f"__shfl_{one}_sync(a, b, c{more})", f"__shfl_{other}_sync({{a}}, {{b}}, {{c}}{more and ', {d}'})") for one, other in (("down", "xor"), ("up", "down")) for more in ("", ", d")),
]  # fmt: skip
ROOTS = ("sqrtf", "sqrt", "rsqrtf", "rsqrt")
AS_BITS = "({v} >= 0.0f ? atomic%s({a}, __float_as_int({v})) : (int)atomic%s((unsigned int*)({a}), __float_as_uint({v})))"
"""The largest or smallest float by its bits: of negative ones the larger bits are the smaller number."""
FORMULAS = (
    *_rows("value", *((f"atomic{one}(a, __float_as_int(v))", AS_BITS % (one, other), 1.0) for one, other in (("Max", "Min"), ("Min", "Max")))),
    *_rows("value", *((one, other, 2.5) for one, other in OPPOSITES)),
    *_rows("degree", *((f"{name}(a)", "{a:f}", 4.0) for name in ("fabsf", "fabs", "expf", "logf", "sqrtf", "rsqrtf", "tanhf"))),
    *_rows("degree", *((f"{name}(a)", "({a:f} * {a:f})", 2.0) for name in ("fabsf", "fabs", "abs")), where=(device,)),
    *_rows(
        "value",
        *((f"{name}(a) + b", f"{name}({{a}} + {{b}})", 1.5) for name in ROOTS),
        *((f"tanh{f}(c * (v + k * v * v * v))", "erff({v:f} * 0.70710678118654752f)", 1.5) for f in ("f", "")),
        *((f"tanh{f}(a)", "erff({REAL} * 0.70710678118654752f)", 2.0) for f in ("f", "")),
        *((f"erf{f}(v * c)", "tanhf(0.7978845608028654f * ({v} + 0.044715f * {v:f} * {v:f} * {v:f}))", 1.5) for f in ("f", "")),
    ),
    *_rows(
        "factor",
        ("v", "{v:f} / {ANYSIZE}", 1.5),
        ("v", "{v:f} / {NEAR}", 2.0),
        ("v", "-{v:f}", 2.5),
        ("v", "{v:f} * {ANYSIZE}", 3.0),
        ("v", "{v:f} * {GIVEN}", 3.0),
        where=(is_stored,),
    ),
    *_rows("shift", ("v", "{v:f} + {IDLE}", 1.5), ("v", "{v:f} + {GIVEN}", 3.5), where=(is_stored,)),
    *_rows("degree", ("v", "sqrtf({v})", 3.5), where=(is_stored,)),
    *_rows("shift", *(("v", f"({{v:t}} {sign} {{REAL}})", 3.0) for sign in "-+"), where=(is_value,)),
    *_rows("shift", *(("a * b", f"{{a}} * {{b}} {sign} 0.5f", 2.3) for sign in "-+"), where=(is_value,)),
    *_rows("factor", *(("v", f"({{v:f}} {sign} {{REAL}})", 3.0) for sign in "/*"), ("v", "({v:f} / {SIZE})", 2.5), where=(is_value,)),
    *_rows("degree", ("v", "{v} * {v}", 2.5), where=(is_added_up, device)),
    *_rows("degree", ("f(a)", "{a} * {f}({a})", 3.0), where=(real, device, is_a("a", NAME))),
    *_rows("degree", ("a * b", "{a} * {b} * {b}", 3.0), where=(real, device, is_a("b", NAME))),
    *_rows("degree", ("f(a + b)", "({f}({a}) + {b})", 2.0), ("f(a + b)", "({a} + {f}({b}))", 2.5), where=(real, device)),
    *_rows("value", ("v", "rintf({v})", 1.0), where=(is_truncated,)),
    *_rows("factor", ("a", "({CONDITION} ? {a} : 1.0f - {a})", 2.5), where=(node_is("identifier"), real, device)),
    *_rows("factor", ("a = a + b", "{a} = {a} * {REAL} + {b}", 2.0), ("a += b", "{a} = {a} * {REAL} + {b}", 3.0), where=(device, kind("a", "real"), is_a("a", NAME))),
    *_rows("factor", ("a", "{a} * {DIVISOR} / ({DIVISOR} - 1)", 1.8), where=(node_is("identifier"), real, device)),
    *_rows("degree", ("a / b", "{a} / sqrt({b})", 2.5), where=(real, device, kind("b", "real"))),
    *_rows("degree", ("a / b", "{a} / sqrt((float)({b}))", 2.5), where=(real, device, not_(kind("b", "real")))),
    *_rows("shift", *((f"a {sign} b", f"{{a}} {sign} 0.5f * {{b:f}}", 3.0) for sign in "-+"), where=(real, device)),
    *_rows("degree", ("a - b", "sqrt({a}) - sqrt({b})", 3.0), where=(real, is_a("a", NAME), is_a("b", NAME))),
    *_rows(
        "factor",
        *((f"a * s {sign} b", f"({{a}} {sign} {{b}}) * {{s:f}}", 2.5) for sign in "+-"),
        *((f"(a {sign} b) * s", f"{{a}} * {{s:f}} {sign} {{b:f}}", 2.5) for sign in "+-"),
        where=(real, device),
    ),
    *_rows("factor", ("a / b", "{a} / ({b} - 1)", 4.0), ("a / b", "{a} / (2 * {b})", 2.6), ("a / b", "{a} / (4 * {b})", 3.0), where=(not_(integer), is_a("b", NAME))),
    *_rows(
        "factor",
        ("a / b", "{a} / {SIZE}", 2.6),
        ("a / b", "{a} / {NEAR}", 2.6),
        ("a / b", "{a} / ({ANYSIZE} * {ANYSIZE})", 2.8),
        ("a / b", "{a} / ({ANYSIZE} * {ANYSIZE} * {ANYSIZE})", 3.0),
        where=(real, device, not_(kind("b", "real"))),
    ),
)  # fmt: skip

# ---------------------------------------------------------------- names, indices and numbers


def _other_name(site: Site, name: str) -> float:
    if these.rest_of(site, name) or these.share_of(site, name):
        return 1.9
    one, other = _words(site.words), _words(name)
    if one > other or one < other:
        return 1.9  # `effective_padding` for `padding`
    return 2.5 if one & other or max(len(site.words), len(name)) <= 2 else 4.0


def _words(name: str) -> set[str]:
    return set(re.split(r"_|(?<=[a-z])(?=[A-Z])", name))


def _cost_of_field(site: Site, name: str) -> float:
    """Return what another field costs: names of one axis end alike, as in `ow * shape.sw`."""
    left, _, right = parts(site.node.parent) if site.node.parent else ("", "", "")
    beside = right if left == site.words else left
    return 1.5 if beside[-1:] == name[-1:] else 2.5


def _cost_turned(site: Site, size: str) -> float:
    index = re.split(r"\W+", site.text("a"))[-1]
    below = rf"\b{index}\s*<\s*{size}\b|\b{index}\s*=[^;=]*%\s*{size}\b"
    fits = index.lower() == size.lower() or re.search(below, text(site.scope.body))  # `h * W + w`
    return 2.0 if fits else 2.8 if size == site.text("s") else 3.2


def _second_axis(site: Site, axis: str) -> bool:
    """Whether a thread may look at another axis; of a block that has no second one the size is 1."""
    flat = site.words.startswith(("blockDim", "gridDim")) and not axes_of(site, axis)
    return device(site) and not flat


IS_NAME: tuple[Where, ...] = (node_is("identifier"),)
COORDINATES = {"threadIdx": "blockIdx", "blockDim": "gridDim"}
CASTS = ("", "(size_t)", "(int64_t)", "(long long)")
INDICES = (
    *_rows("index", ("a", "{MEANT}", _other_name), where=(*IS_NAME, integer, in_index)),
    *_rows("", ("a", "{TWIN}", 2.0), where=IS_NAME),
    *_rows("index", ("a", "{FIELD}", _cost_of_field), where=(node_is("field_expression"), integer)),
    *_rows("index", ("a", "{SHARE}", 1.5), where=(*IS_NAME, integer)),
    *_rows("index", ("a", "{POINTER}", 4.0), where=IS_NAME),
    *_rows("index", ("a", "{OTHERAXIS}", 2.4), where=(*IS_NAME, in_index)),
    *_rows(
        "index",
        *((f"{one}.{x}", f"{other}.{x}", 4.0) for a, b in COORDINATES.items() for one, other in ((a, b), (b, a)) for x in "xyz"),
        ("threadIdx.x", "(blockIdx.x * blockDim.x + threadIdx.x)", 3.5),
        *((f"{one}.{x}", "{IDLESIZE}", 2.5) for one in ("gridDim", "blockDim") for x in "xyz"),
        where=(device,),
    ),
    *(row for one in ("threadIdx", "blockIdx", "blockDim", "gridDim") for x, y in ("xy", "yx")
      for row in _rows("index", (f"{one}.{x}", f"{one}.{y}", 4.0), where=(partial(_second_axis, axis=y),))),
    *_rows("index", ("a", "{a} * {SIZE}", 2.5), where=(is_addend,)),
    *_rows("index", ("a % b", "({a} / {SIZE}) % {b}", 2.2), where=(device,)),
    *_rows("index", ("a % b", "({a} % {b} + {b}) % {b}", 1.5), where=(integer, is_a("a", r".*-.*"))),
    *_rows("index", ("a", "{NEAR}", 3.5), ("a", "{a} - 1", 2.4), ("a", "{a} + 1", 2.8), where=(is_index,)),
    *_rows(
        "index",
        *((f"{cast}a * s + b", f"{cast}{{b:f}} * {{ANYSIZE}} + {{a}}", _cost_turned) for cast in CASTS[1:]),
        ("a * s + b", "{b:f} * {ANYSIZE} + {a}", lambda site, size: 9.0 if site.bound["a"].type == "cast_expression" else _cost_turned(site, size)),
        ("a * s + b", "{b:f} * {s} + {a}", _cost_turned),
        ("x + a * s + b", "{x} + {b:f} * {s} + {a}", 2.0),
        ("(x * h + i) * w + j", "({x} * {w} + {i}) * {h} + {j}", 2.5),
        ("(x * h + i) * w + j", "({x} * {h} + {j}) * {w} + {i}", 2.5),
        where=(integer,),
    ),
    *_rows("index", ("&a[i]", "{a}", 2.2)),
    *_rows("index", ("a", "{RENAMED}", 2.0), where=(is_outermost,)),
    *_rows("index", ("t[a][b]", "{t}[{b}][{a}]", 2.5)),
    *_rows("index", ("a", "{a} + {SIZE} - {ANYSIZE}", 1.3), where=(is_made, device, *IS_NAME)),
    *_rows(
        "index",
        ("v", "{v} - {SIZE}", 3.0),
        ("v", "{v} + {SIZE}", 3.5),
        ("v", "{v:f} * {SIZE}", 3.5),
        where=(is_made, device),
    ),
    *_rows("index", ("v", "{v} + 1", 2.4), ("v", "{v} - 1", 2.4), where=(is_made, device, not_(node_is("number_literal")))),
    *_rows("literal", ("a", "{NUMBER}", lambda site, name: these.numbers(site)[name]), where=(node_is("number_literal"),)),
    *_rows("literal", ("a", "{a}.0f", 1.0), where=(node_is("number_literal"), these.in_real_expression)),
    *_rows("literal", *((zero, "{IDLE}", 1.5) for zero in ("0.0f", "0.f", "0.0"))),
    *_rows("literal", *((f"a * {tile}", "{a} * {SIZE}", 2.5) for tile in (32, 16, 256)), where=(integer, device)),
)  # fmt: skip

# ---------------------------------------------------------------- host code: launches, sizes, tensors

MOVED = frozenset({"permute", "transpose", "t", "movedim", "swapaxes", "expand", "expand_as", "select", "slice", "narrow"})  # fmt: skip
"""Methods after which the elements no longer lie in memory in their order."""


def _not_a_method_of_more(site: Site) -> bool:
    return site.node.parent is None or site.node.parent.type != "field_expression"


def _near(site: Site, dim: str) -> float:
    known = site.text("d").isdigit() and abs(int(site.text("d")) - int(dim)) == 1
    return 2.0 if known else 3.0


def _cost_counted(site: Site, name: str) -> float:
    known = name in site.scope.constants and re.search(rf"\b{name}\b", launched_text(site))
    return 2.0 if known else 3.5


HOST = (
    *_rows(
        "launch",
        ("a", "{LAUNCHED}", 3.5),
        ("a", "{a} * {LAUNCHED}", _cost_counted),
        where=(is_launch_size,),
    ),
    *_rows(
        "launch",
        ("a", "dim3({a}, {a})", lambda site, _: 0.8 if "threadIdx.y" in launched_text(site) else 2.5),
        where=(is_block_size,),
    ),
    *_rows("launch", ("a", "{INTEGER} * {a}", 1.6), where=(is_grid_size,)),
    *_rows(
        "host",
        ("t.size(d)", "{t}.size({d}) * {t}.size({DIM})", _near),
        ("t.size(d)", "{t}.size({AXIS})", 2.5),
        ("t.size(d)", "{t}.numel()", 3.5),
        ("true", "false", 3.0),
        ("false", "true", 3.0),
        ("t.defined()", "{t}.defined() && {t}.numel() > 0", 1.2),
        ("t.has_value()", "{t}.has_value() && {t}.value().numel() > 0", 1.2),
        *((f"{space}::{one}(a{more})", f"{space}::{other}({{a}}{more and ', {b}'})", 1.5) for space in ("torch", "at") for one, other in (("empty", "zeros"), ("empty_like", "zeros_like")) for more in ("", ", b")),
        where=(host,),
    ),
    *_rows("host", ("v", "{v:f} * {INTEGER}", 3.0), ("v", "{v} + 1", 3.0), ("v", "{v} - 1", 3.5), where=(is_made, host)),
    *_rows("factor", ("a / b", "{a} / {LENGTH}", 2.0), ("a / t.size(d)", "{a} / {t}.numel()", 1.5), where=(host, not_(integer))),
    *_rows("host", ("v", "{v}.contiguous()", 1.2), where=(calls(MOVED), _not_a_method_of_more, host)),
    *_rows("shape", ("f(a)", "{f}({SHAPE})", 3.0), ("f(a, o)", "{f}({SHAPE}, {o})", 3.0), where=(host,)),
)  # fmt: skip

REWRITES: tuple[Rewrite, ...] = (*BOUNDS, *OPERATORS, *FORMULAS, *INDICES, *HOST)
