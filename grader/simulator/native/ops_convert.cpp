// cvt between all types, with their rounding and saturation; set.* to numbers.
#include "alu.hpp"
#include "convert.hpp"
#include "floats.hpp"

namespace kgsim {
namespace {

enum Type : u16 { U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64, TF32, F16X2, BF16X2, types };
constexpr const char* type_names[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "tf32", "f16x2", "bf16x2"};
constexpr bool is_float(u16 t) { return t >= F16; }
constexpr int bits(u16 t) { constexpr int b[] = {8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 64, 32, 32, 32}; return b[t]; }
constexpr bool is_signed(u16 t) { return t & 1; }

i64 sign_extend(u64 v, int n) { return i64(v << (64 - n)) >> (64 - n); }

double real(u64 raw, u16 t, bool flushing) {
    switch (t) {
        case F16: return half_to_float(u32(raw) & 0xffff);
        case BF16: return bf16_to_float(u32(raw) & 0xffff);
        case F64: return as_f64(raw);
        default: return flushing ? flush(as_f32(u32(raw))) : as_f32(u32(raw));
    }
}
// v rounded to T in a direction; v is exact (64-bit mantissa).
template <class T> T directed(long double v, Round mode) {
    T r = T(v);
    if (mode == Round::nearest || (long double)r == v || v != v) return r;
    bool above = (long double)r > v;
    bool want_above = mode == Round::up || (mode == Round::zero && v < 0);
    if (above && !want_above) return std::nextafter(r, -std::numeric_limits<T>::infinity());
    if (!above && want_above) return std::nextafter(r, std::numeric_limits<T>::infinity());
    return r;
}
// v as a double whose last bit is odd when inexact: rounding it once more is then right.
double odd(long double v) {
    double r = double(v);
    if ((long double)r == v || v != v || std::isinf(r)) return r;
    u64 b = bits_of(r);
    if (!(b & 1)) b += ((long double)r < v) == (v > 0) ? 1 : -1;
    return as_f64(b);
}
double to_whole(double v, Round mode) {
    switch (mode) {
        case Round::zero: return std::trunc(v);
        case Round::down: return std::floor(v);
        case Round::up: return std::ceil(v);
        default: return std::nearbyint(v);
    }
}
u64 to_integer(double v, u16 to, bool wide_nan) {
    const int n = bits(to);
    if (v != v) return wide_nan || n == 64 ? u64(1) << (n - 1) : 0;
    if (is_signed(to)) {
        double top = std::ldexp(1.0, n - 1);
        if (v >= top) return (u64(1) << (n - 1)) - 1;
        if (v < -top) return u64(i64(-1)) << (n - 1);
        return u64(i64(v));
    }
    if (v <= 0) return 0;
    if (v >= std::ldexp(1.0, n)) return n == 64 ? ~u64(0) : (u64(1) << n) - 1;
    return u64(v);
}
u64 to_float(long double v, u16 to, Round mode, u16 flags) {
    if (flags & sat) v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (flags & relu) v = v > 0 ? v : v != v ? v : 0;
    switch (to) {
        case F64: return bits_of(directed<double>(v, mode));
        case F16: return narrow(odd(v), 10, -14, 15, mode, flags & 512);
        case BF16: return narrow(odd(v), 7, -126, 127, mode, flags & 512);
        case TF32: {
            u32 b = bits_of(float(v));
            if ((b & 0x7f800000) == 0x7f800000) return b;
            return mode == Round::zero ? b & ~0x1fffu : mode == Round::nearest ? (b + 0xfff + (b >> 13 & 1)) & ~0x1fffu : (b + 0x1000) & ~0x1fffu;
        }
        default: {
            float r = directed<float>(v, mode);
            if (v != v) r = as_f32(0x7fffffff);
            return bits_of(flags & ftz ? flush(r) : r);
        }
    }
}

u64 convert_one(u64 raw, u16 from, u16 to, Round mode, bool whole, u16 flags) {
    if (is_float(from)) {
        double v = real(raw, from, flags & ftz);
        if (!is_float(to)) return to_integer(to_whole(v, mode), to, from == F64);
        if (whole) return to_float(to_whole(v, mode), to, Round::nearest, flags);
        if (from == to && !(flags & (sat | ftz | relu))) return raw;
        return to_float(v, to, mode, flags);
    }
    const int n = bits(from);
    i64 s = is_signed(from) ? sign_extend(raw, n) : 0;
    u64 u = n == 64 ? raw : raw & ((u64(1) << n) - 1);
    if (is_float(to)) return to_float(is_signed(from) ? (long double)s : (long double)u, to, mode, flags);
    u64 wide = is_signed(from) ? u64(s) : u;
    const int w = bits(to);
    if (flags & sat) {
        __int128 x = is_signed(from) ? __int128(s) : __int128(u);
        __int128 low = is_signed(to) ? -(__int128(1) << (w - 1)) : 0;
        __int128 high = is_signed(to) ? (__int128(1) << (w - 1)) - 1 : (__int128(1) << w) - 1;
        return u64(x < low ? low : x > high ? high : x);
    }
    if (w == 64) return wide;
    return is_signed(to) ? u64(sign_extend(wide, w)) : wide & ((u64(1) << w) - 1);
}

void convert(Ctx& c, const Insn& i) {
    const u16 to = i.mode >> 8, from = i.mode & 0xff;
    const auto mode = Round(i.imm & 7);
    const bool whole = i.imm & 8, wide_in = bits(from) == 64, wide_out = bits(to) == 64;
    const u64 keep = i.width == 16 ? 0xffff : ~u64(0);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        u64 raw = wide_in ? c.src<u64>(i.a)[l] : c.src<u32>(i.a)[l];
        u64 r = convert_one(raw, from, to, mode, whole, i.flags) & keep;
        if (wide_out) c.dst<u64>(i.d)[l] = r; else c.dst<u32>(i.d)[l] = u32(r);
    }
}
// cvt.rn.f16x2.f32 d, a, b: a in the upper half.
void convert_pair(Ctx& c, const Insn& i) {
    const u16 to = (i.mode >> 8) == F16X2 ? F16 : BF16;
    const auto *a = c.src<u32>(i.a), *b = c.src<u32>(i.b);
    auto* d = c.dst<u32>(i.d);
    const auto mode = Round(i.imm & 7);
    for (u32 l = 0; l < warp_lanes; ++l)
        if (c.mask >> l & 1)
            d[l] = u32(to_float(as_f32(a[l]), to, mode, i.flags)) << 16 | u32(to_float(as_f32(b[l]), to, mode, i.flags));
}

// Quick ones for the pairs that kernels are full of.
template <class D, class S> D cast(S v) { return D(v); }
u32 f16_to_f32(u32 h) { return bits_of(half_to_float(h & 0xffff)); }
u32 bf16_to_f32(u32 h) { return h << 16; }
u32 f32_to_f16(u32 b) { return float_to_half(as_f32(b)); }
u32 f32_to_bf16(u32 b) { return float_to_bf16(as_f32(b)); }
float saturate(float v) { return clamp01(v); }
i32 f32_to_s32(float v) { return v != v ? 0 : v >= 2147483648.0f ? INT32_MAX : v < -2147483648.0f ? INT32_MIN : i32(v); }
i32 f32_to_s32_near(float v) { return f32_to_s32(__builtin_rintf(v)); }
i32 f32_to_s32_down(float v) { return f32_to_s32(__builtin_floorf(v)); }
float whole_near(float v) { return __builtin_rintf(v); }
float whole_down(float v) { return __builtin_floorf(v); }

struct Quick { const char* name; Handler run; };
const Quick quick[] = {
    {"s64.s32", unary<i64, i32, cast<i64, i32>>}, {"u64.u32", unary<u64, u32, cast<u64, u32>>},
    {"s64.u32", unary<u64, u32, cast<u64, u32>>}, {"u32.u64", unary<u32, u64, cast<u32, u64>>},
    {"s32.s64", unary<u32, u64, cast<u32, u64>>}, {"u32.s64", unary<u32, u64, cast<u32, u64>>},
    {"s32.u64", unary<u32, u64, cast<u32, u64>>}, {"u32.u16", unary<u32, u16, cast<u32, u16>>},
    {"u64.u16", unary<u64, u16, cast<u64, u16>>}, {"u16.u32", unary<u16, u32, cast<u16, u32>>},
    {"s32.s16", unary<i32, i16, cast<i32, i16>>}, {"s64.s16", unary<i64, i16, cast<i64, i16>>},
    {"rn.f32.s32", unary<float, i32, cast<float, i32>>}, {"rn.f32.u32", unary<float, u32, cast<float, u32>>},
    {"rn.f64.s32", unary<double, i32, cast<double, i32>>}, {"rn.f64.u32", unary<double, u32, cast<double, u32>>},
    {"f64.f32", unary<double, float, cast<double, float>>}, {"rn.f32.f64", unary<float, double, cast<float, double>>},
    {"f32.f16", unary<u32, u32, f16_to_f32>}, {"f32.bf16", unary<u32, u32, bf16_to_f32>},
    {"rn.f16.f32", unary<u32, u32, f32_to_f16>}, {"rn.bf16.f32", unary<u32, u32, f32_to_bf16>},
    {"rzi.s32.f32", unary<i32, float, f32_to_s32>}, {"rni.s32.f32", unary<i32, float, f32_to_s32_near>},
    {"rmi.s32.f32", unary<i32, float, f32_to_s32_down>}, {"sat.f32.f32", unary<float, float, saturate>},
    {"rni.f32.f32", unary<float, float, whole_near>}, {"rmi.f32.f32", unary<float, float, whole_down>},
};

int type_number(std::string_view name) {
    for (int k = 0; k < types; ++k) if (name == type_names[k]) return k;
    return -1;
}

}  // namespace

bool bind_convert(const std::vector<std::string_view>& words, Insn& insn, std::string& signature) {
    if (words.size() < 3) return false;
    int to = type_number(words[words.size() - 2]), from = type_number(words.back());
    if (to < 0 || from < 0) return false;
    std::string name;
    insn.imm = i64(is_float(u16(from)) && is_float(u16(to)) ? Round::nearest : Round::zero);
    if (!is_float(u16(from))) insn.imm = i64(Round::nearest);
    for (size_t k = 1; k + 2 < words.size(); ++k) {
        auto w = words[k];
        if (w == "rn") insn.imm = i64(Round::nearest);
        else if (w == "rz") insn.imm = i64(Round::zero);
        else if (w == "rm") insn.imm = i64(Round::down);
        else if (w == "rp") insn.imm = i64(Round::up);
        else if (w == "rna") insn.imm = i64(Round::away);
        else if (w == "rni") insn.imm = i64(Round::nearest) | 8;
        else if (w == "rzi") insn.imm = i64(Round::zero) | 8;
        else if (w == "rmi") insn.imm = i64(Round::down) | 8;
        else if (w == "rpi") insn.imm = i64(Round::up) | 8;
        else if (w == "ftz") insn.flags |= ftz;
        else if (w == "sat") insn.flags |= sat;
        else if (w == "satfinite") insn.flags |= 512;
        else if (w == "relu") insn.flags |= relu;
        else return false;
        name += std::string(w) + ".";
    }
    name += std::string(type_names[to]) + "." + type_names[from];
    insn.mode = u16(to << 8 | from);
    insn.klass = Class::convert;
    insn.run = convert;
    bool pair = to == F16X2 || to == BF16X2;
    if (pair != (from == F32 && pair) || from >= TF32) return false;
    if (pair) insn.run = convert_pair;
    for (const Quick& q : quick) if (name == q.name) insn.run = q.run;
    signature = std::string(1, bits(u16(to)) == 64 ? '8' : '4') + "=" + (bits(u16(from)) == 64 ? "8" : pair ? "44" : "4");
    return true;
}

}  // namespace kgsim
