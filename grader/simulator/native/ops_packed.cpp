// Numbers of 8 and 16 bits packed into a register: integers of two or four parts, pairs of 8-bit floats.
#include <algorithm>

#include "alu.hpp"
#include "floats.hpp"

namespace kgsim {
namespace {

template <class T, class F> u32 by_halves(u32 a, u32 b, F&& f) {
    return u32(u16(f(T(a), T(b)))) | u32(u16(f(T(a >> 16), T(b >> 16)))) << 16;
}
u32 add16x2(u32 a, u32 b) { return by_halves<u16>(a, b, [](u16 x, u16 y) { return x + y; }); }
template <class T> u32 min16x2(u32 a, u32 b) { return by_halves<T>(a, b, [](T x, T y) { return std::min(x, y); }); }
template <class T> u32 max16x2(u32 a, u32 b) { return by_halves<T>(a, b, [](T x, T y) { return std::max(x, y); }); }

// DPX: what is below 0 becomes 0.
template <u32 (*F)(u32, u32)> u32 relu16x2(u32 a, u32 b) { return max16x2<i16>(F(a, b), 0); }
template <bool Most> i32 relu32(i32 a, i32 b) { return std::max(Most ? std::max(a, b) : std::min(a, b), 0); }

// Part k of N, of a register whose parts are of the signed or unsigned T's kind.
template <class T, int N> i32 part(u32 v, int k) {
    constexpr int bits = 32 / N;
    const u32 raw = v >> bits * k << (32 - bits);
    return std::is_signed_v<T> ? i32(raw) >> (32 - bits) : i32(raw >> (32 - bits));
}
template <class T, int N, bool Add> u32 abs_difference(u32 a, u32 b, u32 c) {
    u32 packed = 0, sum = c;
    for (int k = 0; k < N; ++k) {
        const u32 d = u32(std::abs(part<T, N>(a, k) - part<T, N>(b, k)));
        packed |= d << 32 / N * k;
        sum += d;
    }
    return Add ? sum : packed;
}
// The products of two halves with the lower or upper two bytes.
template <class A, class B, int From> u32 dp2a(u32 a, u32 b, u32 c) {
    for (int k = 0; k < 2; ++k) c += u32(part<A, 2>(a, k) * part<B, 4>(b, From + k));
    return c;
}

u32 to_e4m3(float v) {
    if (v != v) return 0x7f;
    return (std::signbit(v) ? 0x80 : 0) | std::min(0x7eu, narrow(std::fabs(double(v)), 3, -6, 8, Round::nearest, true));
}
u32 to_e5m2(float v) {
    if (v != v) return 0x7f;
    return (std::signbit(v) ? 0x80 : 0) | std::min(0x7bu, narrow(std::fabs(double(v)), 2, -14, 15, Round::nearest, true));
}
template <u32 (*To)(float), bool Relu> u32 quarter(float v) { return To(Relu && v < 0 ? 0.0f : v); }
template <u32 (*To)(float), bool Relu> u32 quarters(float a, float b) { return quarter<To, Relu>(a) << 8 | quarter<To, Relu>(b); }
template <u32 (*To)(float), bool Relu> u32 quarters_of_halves(u32 h) {
    return quarters<To, Relu>(half_to_float(h >> 16), half_to_float(h & 0xffff));
}
template <u32 (*Half)(u32), bool Relu> u32 halves(u32 q) {
    const auto one = [](u32 h) { return Relu && h & 0x8000 ? 0 : h; };
    return one(Half(q >> 8 & 0xff)) << 16 | one(Half(q & 0xff));
}

template <u32 (*To)(float), u32 (*Half)(u32), bool Relu> void add_quarters(OpTable& t, const std::string& type) {
    const std::string relu = Relu ? "relu." : "";
    t["cvt.rn.satfinite." + relu + type + ".f32"] = {binary<u32, float, float, quarters<To, Relu>>, "4=44", Class::convert};
    t["cvt.rn.satfinite." + relu + type + ".f16x2"] = {unary<u32, u32, quarters_of_halves<To, Relu>>, "4=4", Class::convert};
    t["cvt.rn." + relu + "f16x2." + type] = {unary<u32, u32, halves<Half, Relu>>, "4=4", Class::convert};
}

template <class T, int N> void add_differences(OpTable& t, const char* type) {
    const std::string name = "vabsdiff" + std::to_string(N) + type;
    t[name] = {ternary<u32, u32, u32, u32, abs_difference<T, N, false>>, "4=444"};
    t[name + ".add"] = {ternary<u32, u32, u32, u32, abs_difference<T, N, true>>, "4=444"};
}

template <class A, class B> void add_dp2a(OpTable& t, const char* types) {
    t[std::string("dp2a.lo.") + types] = {ternary<u32, u32, u32, u32, dp2a<A, B, 0>>, "4=444"};
    t[std::string("dp2a.hi.") + types] = {ternary<u32, u32, u32, u32, dp2a<A, B, 2>>, "4=444"};
}

}  // namespace

void add_packed_ops(OpTable& t) {
    for (const char* type : {"u16x2", "s16x2"}) t[std::string("add.") + type] = {binary<u32, u32, u32, add16x2>, "4=44"};
    t["min.u16x2"] = {binary<u32, u32, u32, min16x2<u16>>, "4=44"};
    t["min.s16x2"] = {binary<u32, u32, u32, min16x2<i16>>, "4=44"};
    t["max.u16x2"] = {binary<u32, u32, u32, max16x2<u16>>, "4=44"};
    t["max.s16x2"] = {binary<u32, u32, u32, max16x2<i16>>, "4=44"};
    t["min.s16x2.relu"] = {binary<u32, u32, u32, relu16x2<min16x2<i16>>>, "4=44"};
    t["max.s16x2.relu"] = {binary<u32, u32, u32, relu16x2<max16x2<i16>>>, "4=44"};
    t["min.s32.relu"] = {binary<i32, i32, i32, relu32<false>>, "4=44"};
    t["max.s32.relu"] = {binary<i32, i32, i32, relu32<true>>, "4=44"};
    add_differences<u32, 2>(t, ".u32.u32.u32");
    add_differences<u32, 4>(t, ".u32.u32.u32");
    add_differences<i32, 2>(t, ".u32.s32.s32");
    add_differences<i32, 4>(t, ".u32.s32.s32");
    add_dp2a<u32, u32>(t, "u32.u32");
    add_dp2a<u32, i32>(t, "u32.s32");
    add_dp2a<i32, u32>(t, "s32.u32");
    add_dp2a<i32, i32>(t, "s32.s32");
    add_quarters<to_e4m3, half_of_e4m3, false>(t, "e4m3x2");
    add_quarters<to_e4m3, half_of_e4m3, true>(t, "e4m3x2");
    add_quarters<to_e5m2, half_of_e5m2, false>(t, "e5m2x2");
    add_quarters<to_e5m2, half_of_e5m2, true>(t, "e5m2x2");
}

}  // namespace kgsim
