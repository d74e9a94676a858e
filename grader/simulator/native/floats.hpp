// Floating-point helpers shared by arithmetic and conversions.
#pragma once

#include <cmath>

#include "core.hpp"

namespace kgsim {

inline float as_f32(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 bits_of(float value) { return std::bit_cast<u32>(value); }
inline double as_f64(u64 bits) { return std::bit_cast<double>(bits); }
inline u64 bits_of(double value) { return std::bit_cast<u64>(value); }

inline float flush(float x) {
    u32 b = bits_of(x);
    return as_f32((b & 0x7f800000) == 0 ? b & 0x80000000 : b);
}
inline float clamp01(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline double clamp01(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

inline float half_to_float(u32 h) {
    u32 sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    // Scaling by 2^112 makes normal and subnormal halves right at once.
    float scaled = as_f32(rest << 13) * as_f32(0x77800000);
    u32 magnitude = rest >= 0x7c00 ? (rest << 13 | 0x7f800000) : bits_of(scaled);
    return as_f32(sign | magnitude);
}
inline float bf16_to_float(u32 h) { return as_f32(h << 16); }

enum class Round : u8 { nearest, zero, down, up, away };

// Rounds a magnitude given as a 53-bit or shorter double to a format with `mantissa` explicit bits
// and lowest normal exponent `emin`; the encoding has `mantissa` + exponent bits, maximal exponent emax.
inline u32 narrow(double value, int mantissa, int emin, int emax, Round mode, bool saturate) {
    u64 b = bits_of(value);
    const u32 sign = u32(b >> 63), width_exp = u32(emax - emin + 1);
    const u32 inf = (width_exp + 1) << mantissa;
    int exp_bits = std::bit_width(width_exp + 1);
    const u32 sign_bit = sign << (mantissa + exp_bits);
    if (value != value) return (inf | ((1u << mantissa) - 1)) & ((1u << (mantissa + exp_bits)) - 1);
    double magnitude = std::fabs(value);
    if (magnitude == 0) return sign_bit;
    int e;
    u32 limit = saturate ? inf - 1 : inf;
    if (std::isinf(value)) return sign_bit | limit;
    std::frexp(magnitude, &e);
    e -= 1;
    int unit = (e < emin ? emin : e) - mantissa;  // exponent of the last place
    double scaled = std::ldexp(magnitude, -unit), whole = std::floor(scaled), rest = scaled - whole;
    u64 n = u64(whole);
    bool up = false;
    switch (mode) {
        case Round::nearest: up = rest > 0.5 || (rest == 0.5 && (n & 1)); break;
        case Round::away: up = rest >= 0.5; break;
        case Round::zero: break;
        case Round::down: up = sign && rest > 0; break;
        case Round::up: up = !sign && rest > 0; break;
    }
    n += up;
    int biased = (e < emin ? emin : e) - emin;  // n carries the implicit bit, if any
    u64 code = (u64(biased) << mantissa) + n;
    if (code >= inf) {
        bool to_max = mode == Round::zero || (mode == Round::down && !sign) || (mode == Round::up && sign);
        return sign_bit | (to_max ? inf - 1 : limit);
    }
    return sign_bit | u32(code);
}

inline u32 float_to_half(float value) {
    u32 b = bits_of(value), sign = b >> 16 & 0x8000, m = b & 0x7fffffff;
    u32 nan = 0x7fff;
    // Subnormal halves: adding 0.5 lines their last place up with a float's.
    u32 small = bits_of(as_f32(m) + 0.5f) - 0x3f000000;
    u32 normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    u32 r = m < 0x38800000 ? small : normal;
    r = m >= 0x477ff000 ? 0x7c00 : r;
    return m > 0x7f800000 ? nan : (sign | r);
}
inline u32 float_to_bf16(float value) {
    u32 b = bits_of(value);
    u32 r = (b + 0x7fff + (b >> 16 & 1)) >> 16;
    return (b & 0x7fffffff) > 0x7f800000 ? 0x7fff : r;
}
inline u32 double_to_half(double v, Round mode = Round::nearest) { return narrow(v, 10, -14, 15, mode, false); }
inline u32 double_to_bf16(double v, Round mode = Round::nearest) { return narrow(v, 7, -126, 127, mode, false); }

// 8-bit floats (OCP OFP8): e5m2 is the upper half of an f16; e4m3 has no infinity, its largest is 448, NaN 0x7f.
inline u32 half_of_e4m3(u32 q) {
    if ((q & 0x7f) == 0x7f) return 0x7fff;
    const int exponent = int(q >> 3 & 15);
    const float magnitude = std::ldexp(float((exponent ? 8 : 0) + (q & 7)), std::max(exponent, 1) - 10);
    return (q & 0x80) << 8 | float_to_half(magnitude);
}
inline u32 half_of_e5m2(u32 q) { return (q & 0x7f) > 0x7c ? 0x7fff : q << 8; }

// a * b + c where a * b is exact: the sum's last bit is made odd when inexact, so that rounding it again is right.
inline double sum_to_odd(double product, double c) {
    double s = product + c;
    if (!std::isfinite(s)) return s;
    double t = s - product, error = (product - (s - t)) + (c - t);
    u64 b = bits_of(s);
    if (error != 0 && !(b & 1)) b += (error > 0) == (s > 0) ? 1 : -1;
    return as_f64(b);
}

}  // namespace kgsim
