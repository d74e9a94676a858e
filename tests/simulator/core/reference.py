"""Exact references: arithmetic in fractions, rounded once to a format in a direction."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A binary floating-point format."""

    name: str
    bits: int
    mantissa: int
    emin: int
    emax: int

    @property
    def infinity(self) -> int:
        return ((self.emax - self.emin + 2) << self.mantissa) & ((1 << self.bits - 1) - 1)

    def decode(self, pattern: int) -> Fraction | float:
        """The value of a pattern: a fraction, or an infinity or NaN."""
        sign = -1 if pattern >> (self.bits - 1) else 1
        rest = pattern & ((1 << self.bits - 1) - 1)
        if rest >= self.infinity:
            return sign * math.inf if rest == self.infinity else math.nan
        exponent, fraction = rest >> self.mantissa, rest & ((1 << self.mantissa) - 1)
        if exponent:
            fraction |= 1 << self.mantissa
        return (
            sign
            * Fraction(fraction)
            * Fraction(2) ** (max(exponent, 1) - 1 + self.emin - self.mantissa)
        )

    def encode(self, value: Fraction, mode: str = "rn", negative_zero: bool = False) -> int:
        """Round a fraction: rn, rz, rm, rp."""
        top = 1 << (self.bits - 1)
        if value == 0:
            return top if negative_zero else 0
        negative, size = value < 0, abs(value)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** exponent > size:
            exponent -= 1
        unit = Fraction(2) ** (max(exponent, self.emin) - self.mantissa)
        whole, rest = divmod(size / unit, 1)
        up = {
            "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
            "rz": False,
            "rm": negative and rest > 0,
            "rp": not negative and rest > 0,
        }[mode]
        code = ((max(exponent, self.emin) - self.emin) << self.mantissa) + whole + up
        if code >= self.infinity:
            away = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
            code = self.infinity if away else self.infinity - 1
        return (top if negative else 0) | int(code)


F16 = Format("f16", 16, 10, -14, 15)
BF16 = Format("bf16", 16, 7, -126, 127)
F32 = Format("f32", 32, 23, -126, 127)
F64 = Format("f64", 64, 52, -1022, 1023)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def as_float(value: Fraction | float) -> float:
    """For what has no finite value: the class of a result is the same in every format."""
    if isinstance(value, float):
        return value
    return math.copysign(1.0, value) if value else 0.0


def root(value: Fraction) -> Fraction:
    """A square root with at least 200 bits and a sticky last one, for any double."""
    scaled = value * 4**800
    whole = math.isqrt(int(scaled))
    sticky = 0 if Fraction(whole) ** 2 == scaled else Fraction(1, 4)
    return (whole + sticky) / Fraction(2**800)


def double_bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]
