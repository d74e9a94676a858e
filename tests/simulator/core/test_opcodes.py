"""Instructions against exact references: wrap-around, wide shifts, NaN, infinities, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .harness import Simulator
from .ptx_bench import apply
from .reference import BF16, F16, F32, F64, FORMATS, Format, as_float, root

relaxed = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def patterns(width: int, size: int = 64) -> st.SearchStrategy[list[int]]:
    """Bit patterns with the edges of integers and of floating-point formats among them."""
    top = (1 << width) - 1
    edges = {
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        63,
        64,
        65,
        255,
        top,
        top - 1,
        top >> 1,
        (top >> 1) + 1,
        (top >> 1) - 1,
    }
    for form in FORMATS.values():
        if form.bits == width:
            one = form.encode(Fraction(1))
            for code in (
                one,
                one + 1,
                one - 1,
                form.infinity,
                form.infinity - 1,
                form.infinity + 1,
                1 << form.mantissa,
                (1 << form.mantissa) - 1,
            ):
                edges |= {code, code | 1 << (width - 1)}
    pick = st.one_of(st.sampled_from(sorted(e & top for e in edges)), st.integers(0, top))
    return st.lists(pick, min_size=size, max_size=size)


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def bounded(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def divide(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a if b == 0 else a - divide(a, b) * b


INTEGER: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
    "div": divide, "rem": remainder, "min": min, "max": max,
    "mad.lo": lambda a, b, c: a * b + c, "sad": lambda a, b, c: c + abs(a - b),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("op", INTEGER)
def test_integer(op: str, kind: str, simulator: Simulator) -> None:
    width, reference = int(kind[1:]), INTEGER[op]
    arity = reference.__code__.co_argcount if hasattr(reference, "__code__") else 2
    read = (lambda v: signed(v, width)) if kind[0] == "s" else (lambda v: v)

    @relaxed
    @given(st.tuples(*[patterns(width)] * arity))
    def check(sources: tuple[list[int], ...]) -> None:
        expected = [
            bounded(reference(*map(read, row)), width) for row in zip(*sources, strict=True)
        ]
        assert apply(simulator, f"{op}.{kind}", width, [width] * arity, sources) == expected

    check()


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_products(kind: str, simulator: Simulator) -> None:
    width = int(kind[1:])
    read = (lambda v: signed(v, width)) if kind[0] == "s" else (lambda v: v)

    @relaxed
    @given(patterns(width), patterns(width))
    def check(a: list[int], b: list[int]) -> None:
        products = [read(x) * read(y) for x, y in zip(a, b, strict=True)]
        assert apply(simulator, f"mul.hi.{kind}", width, [width] * 2, [a, b]) == [
            bounded(p >> width, width) for p in products
        ]
        if width < 64:
            assert apply(simulator, f"mul.wide.{kind}", 2 * width, [width] * 2, [a, b]) == [
                bounded(p, 2 * width) for p in products
            ]

    check()


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts(width: int, simulator: Simulator) -> None:
    @relaxed
    @given(
        patterns(width),
        st.lists(
            st.one_of(st.integers(0, 70), st.integers(0, 2**32 - 1)), min_size=64, max_size=64
        ),
    )
    def check(a: list[int], n: list[int]) -> None:
        widths, rows = [width, 32], list(zip(a, n, strict=True))
        assert apply(simulator, f"shl.b{width}", width, widths, [a, n]) == [
            bounded(x << min(y, width), width) for x, y in rows
        ]
        assert apply(simulator, f"shr.u{width}", width, widths, [a, n]) == [
            x >> min(y, width) for x, y in rows
        ]
        assert apply(simulator, f"shr.s{width}", width, widths, [a, n]) == [
            bounded(signed(x, width) >> min(y, width), width) for x, y in rows
        ]

    check()


def bfe(a: int, pos: int, length: int, width: int, is_signed: bool) -> int:
    pos, length = pos & 255, length & 255
    sign = (a >> min(pos + length - 1, width - 1)) & 1 if is_signed and length else 0
    return sum(
        (((a >> (pos + i)) & 1) if i < length and pos + i < width else sign) << i
        for i in range(width)
    )


def bfi(a: int, b: int, pos: int, length: int, width: int) -> int:
    pos, length = pos & 255, length & 255
    for i in range(min(length, max(width - pos, 0))):
        b = b & ~(1 << (pos + i)) | ((a >> i) & 1) << (pos + i)
    return b


@pytest.mark.parametrize("width", [32, 64])
def test_bit_fields(width: int, simulator: Simulator) -> None:
    small = st.lists(st.integers(0, 300), min_size=64, max_size=64)

    @relaxed
    @given(patterns(width), patterns(width), small, small)
    def check(a: list[int], b: list[int], pos: list[int], length: list[int]) -> None:
        rows = list(zip(a, pos, length, strict=True))
        for sign in "us":
            assert apply(
                simulator, f"bfe.{sign}{width}", width, [width, 32, 32], [a, pos, length]
            ) == [bfe(*row, width, sign == "s") for row in rows]
        inserted = [bfi(*row, width) for row in zip(a, b, pos, length, strict=True)]
        assert (
            apply(simulator, f"bfi.b{width}", width, [width, width, 32, 32], [a, b, pos, length])
            == inserted
        )
        assert apply(simulator, f"popc.b{width}", 32, [width], [a]) == [x.bit_count() for x in a]
        assert apply(simulator, f"clz.b{width}", 32, [width], [a]) == [
            width - x.bit_length() for x in a
        ]
        assert apply(simulator, f"brev.b{width}", width, [width], [a]) == [
            int(f"{x:0{width}b}"[::-1], 2) for x in a
        ]
        assert apply(simulator, f"bfind.u{width}", 32, [width], [a]) == [
            bounded(x.bit_length() - 1, 32) for x in a
        ]
        negated = [~signed(x, width) if signed(x, width) < 0 else x for x in a]
        assert apply(simulator, f"bfind.s{width}", 32, [width], [a]) == [
            bounded(x.bit_length() - 1, 32) for x in negated
        ]

    check()


def test_bytes_and_funnels(simulator: Simulator) -> None:
    def prmt(a: int, b: int, c: int) -> int:
        data, out = a | b << 32, 0
        for k in range(4):
            pick = c >> 4 * k
            byte = data >> 8 * (pick & 7) & 255
            out |= ((255 if byte >> 7 else 0) if pick & 8 else byte) << 8 * k
        return out

    def lop3(a: int, b: int, c: int) -> int:
        return sum(
            (0xCA >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
            for i in range(32)
        )

    @relaxed
    @given(patterns(32), patterns(32), patterns(32))
    def check(a: list[int], b: list[int], c: list[int]) -> None:
        rows = list(zip(a, b, c, strict=True))
        three = [32, 32, 32]
        assert apply(simulator, "prmt.b32", 32, three, [a, b, c]) == [prmt(*row) for row in rows]
        assert apply(simulator, "lop3.b32", 32, three, [a, b, c], ", 0xCA") == [
            lop3(*row) for row in rows
        ]
        assert apply(simulator, "shf.l.wrap.b32", 32, three, [a, b, c]) == [
            ((y << 32 | x) << (z & 31) >> 32) & 0xFFFFFFFF for x, y, z in rows
        ]
        assert apply(simulator, "shf.r.wrap.b32", 32, three, [a, b, c]) == [
            ((y << 32 | x) >> (z & 31)) & 0xFFFFFFFF for x, y, z in rows
        ]
        assert apply(simulator, "shf.r.clamp.b32", 32, three, [a, b, c]) == [
            ((y << 32 | x) >> min(z, 32)) & 0xFFFFFFFF for x, y, z in rows
        ]
        assert apply(simulator, "add.sat.s32", 32, [32, 32], [a, b]) == [
            bounded(max(min(signed(x, 32) + signed(y, 32), 2**31 - 1), -(2**31)), 32)
            for x, y, _ in rows
        ]

    check()


def test_carry_chain(simulator: Simulator) -> None:
    ptx = """.version 8.0\n.target sm_90\n.address_size 64
    .visible .entry k(.param .u64 d, .param .u64 s, .param .u64 e) {
    .reg .b64 %p, %q, %o; .reg .b32 %t, %a, %b, %c, %f, %x, %y;
    mov.u32 %t, %tid.x; ld.param.u64 %p, [s]; ld.param.u64 %q, [e]; ld.param.u64 %o, [d];
    mad.wide.u32 %p, %t, 8, %p; mad.wide.u32 %q, %t, 8, %q; mad.wide.u32 %o, %t, 8, %o;
    ld.global.v2.u32 {%a, %b}, [%p]; ld.global.v2.u32 {%c, %f}, [%q];
    add.cc.u32 %x, %a, %c; addc.u32 %y, %b, %f; st.global.v2.u32 [%o], {%x, %y}; ret; }"""

    @relaxed
    @given(patterns(64), patterns(64))
    def check(a: list[int], b: list[int]) -> None:
        out = np.zeros(64, "u8")
        simulator.load_ptx(ptx).launch("k", 1, 64, out, np.array(a, "u8"), np.array(b, "u8"))
        assert [int(v) for v in out] == [bounded(x + y, 64) for x, y in zip(a, b, strict=True)]

    check()


# ---------------------------------------------------------------- floating point


def float_result(form: Format, op: str, mode: str, row: tuple[int, ...]) -> int | None:
    """The pattern that `op` must give; None for a NaN."""
    values = [form.decode(pattern) for pattern in row]
    if all(isinstance(v, Fraction) for v in values):
        a, b, c = (*values, Fraction(0), Fraction(0))[:3]
        if (op == "div" and b == 0) or (op == "sqrt" and a < 0) or (op == "rcp" and a == 0):
            if op == "rcp" or (op == "div" and a != 0):
                sign = (row[0] ^ (row[1] if op == "div" else 0)) >> (form.bits - 1)
                return form.infinity | sign << (form.bits - 1)
            return row[0] if op == "sqrt" and a == 0 else None
        exact = {
            "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
            "fma": lambda: a * b + c,
            "div": lambda: a / b, "sqrt": lambda: root(a), "rcp": lambda: 1 / a,
        }[op]()  # fmt: skip
        return form.encode(exact, mode)
    x, y, z = (*map(as_float, values), 0.0, 0.0)[:3]
    try:
        result = {
            "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y,
            "fma": lambda: x * y + z,
            "div": lambda: x / y, "sqrt": lambda: math.sqrt(x), "rcp": lambda: 1 / x,
        }[op]()  # fmt: skip
    except ZeroDivisionError:
        result = math.inf
        if math.isnan(x):
            return None
        sign = (row[0] ^ (row[1] if op == "div" else 0)) >> (form.bits - 1)
        return form.infinity | sign << (form.bits - 1)
    except ValueError:
        return None
    if math.isnan(result):
        return None
    if math.isinf(result):
        sign = 1 if result < 0 else 0
        return form.infinity | sign << (form.bits - 1)
    return 0


def same(form: Format, got: int, expected: int | None) -> bool:
    if expected is None:
        return isinstance(form.decode(got), float) and math.isnan(form.decode(got))
    zero = (1 << (form.bits - 1)) - 1
    return got == expected or (got & zero == 0 and expected & zero == 0)


WIDE_OPS = ("add", "sub", "mul", "fma", "div", "sqrt", "rcp")
DIRECTIONS = ("rn", "rz", "rm", "rp")
ROUNDED = [(f"{o}.{m}.{k}", k, o, m) for k in ("f32", "f64") for o in WIDE_OPS for m in DIRECTIONS]
ROUNDED += [(f"{o}.rn.{k}", k, o, "rn") for k in ("f16", "bf16") for o in WIDE_OPS[:4]]


@pytest.mark.parametrize(("text", "kind", "op", "mode"), ROUNDED, ids=[row[0] for row in ROUNDED])
def test_rounded(text: str, kind: str, op: str, mode: str, simulator: Simulator) -> None:
    form, arity = FORMATS[kind], {"fma": 3, "sqrt": 1, "rcp": 1}.get(op, 2)

    @relaxed
    @given(st.tuples(*[patterns(form.bits)] * arity))
    def check(sources: tuple[list[int], ...]) -> None:
        got = apply(simulator, text, form.bits, [form.bits] * arity, sources)
        for row, value in zip(zip(*sources, strict=True), got, strict=True):
            expected = float_result(form, op, mode, row)
            assert same(form, value, expected), (
                text,
                [hex(p) for p in row],
                hex(value),
                expected and hex(expected),
            )

    check()


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_packed(kind: str, simulator: Simulator) -> None:
    form = FORMATS[kind[:-2]]

    @relaxed
    @given(patterns(16), patterns(16), patterns(16), patterns(16))
    def check(a: list[int], b: list[int], c: list[int], d: list[int]) -> None:
        left = [x | y << 16 for x, y in zip(a, b, strict=True)]
        right = [x | y << 16 for x, y in zip(c, d, strict=True)]
        for op in ("add", "mul"):
            got = apply(simulator, f"{op}.rn.{kind}", 32, [32, 32], [left, right])
            for k, value in enumerate(got):
                assert same(form, value & 0xFFFF, float_result(form, op, "rn", (a[k], c[k])))
                assert same(form, value >> 16, float_result(form, op, "rn", (b[k], d[k])))

    check()


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_minimum_and_comparisons(kind: str, simulator: Simulator) -> None:
    form = FORMATS[kind]
    width = form.bits

    @relaxed
    @given(patterns(width), patterns(width))
    def check(a: list[int], b: list[int]) -> None:
        rows = [(form.decode(x), form.decode(y)) for x, y in zip(a, b, strict=True)]
        nan = [any(isinstance(v, float) and math.isnan(v) for v in row) for row in rows]
        for op, holds in {
            "lt": lambda x, y: x < y,
            "le": lambda x, y: x <= y,
            "eq": lambda x, y: x == y,
            "ne": lambda x, y: x != y,
        }.items():
            plain = apply(simulator, f"setp.{op}.{kind}", 1, [width] * 2, [a, b])
            assert plain == [
                int(not bad and holds(*row)) for row, bad in zip(rows, nan, strict=True)
            ]
            unordered = apply(simulator, f"setp.{op}u.{kind}", 1, [width] * 2, [a, b])
            assert unordered == [
                int(bad or holds(*row)) for row, bad in zip(rows, nan, strict=True)
            ]
        for op, choose in (("min", min), ("max", max)):
            for (x, y), p, q, got in zip(
                rows,
                a,
                b,
                apply(simulator, f"{op}.{kind}", width, [width] * 2, [a, b]),
                strict=True,
            ):
                bad = [isinstance(v, float) and math.isnan(v) for v in (x, y)]
                expected = (
                    None
                    if all(bad)
                    else q
                    if bad[0]
                    else p
                    if bad[1]
                    else (p if choose(x, y) == x else q)
                )
                assert same(form, got, expected)

    check()


def test_flush_and_saturate(simulator: Simulator) -> None:
    def flushed(pattern: int) -> int:
        return pattern if pattern & 0x7F800000 else pattern & 0x80000000

    @relaxed
    @given(patterns(32), patterns(32))
    def check(a: list[int], b: list[int]) -> None:
        rows = list(zip(a, b, strict=True))
        for op in ("add", "mul"):
            got = apply(simulator, f"{op}.ftz.f32", 32, [32, 32], [a, b])
            for (x, y), value in zip(rows, got, strict=True):
                expected = float_result(F32, op, "rn", (flushed(x), flushed(y)))
                assert same(F32, value, None if expected is None else flushed(expected))
            for (x, y), value in zip(
                rows, apply(simulator, f"{op}.sat.f32", 32, [32, 32], [a, b]), strict=True
            ):
                expected = float_result(F32, op, "rn", (x, y))
                number = 0 if expected is None else F32.decode(expected)
                assert F32.decode(value) == max(0, min(1, number))

    check()


APPROXIMATE: dict[str, tuple[Callable[[float], float], float, float]] = {
    "ex2.approx.f32": (lambda x: 2.0**x, 2.0**-22, 0.0),
    "lg2.approx.f32": (math.log2, 2.0**-22, 2.0**-22),
    "rcp.approx.f32": (lambda x: 1 / x, 2.0**-22, 0.0),
    "rsqrt.approx.f32": (lambda x: 1 / math.sqrt(x), 2.0**-22, 0.0),
    "sqrt.approx.f32": (math.sqrt, 2.0**-22, 0.0), "sin.approx.f32": (math.sin, 0.0, 2.0**-20),
    "cos.approx.f32": (math.cos, 0.0, 2.0**-20), "tanh.approx.f32": (math.tanh, 2.0**-11, 0.0),
}  # fmt: skip


def test_of_a_large_angle_little_is_left(simulator: Simulator) -> None:
    """What an H200 gives: it rounds the angle to an f32 of turns first."""
    angles = np.array([1e38, 65504.0, 70000.0], "f4")
    bits = [list(map(int, angles.view("u4")))]
    for op, seen in (("sin", [0, 0.9770282, -0.8280449]), ("cos", [1, -0.2131103, 0.5606616])):
        got = np.array(apply(simulator, f"{op}.approx.f32", 32, [32], bits), "u4").view("f4")
        assert np.allclose(got, seen, atol=5e-7), op


def test_the_reciprocal_of_a_huge_divisor_is_zero_where_it_is_approximate(
    simulator: Simulator,
) -> None:
    values = np.array([1e38, 8e37, 1e38, np.inf], "f4"), np.array([1e38, 8e37, -2e38, 1e38], "f4")
    bits = [list(map(int, part.view("u4"))) for part in values]
    for op, expected in (
        ("div.approx.f32", [0, 1, 0, np.nan]),
        ("div.full.f32", [1, 1, -0.5, np.inf]),
    ):
        got = np.array(apply(simulator, op, 32, [32, 32], bits), "u4").view("f4")
        assert np.array_equal(got, np.array(expected, "f4"), equal_nan=True), op


@pytest.mark.parametrize("op", APPROXIMATE)
def test_approximate(op: str, simulator: Simulator) -> None:
    reference, relative, absolute = APPROXIMATE[op]
    low = 1e-30 if op[:2] in ("lg", "rc", "rs", "sq") else -3.0

    @settings(relaxed, max_examples=20)
    @given(
        st.lists(
            st.floats(low, 100.0 if "n.approx" not in op and "cos" not in op else 3.0, width=32)
            if low < 0
            else st.floats(2.0**-99, 2.0**99, width=32),
            min_size=64,
            max_size=64,
        )
    )
    def check(values: list[float]) -> None:
        bits = np.array(values, "f4").view("u4")
        got = np.array(apply(simulator, op, 32, [32], [list(map(int, bits))]), "u4").view("f4")
        for x, y in zip(values, got, strict=True):
            expected = reference(x)
            assert abs(float(y) - expected) <= relative * abs(expected) + absolute + 2.0**-149, (
                op,
                x,
                y,
                expected,
            )

    check()


# ---------------------------------------------------------------- conversions


@pytest.mark.parametrize("source", ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("target", ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"])
def test_integer_conversions(source: str, target: str, simulator: Simulator) -> None:
    width, result = int(source[1:]), int(target[1:])
    register = max(result, 16)

    @settings(relaxed, max_examples=2)
    @given(patterns(width))
    def check(a: list[int]) -> None:
        values = [signed(x, width) if source[0] == "s" else x for x in a]
        low, high = (
            (-(1 << result - 1), (1 << result - 1) - 1)
            if target[0] == "s"
            else (0, (1 << result) - 1)
        )
        wrap = lambda v: (  # noqa: E731
            signed(bounded(v, result), result) if target[0] == "s" else bounded(v, result)
        )
        assert apply(simulator, f"cvt.{target}.{source}", register, [width], [a]) == [
            bounded(wrap(v), register) for v in values
        ]
        assert apply(simulator, f"cvt.sat.{target}.{source}", register, [width], [a]) == [
            bounded(max(low, min(high, v)), register) for v in values
        ]

    check()


def whole(value: Fraction, mode: str) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](value)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@pytest.mark.parametrize("target", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_float_to_integer(kind: str, target: str, simulator: Simulator) -> None:
    form, result = FORMATS[kind], int(target[1:])

    @settings(relaxed, max_examples=3)
    @given(patterns(form.bits))
    def check(a: list[int]) -> None:
        low, high = (
            (-(1 << result - 1), (1 << result - 1) - 1)
            if target[0] == "s"
            else (0, (1 << result) - 1)
        )
        for mode in ("rni", "rzi", "rmi", "rpi"):
            got = apply(simulator, f"cvt.{mode}.{target}.{kind}", result, [form.bits], [a])
            for pattern, value in zip(a, got, strict=True):
                number = form.decode(pattern)
                if isinstance(number, float):
                    limit = high if number > 0 else low
                    nan = 1 << (result - 1) if kind == "f64" or result == 64 else 0
                    assert value == (nan if math.isnan(number) else bounded(limit, result))
                else:
                    assert value == bounded(max(low, min(high, whole(number, mode))), result)

    check()


@pytest.mark.parametrize("source", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_integer_to_float(kind: str, source: str, simulator: Simulator) -> None:
    form, width = FORMATS[kind], int(source[1:])

    @settings(relaxed, max_examples=3)
    @given(patterns(width))
    def check(a: list[int]) -> None:
        values = [signed(x, width) if source[0] == "s" else x for x in a]
        for mode in ("rn", "rz", "rm", "rp"):
            assert apply(simulator, f"cvt.{mode}.{kind}.{source}", form.bits, [width], [a]) == [
                form.encode(Fraction(v), mode) for v in values
            ]

    check()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f64", "f32"),
        ("f64", "f16"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f64"),
        ("f16", "f64"),
    ],
)
def test_float_to_float(source: str, target: str, simulator: Simulator) -> None:
    have, want = FORMATS[source], FORMATS[target]
    narrows = want.bits < have.bits

    @relaxed
    @given(patterns(have.bits))
    def check(a: list[int]) -> None:
        for mode in (
            (("rn", "rz") if target == "bf16" else ("rn", "rz", "rm", "rp")) if narrows else ("",)
        ):
            got = apply(
                simulator,
                "cvt." + (f"{mode}." if mode else "") + f"{target}.{source}",
                want.bits,
                [have.bits],
                [a],
            )
            for pattern, value in zip(a, got, strict=True):
                number = have.decode(pattern)
                if isinstance(number, Fraction):
                    assert same(want, value, want.encode(number, mode or "rn")), (
                        mode,
                        hex(pattern),
                        hex(value),
                    )
                elif math.isnan(number):
                    assert same(want, value, None)
                else:
                    assert want.decode(value) == number

    check()


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_whole_floats(mode: str, simulator: Simulator) -> None:
    @relaxed
    @given(patterns(32))
    def check(a: list[int]) -> None:
        for pattern, value in zip(
            a, apply(simulator, f"cvt.{mode}.f32.f32", 32, [32], [a]), strict=True
        ):
            number = F32.decode(pattern)
            if isinstance(number, Fraction):
                assert F32.decode(value) == whole(number, mode)

    check()


_ = (F16, BF16, F64)
