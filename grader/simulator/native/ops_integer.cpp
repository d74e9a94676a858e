// Integer arithmetic: wraps around, shifts past the width, division by zero as the hardware does.
#include "alu.hpp"

namespace kgsim {
namespace {

template <class T> using Un = std::make_unsigned_t<T>;
template <class T> using Twice = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, i32, u32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, i64, u64>,
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T> constexpr int bits = sizeof(T) * 8;

template <class T> T add(T a, T b) { return T(Un<T>(a) + Un<T>(b)); }
template <class T> T sub(T a, T b) { return T(Un<T>(a) - Un<T>(b)); }
template <class T> T mul(T a, T b) { return T(u64(Un<T>(a)) * u64(Un<T>(b))); }
template <> u32 mul(u32 a, u32 b) { return a * b; }
template <class T> T mul_hi(T a, T b) { return T(Twice<T>(a) * Twice<T>(b) >> bits<T>); }
template <class T> Twice<T> mul_wide(T a, T b) { return Twice<T>(a) * Twice<T>(b); }
template <class T> T mad(T a, T b, T c) { return add(mul(a, b), c); }
template <class T> T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> Twice<T> mad_wide(T a, T b, Twice<T> c) {
    using U = std::make_unsigned_t<Twice<T>>;
    return Twice<T>(U(Twice<T>(a) * Twice<T>(b)) + U(c));
}
template <class T> T mul24(T a, T b) { return T(Un<T>(a << 8 >> 8) * Un<T>(b << 8 >> 8)); }
template <class T> T mad24(T a, T b, T c) { return add(mul24(a, b), c); }
template <class T> T sad(T a, T b, T c) { return add(c, a > b ? sub(a, b) : sub(b, a)); }
template <class T> T divide(T a, T b) {
    if (b == 0) return T(~Un<T>(0));
    if constexpr (std::is_signed_v<T>) if (b == T(-1)) return sub(T(0), a);
    return a / b;
}
template <class T> T remainder(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) if (b == T(-1)) return 0;
    return a % b;
}
template <class T> T minimum(T a, T b) { return a < b ? a : b; }
template <class T> T maximum(T a, T b) { return a > b ? a : b; }
template <class T> T absolute(T a) { return a < 0 ? sub(T(0), a) : a; }
template <class T> T negate(T a) { return sub(T(0), a); }
template <class T> T copy(T a) { return a; }
template <class T> T band(T a, T b) { return a & b; }
template <class T> T bor(T a, T b) { return a | b; }
template <class T> T bxor(T a, T b) { return a ^ b; }
template <class T> T bnot(T a) { return T(~a); }
template <class T> T cnot(T a) { return a == 0; }
template <class T> T shl(T a, u32 n) { return n >= u32(bits<T>) ? T(0) : T(Un<T>(a) << n); }
template <class T> T shr(T a, u32 n) {
    if constexpr (std::is_signed_v<T>) return T(a >> (n >= u32(bits<T>) ? bits<T> - 1 : n));
    else return n >= u32(bits<T>) ? T(0) : T(a >> n);
}
i32 add_sat(i32 a, i32 b) { i64 r = i64(a) + b; return i32(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r); }
i32 sub_sat(i32 a, i32 b) { i64 r = i64(a) - b; return i32(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r); }
i32 mad_hi_sat(i32 a, i32 b, i32 c) { return add_sat(mul_hi(a, b), c); }

template <class T> bool eq(T a, T b) { return a == b; }
template <class T> bool ne(T a, T b) { return a != b; }
template <class T> bool lt(T a, T b) { return a < b; }
template <class T> bool le(T a, T b) { return a <= b; }
template <class T> bool gt(T a, T b) { return a > b; }
template <class T> bool ge(T a, T b) { return a >= b; }

template <class T> struct Sig;
template <> struct Sig<u16> { static constexpr std::string_view one = "4=4", two = "4=44", three = "4=444", wide = "4=44", mwide = "4=444", shift = "4=44"; };
template <> struct Sig<i16> : Sig<u16> {};
template <> struct Sig<u32> : Sig<u16> { static constexpr std::string_view wide = "8=44", mwide = "8=448"; };
template <> struct Sig<i32> : Sig<u32> {};
template <> struct Sig<u64> { static constexpr std::string_view one = "8=8", two = "8=88", three = "8=888", shift = "8=84"; };
template <> struct Sig<i64> : Sig<u64> {};

template <class T> void arithmetic(OpTable& t, const std::string& n) {
    using S = Sig<T>;
    auto two = [&](const char* op, Handler h) { t[op + n] = {h, S::two, Class::integer}; };
    two("add.", binary<T, T, T, add<T>>);
    two("sub.", binary<T, T, T, sub<T>>);
    two("mul.lo.", binary<T, T, T, mul<T>>);
    two("mul.", binary<T, T, T, mul<T>>);
    two("mul.hi.", binary<T, T, T, mul_hi<T>>);
    two("div.", binary<T, T, T, divide<T>>);
    two("rem.", binary<T, T, T, remainder<T>>);
    two("min.", binary<T, T, T, minimum<T>>);
    two("max.", binary<T, T, T, maximum<T>>);
    t["mad.lo." + n] = {ternary<T, T, T, T, mad<T>>, S::three, Class::integer};
    t["mad.hi." + n] = {ternary<T, T, T, T, mad_hi<T>>, S::three, Class::integer};
    t["sad." + n] = {ternary<T, T, T, T, sad<T>>, S::three, Class::integer};
    t["shr." + n] = {binary<T, T, u32, shr<T>>, S::shift, Class::integer};
    if constexpr (std::is_signed_v<T>) {
        t["abs." + n] = {unary<T, T, absolute<T>>, S::one, Class::integer};
        t["neg." + n] = {unary<T, T, negate<T>>, S::one, Class::integer};
    }
    if constexpr (sizeof(T) < 8) {
        t["mul.wide." + n] = {binary<Twice<T>, T, T, mul_wide<T>>, S::wide, Class::integer};
        t["mad.wide." + n] = {ternary<Twice<T>, T, T, Twice<T>, mad_wide<T>>, S::mwide, Class::integer};
    }
    std::string_view cmp = sizeof(T) == 8 ? "p=88p" : "p=44p";
    auto set = [&](const char* op, Handler h) { t[std::string("setp.") + op + "." + n] = {h, cmp, Class::compare}; };
    set("eq", compare<T, eq<T>>);
    set("ne", compare<T, ne<T>>);
    set("lt", compare<T, lt<T>>);
    set("le", compare<T, le<T>>);
    set("gt", compare<T, gt<T>>);
    set("ge", compare<T, ge<T>>);
    if constexpr (!std::is_signed_v<T>) {
        set("lo", compare<T, lt<T>>);
        set("ls", compare<T, le<T>>);
        set("hi", compare<T, gt<T>>);
        set("hs", compare<T, ge<T>>);
    }
}

template <class T> void logic(OpTable& t, const std::string& n) {
    using S = Sig<T>;
    t["and." + n] = {binary<T, T, T, band<T>>, S::two, Class::integer};
    t["or." + n] = {binary<T, T, T, bor<T>>, S::two, Class::integer};
    t["xor." + n] = {binary<T, T, T, bxor<T>>, S::two, Class::integer};
    t["not." + n] = {unary<T, T, bnot<T>>, S::one, Class::integer};
    t["cnot." + n] = {unary<T, T, cnot<T>>, S::one, Class::integer};
    t["shl." + n] = {binary<T, T, u32, shl<T>>, S::shift, Class::integer};
    t["shr." + n] = {binary<T, T, u32, shr<T>>, S::shift, Class::integer};
    t["mov." + n] = {unary<T, T, copy<T>>, S::one, Class::move};
    std::string_view cmp = sizeof(T) == 8 ? "p=88p" : "p=44p";
    t["setp.eq." + n] = {compare<T, eq<T>>, cmp, Class::compare};
    t["setp.ne." + n] = {compare<T, ne<T>>, cmp, Class::compare};
}

// add.cc and its kin: the carry of each lane is kept in Warp::carry.
template <class T> void with_carry(Ctx& c, const Insn& i) {
    const bool subtract = i.mode & 1, carry_in = i.mode & 2, carry_out = i.mode & 4;
    auto* d = c.dst<T>(i.d);
    const auto *a = c.src<T>(i.a), *b = c.src<T>(i.b);
    u32 carry = u32(c.warp->carry);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        unsigned __int128 in = carry_in ? carry >> l & 1 : 0;
        unsigned __int128 r = subtract ? (unsigned __int128)a[l] - b[l] - in : (unsigned __int128)a[l] + b[l] + in;
        d[l] = T(r);
        if (carry_out) carry = (carry & ~(1u << l)) | u32(r >> (sizeof(T) * 8) & 1) << l;
    }
    c.warp->carry = carry;
}

template <class T> void mad_with_carry(Ctx& c, const Insn& i) {
    const bool high = i.mode & 1, carry_in = i.mode & 2, carry_out = i.mode & 4, is_signed = i.mode & 8;
    auto* d = c.dst<T>(i.d);
    const auto *a = c.src<T>(i.a), *b = c.src<T>(i.b), *e = c.src<T>(i.c);
    u32 carry = u32(c.warp->carry);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        using S = std::make_signed_t<T>;
        auto product = is_signed ? (unsigned __int128)((__int128)S(a[l]) * S(b[l])) : (unsigned __int128)a[l] * b[l];
        T part = T(high ? product >> (sizeof(T) * 8) : product);
        unsigned __int128 r = (unsigned __int128)part + e[l] + (carry_in ? carry >> l & 1 : 0);
        d[l] = T(r);
        if (carry_out) carry = (carry & ~(1u << l)) | u32(r >> (sizeof(T) * 8) & 1) << l;
    }
    c.warp->carry = carry;
}

}  // namespace

void add_integer_ops(OpTable& t) {
    arithmetic<u16>(t, "u16");
    arithmetic<i16>(t, "s16");
    arithmetic<u32>(t, "u32");
    arithmetic<i32>(t, "s32");
    arithmetic<u64>(t, "u64");
    arithmetic<i64>(t, "s64");
    logic<u16>(t, "b16");
    logic<u32>(t, "b32");
    logic<u64>(t, "b64");
    t["add.sat.s32"] = {binary<i32, i32, i32, add_sat>, "4=44", Class::integer};
    t["sub.sat.s32"] = {binary<i32, i32, i32, sub_sat>, "4=44", Class::integer};
    t["mad.hi.sat.s32"] = {ternary<i32, i32, i32, i32, mad_hi_sat>, "4=444", Class::integer};
    t["mul24.lo.u32"] = {binary<u32, u32, u32, mul24<u32>>, "4=44", Class::integer};
    t["mul24.lo.s32"] = {binary<i32, i32, i32, mul24<i32>>, "4=44", Class::integer};
    t["mad24.lo.u32"] = {ternary<u32, u32, u32, u32, mad24<u32>>, "4=444", Class::integer};
    t["mad24.lo.s32"] = {ternary<i32, i32, i32, i32, mad24<i32>>, "4=444", Class::integer};
    for (const char* n : {"u32", "s32", "b32"}) t[std::string("carry.") + n] = {with_carry<u32>, "4=44", Class::integer};
    for (const char* n : {"u64", "s64", "b64"}) t[std::string("carry.") + n] = {with_carry<u64>, "8=88", Class::integer};
    for (const char* n : {"u32", "s32"}) t[std::string("madcarry.") + n] = {mad_with_carry<u32>, "4=444", Class::integer};
    for (const char* n : {"u64", "s64"}) t[std::string("madcarry.") + n] = {mad_with_carry<u64>, "8=888", Class::integer};
}

}  // namespace kgsim
