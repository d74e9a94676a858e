"""Bytes, halves and 8-bit floats packed into a register, against plain Python."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import Simulator, nvcc
from .ptx_bench import apply

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")

WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=64)
FLOATS = st.lists(st.floats(width=32), min_size=64, max_size=64)
BIAS = {"e4m3": (3, 7), "e5m2": (2, 15)}
LARGEST = {"e4m3": 0x7E, "e5m2": 0x7B}


def parts(word: int, count: int, is_signed: bool) -> list[int]:
    """The numbers packed into a 32-bit word, the lowest first."""
    width = 32 // count
    raw = [word >> width * k & (1 << width) - 1 for k in range(count)]
    return [v - (1 << width) if is_signed and v >> (width - 1) else v for v in raw]


def packed(values: list[int], count: int) -> int:
    width = 32 // count
    return sum((v & (1 << width) - 1) << width * k for k, v in enumerate(values))


def value(kind: str, code: int) -> float:
    """What the 7 lower bits of an 8-bit float stand for."""
    mantissa, bias = BIAS[kind]
    exponent, rest = code >> mantissa & 0x7F >> mantissa, code & (1 << mantissa) - 1
    lead = 1 << mantissa if exponent else 0
    return math.ldexp(lead + rest, max(exponent, 1) - bias - mantissa)


def nearest(kind: str, number: float) -> int:
    """The code of the nearest finite 8-bit float, ties to the even one."""
    if math.isnan(number):
        return 0x7F
    size = abs(number)
    codes = range(LARGEST[kind] + 1)
    code = min(codes, key=lambda k: (abs(value(kind, k) - min(size, 1e9)), k & 1))
    return code | (0x80 if math.copysign(1, number) < 0 else 0)


def bits(number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


@pytest.mark.parametrize("kind", ["u", "s"])
def test_halves(kind: str, simulator: Simulator) -> None:
    @settings(max_examples=5, deadline=None)
    @given(WORDS, WORDS)
    def check(a: list[int], b: list[int]) -> None:
        for name, of in (("add", sum), ("min", min), ("max", max)):
            pairs = [
                zip(parts(x, 2, kind == "s"), parts(y, 2, kind == "s"), strict=True)
                for x, y in zip(a, b, strict=True)
            ]
            expected = [packed([of(pair) for pair in two], 2) for two in pairs]
            assert apply(simulator, f"{name}.{kind}16x2", 32, [32, 32], [a, b]) == expected

    check()


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("kind", ["u", "s"])
def test_differences(kind: str, count: int, simulator: Simulator) -> None:
    op = f"vabsdiff{count}.u32.{kind}32.{kind}32"

    @settings(max_examples=5, deadline=None)
    @given(WORDS, WORDS, WORDS)
    def check(a: list[int], b: list[int], c: list[int]) -> None:
        apart = [
            [abs(p - q) for p, q in zip(parts(x, count, kind == "s"), parts(y, count, kind == "s"), strict=True)]
            for x, y in zip(a, b, strict=True)
        ]  # fmt: skip
        three = [32, 32, 32]
        assert apply(simulator, op, 32, three, [a, b, c]) == [packed(d, count) for d in apart]
        sums = [(sum(d) + z) % 2**32 for d, z in zip(apart, c, strict=True)]
        assert apply(simulator, f"{op}.add", 32, three, [a, b, c]) == sums

    check()


@pytest.mark.parametrize("first", ["u32", "s32"])
@pytest.mark.parametrize("second", ["u32", "s32"])
def test_dot_products_of_two(first: str, second: str, simulator: Simulator) -> None:
    @settings(max_examples=5, deadline=None)
    @given(WORDS, WORDS, WORDS)
    def check(a: list[int], b: list[int], c: list[int]) -> None:
        for at, half in enumerate(("lo", "hi")):
            expected = []
            for x, y, z in zip(a, b, c, strict=True):
                left, right = parts(x, 2, first == "s32"), parts(y, 4, second == "s32")[2 * at :]
                expected.append((left[0] * right[0] + left[1] * right[1] + z) % 2**32)
            op = f"dp2a.{half}.{first}.{second}"
            assert apply(simulator, op, 32, [32, 32, 32], [a, b, c]) == expected

    check()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_to_8_bit_floats(kind: str, simulator: Simulator) -> None:
    close = st.integers(-500, 500).map(lambda n: n / 16)
    numbers = st.lists(close | st.floats(width=32), min_size=64, max_size=64)

    @settings(max_examples=10, deadline=None)
    @given(numbers, numbers)
    def check(high: list[float], low: list[float]) -> None:
        op = f"cvt.rn.satfinite.{kind}x2.f32"
        got = apply(simulator, op, 16, [32, 32], [list(map(bits, high)), list(map(bits, low))])
        rows = zip(high, low, strict=True)
        assert got == [nearest(kind, a) << 8 | nearest(kind, b) for a, b in rows]

    check()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_from_8_bit_floats(kind: str, simulator: Simulator) -> None:
    for start in range(0, 256, 64):
        codes = list(range(start, start + 64))
        for word in apply(
            simulator, f"cvt.rn.f16x2.{kind}x2", 32, [16], [[c << 8 | c for c in codes]]
        ):
            code = codes.pop(0)
            got = struct.unpack("<e", struct.pack("<H", word & 0xFFFF))[0]
            assert word >> 16 == word & 0xFFFF
            if code & 0x7F > LARGEST[kind] + (kind == "e5m2"):
                assert math.isnan(got)
            elif code & 0x7F > LARGEST[kind]:
                assert math.isinf(got)
            else:
                assert got == math.copysign(value(kind, code & 0x7F), -1 if code >> 7 else 1)


def test_rectified_8_bit_floats(simulator: Simulator) -> None:
    pair = [bits(-3.0), bits(1.5), bits(-0.0)]
    got = apply(simulator, "cvt.rn.satfinite.relu.e4m3x2.f32", 16, [32, 32], [pair, pair])
    assert [code & 0x7F for code in got] == [0, 0x3C, 0]


def test_masks_and_extensions(simulator: Simulator) -> None:
    def extended(word: int, size: int, is_signed: bool) -> int:
        rest = word & (1 << size) - 1
        return (rest - (1 << size) if is_signed and size and rest >> (size - 1) else rest) % 2**32

    @settings(max_examples=5, deadline=None)
    @given(WORDS, st.lists(st.integers(0, 40), min_size=64, max_size=64))
    def check(a: list[int], n: list[int]) -> None:
        two = [32, 32]
        masks = [((1 << size) - 1 << at) % 2**32 for at, size in zip(n, reversed(n), strict=True)]
        assert apply(simulator, "bmsk.clamp.b32", 32, two, [n, n[::-1]]) == masks
        wrapped = [
            ((1 << x % 32) - 1 << y % 32) % 2**32 for y, x in zip(n, reversed(n), strict=True)
        ]
        assert apply(simulator, "bmsk.wrap.b32", 32, two, [n, n[::-1]]) == wrapped
        for kind in "us":
            rows = [extended(x, min(k, 32), kind == "s") for x, k in zip(a, n, strict=True)]
            assert apply(simulator, f"szext.clamp.{kind}32", 32, two, [a, n]) == rows
            rows = [extended(x, k % 32, kind == "s") for x, k in zip(a, n, strict=True)]
            assert apply(simulator, f"szext.wrap.{kind}32", 32, two, [a, n]) == rows

    check()
