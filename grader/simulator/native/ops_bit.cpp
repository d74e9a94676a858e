// Bit fields, permutations, funnel shifts, selection, predicate logic.
#include "alu.hpp"

namespace kgsim {
namespace {

template <class T> T bfe(T a, u32 b, u32 c) {
    using U = std::make_unsigned_t<T>;
    const u32 width = sizeof(T) * 8, pos = b & 0xff, len = c & 0xff;
    const u32 last = pos + len - 1;
    const bool sign = std::is_signed_v<T> && len != 0 && (U(a) >> (last < width ? last : width - 1) & 1);
    const u32 there = pos < width ? (len < width - pos ? len : width - pos) : 0;
    const U low = there >= width ? ~U(0) : (U(1) << there) - 1;
    return T(((pos < width ? U(a) >> pos : 0) & low) | (sign ? ~low : 0));
}
template <class T> T bfi(T a, T b, u32 c, u32 d) {
    const u32 width = sizeof(T) * 8, pos = c & 0xff, len = d & 0xff;
    if (pos >= width || len == 0) return b;
    T low = len >= width ? ~T(0) : (T(1) << len) - 1;
    T field = low << pos;
    return (b & ~field) | (a << pos & field);
}
template <class T> void run_bfi(Ctx& c, const Insn& i) {
    auto* d = c.dst<T>(i.d);
    const auto *a = c.src<T>(i.a), *b = c.src<T>(i.b);
    const auto *p = c.src<u32>(i.c), *n = c.src<u32>(i.e);
    for (u32 l = 0; l < warp_lanes; ++l) {
        T r = bfi(a[l], b[l], p[l], n[l]);
        d[l] = c.m[l] ? r : d[l];
    }
}
template <class T> u32 bfind(T a) {
    using U = std::make_unsigned_t<T>;
    U v = U(a);
    if (std::is_signed_v<T> && a < 0) v = ~v;
    return v == 0 ? ~0u : u32(sizeof(T) * 8 - 1 - std::countl_zero(v));
}
template <class T> u32 bfind_shift(T a) {
    u32 r = bfind(a);
    return r == ~0u ? r : u32(sizeof(T) * 8 - 1) - r;
}
template <class T> u32 clz(T a) { return u32(std::countl_zero(a)); }
template <class T> u32 popc(T a) { return u32(std::popcount(a)); }
u32 brev32(u32 v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}
u64 brev64(u64 v) { return u64(brev32(u32(v))) << 32 | brev32(u32(v >> 32)); }
u32 shf_l_clamp(u32 a, u32 b, u32 c) { c = c > 32 ? 32 : c; return u32(((u64(b) << 32 | a) << c) >> 32); }
u32 shf_l_wrap(u32 a, u32 b, u32 c) { return u32(((u64(b) << 32 | a) << (c & 31)) >> 32); }
u32 shf_r_clamp(u32 a, u32 b, u32 c) { c = c > 32 ? 32 : c; return u32((u64(b) << 32 | a) >> c); }
u32 shf_r_wrap(u32 a, u32 b, u32 c) { return u32((u64(b) << 32 | a) >> (c & 31)); }
u32 prmt(u32 a, u32 b, u32 c) {
    u64 bytes = u64(b) << 32 | a;
    u32 r = 0;
    for (int k = 0; k < 4; ++k) {
        u32 s = c >> 4 * k;
        u32 v = u32(bytes >> 8 * (s & 7)) & 0xff;
        if (s & 8) v = v & 0x80 ? 0xff : 0;
        r |= v << 8 * k;
    }
    return r;
}
template <int Mode> u32 prmt_mode(u32 a, u32 b, u32 c) {
    static constexpr u16 f4e[] = {0x3210, 0x4321, 0x5432, 0x6543}, b4e[] = {0x5670, 0x6701, 0x7012, 0x0123};
    static constexpr u16 rc8[] = {0, 0x1111, 0x2222, 0x3333}, ecl[] = {0x3210, 0x3211, 0x3222, 0x3333};
    static constexpr u16 ecr[] = {0, 0x1110, 0x2210, 0x3210}, rc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
    const u16* sel = Mode == 0 ? f4e : Mode == 1 ? b4e : Mode == 2 ? rc8 : Mode == 3 ? ecl : Mode == 4 ? ecr : rc16;
    return prmt(a, b, sel[c & 3]);
}
void lop3(Ctx& c, const Insn& i) {
    auto* d = c.dst<u32>(i.d);
    const auto *a = c.src<u32>(i.a), *b = c.src<u32>(i.b), *e = c.src<u32>(i.c);
    const u32 table = u32(i.imm);
    u32 t[8];
    for (int k = 0; k < 8; ++k) t[k] = table >> k & 1 ? ~0u : 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        u32 x = a[l], y = b[l], z = e[l];
        u32 r = (~x & ~y & ~z & t[0]) | (~x & ~y & z & t[1]) | (~x & y & ~z & t[2]) | (~x & y & z & t[3]) |
                (x & ~y & ~z & t[4]) | (x & ~y & z & t[5]) | (x & y & ~z & t[6]) | (x & y & z & t[7]);
        d[l] = c.m[l] ? r : d[l];
    }
}
u32 fns(u32 mask, u32 base, i32 offset) {
    if (base > 31) return ~0u;
    if (offset == 0) return mask >> base & 1 ? base : ~0u;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int at = int(base); at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0) return u32(at);
    return ~0u;
}
u32 ones(u32 n) { return n >= 32 ? ~0u : (1u << n) - 1; }
u32 bmsk_clamp(u32 from, u32 n) { return from >= 32 ? 0 : ones(n) << from; }
u32 bmsk_wrap(u32 from, u32 n) { return ones(n & 31) << (from & 31); }
template <class T> T szext_clamp(T a, u32 n) { return n >= 32 ? a : n == 0 ? T(0) : T(T(u32(a) << (32 - n)) >> (32 - n)); }
template <class T> T szext_wrap(T a, u32 n) { return szext_clamp(a, n & 31); }
i32 dp4a_ss(i32 a, i32 b, i32 c) { u32 r = u32(c); for (int k = 0; k < 4; ++k) r += u32(i32(i8(a >> 8 * k)) * i32(i8(b >> 8 * k))); return i32(r); }
i32 dp4a_uu(i32 a, i32 b, i32 c) { u32 r = u32(c); for (int k = 0; k < 4; ++k) r += u32(u8(a >> 8 * k)) * u32(u8(b >> 8 * k)); return i32(r); }
i32 dp4a_su(i32 a, i32 b, i32 c) { u32 r = u32(c); for (int k = 0; k < 4; ++k) r += u32(i32(i8(a >> 8 * k)) * i32(u8(b >> 8 * k))); return i32(r); }
i32 dp4a_us(i32 a, i32 b, i32 c) { return dp4a_su(b, a, c); }

template <class T> void selp(Ctx& c, const Insn& i) {
    auto* d = c.dst<T>(i.d);
    const auto *a = c.src<T>(i.a), *b = c.src<T>(i.b);
    const u32 p = c.truth(i.c);
    for (u32 l = 0; l < warp_lanes; ++l) {
        T r = p >> l & 1 ? a[l] : b[l];
        d[l] = c.m[l] ? r : d[l];
    }
}
template <class T> T slct_int(T a, T b, i32 c) { return c >= 0 ? a : b; }
template <class T> T slct_f32(T a, T b, float c) { return c >= 0 ? a : b; }

template <int Op> void pred_op(Ctx& c, const Insn& i) {
    u32 a = c.truth(i.a), b = i.b == none ? 0 : c.truth(i.b);
    c.put(i.d, Op == 0 ? a & b : Op == 1 ? a | b : Op == 2 ? a ^ b : Op == 3 ? ~a : a);
}

// mov.b32 {a, b}, c and its kin: parts in i.list, mode 1 packs, 2 unpacks.
void move_parts(Ctx& c, const Insn& i) {
    const u32* parts = c.code->lists.data() + i.list;
    const u32 part_bits = i.width * 8, n = i.vec;
    const bool whole64 = part_bits * n == 64;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        if (i.mode == 1) {
            u64 v = 0;
            for (u32 k = 0; k < n; ++k) {
                u64 part = part_bits == 64 ? c.src<u64>(parts[k])[l] : c.src<u32>(parts[k])[l];
                v |= (part & ((u64(1) << part_bits) - 1)) << part_bits * k;
            }
            if (whole64) c.dst<u64>(i.d)[l] = v; else c.dst<u32>(i.d)[l] = u32(v);
        } else {
            u64 v = whole64 ? c.src<u64>(i.a)[l] : c.src<u32>(i.a)[l];
            for (u32 k = 0; k < n; ++k)
                if (parts[k] != none) c.dst<u32>(parts[k])[l] = u32(v >> part_bits * k & ((u64(1) << part_bits) - 1));
        }
    }
    if (!c.warp->poisoned) return;
    if (i.mode == 1) {
        u32 bad = 0, from = 0;
        for (u32 k = 0; k < n; ++k) if (u32 q = c.poison_of(parts[k])) { bad |= q; from = c.origin_of(parts[k]); }
        c.set_poison(i.d, bad, from);
    } else {
        for (u32 k = 0; k < n; ++k) c.set_poison(parts[k], c.poison_of(i.a), c.poison_of(i.a) ? c.origin_of(i.a) : 0);
    }
}

}  // namespace

void add_bit_ops(OpTable& t) {
    auto put = [&](const char* name, Handler h, std::string_view sig, Class k = Class::integer) { t[name] = {h, sig, k}; };
    put("bfe.u32", ternary<u32, u32, u32, u32, bfe<u32>>, "4=444");
    put("bfe.s32", ternary<i32, i32, u32, u32, bfe<i32>>, "4=444");
    put("bfe.u64", ternary<u64, u64, u32, u32, bfe<u64>>, "8=844");
    put("bfe.s64", ternary<i64, i64, u32, u32, bfe<i64>>, "8=844");
    put("bfi.b32", run_bfi<u32>, "4=4444");
    put("bfi.b64", run_bfi<u64>, "8=8844");
    put("bfind.u32", unary<u32, u32, bfind<u32>>, "4=4");
    put("bfind.s32", unary<u32, i32, bfind<i32>>, "4=4");
    put("bfind.u64", unary<u32, u64, bfind<u64>>, "4=8");
    put("bfind.s64", unary<u32, i64, bfind<i64>>, "4=8");
    put("bfind.shiftamt.u32", unary<u32, u32, bfind_shift<u32>>, "4=4");
    put("bfind.shiftamt.s32", unary<u32, i32, bfind_shift<i32>>, "4=4");
    put("bfind.shiftamt.u64", unary<u32, u64, bfind_shift<u64>>, "4=8");
    put("bfind.shiftamt.s64", unary<u32, i64, bfind_shift<i64>>, "4=8");
    put("clz.b32", unary<u32, u32, clz<u32>>, "4=4");
    put("clz.b64", unary<u32, u64, clz<u64>>, "4=8");
    put("popc.b32", unary<u32, u32, popc<u32>>, "4=4");
    put("popc.b64", unary<u32, u64, popc<u64>>, "4=8");
    put("brev.b32", unary<u32, u32, brev32>, "4=4");
    put("brev.b64", unary<u64, u64, brev64>, "8=8");
    put("shf.l.clamp.b32", ternary<u32, u32, u32, u32, shf_l_clamp>, "4=444");
    put("shf.l.wrap.b32", ternary<u32, u32, u32, u32, shf_l_wrap>, "4=444");
    put("shf.r.clamp.b32", ternary<u32, u32, u32, u32, shf_r_clamp>, "4=444");
    put("shf.r.wrap.b32", ternary<u32, u32, u32, u32, shf_r_wrap>, "4=444");
    put("prmt.b32", ternary<u32, u32, u32, u32, prmt>, "4=444");
    put("prmt.b32.f4e", ternary<u32, u32, u32, u32, prmt_mode<0>>, "4=444");
    put("prmt.b32.b4e", ternary<u32, u32, u32, u32, prmt_mode<1>>, "4=444");
    put("prmt.b32.rc8", ternary<u32, u32, u32, u32, prmt_mode<2>>, "4=444");
    put("prmt.b32.ecl", ternary<u32, u32, u32, u32, prmt_mode<3>>, "4=444");
    put("prmt.b32.ecr", ternary<u32, u32, u32, u32, prmt_mode<4>>, "4=444");
    put("prmt.b32.rc16", ternary<u32, u32, u32, u32, prmt_mode<5>>, "4=444");
    put("lop3.b32", lop3, "4=444#");
    put("bmsk.clamp.b32", binary<u32, u32, u32, bmsk_clamp>, "4=44");
    put("bmsk.wrap.b32", binary<u32, u32, u32, bmsk_wrap>, "4=44");
    put("szext.clamp.u32", binary<u32, u32, u32, szext_clamp<u32>>, "4=44");
    put("szext.clamp.s32", binary<i32, i32, u32, szext_clamp<i32>>, "4=44");
    put("szext.wrap.u32", binary<u32, u32, u32, szext_wrap<u32>>, "4=44");
    put("szext.wrap.s32", binary<i32, i32, u32, szext_wrap<i32>>, "4=44");
    put("fns.b32", ternary<u32, u32, u32, i32, fns>, "4=444");
    put("dp4a.s32.s32", ternary<i32, i32, i32, i32, dp4a_ss>, "4=444");
    put("dp4a.u32.u32", ternary<i32, i32, i32, i32, dp4a_uu>, "4=444");
    put("dp4a.s32.u32", ternary<i32, i32, i32, i32, dp4a_su>, "4=444");
    put("dp4a.u32.s32", ternary<i32, i32, i32, i32, dp4a_us>, "4=444");
    for (const char* n : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "f16", "bf16", "f16x2", "bf16x2"})
        t[std::string("selp.") + n] = {selp<u32>, "4=44p", Class::move};
    for (const char* n : {"b64", "u64", "s64", "f64"}) t[std::string("selp.") + n] = {selp<u64>, "8=88p", Class::move};
    for (const char* n : {"b32", "u32", "s32", "f32"}) {
        t[std::string("slct.") + n + ".s32"] = {ternary<u32, u32, u32, i32, slct_int<u32>>, "4=444", Class::move};
        t[std::string("slct.") + n + ".f32"] = {ternary<u32, u32, u32, float, slct_f32<u32>>, "4=444", Class::move};
    }
    for (const char* n : {"b64", "u64", "s64", "f64"}) {
        t[std::string("slct.") + n + ".s32"] = {ternary<u64, u64, u64, i32, slct_int<u64>>, "8=884", Class::move};
        t[std::string("slct.") + n + ".f32"] = {ternary<u64, u64, u64, float, slct_f32<u64>>, "8=884", Class::move};
    }
    put("and.pred", pred_op<0>, "p=pp", Class::compare);
    put("or.pred", pred_op<1>, "p=pp", Class::compare);
    put("xor.pred", pred_op<2>, "p=pp", Class::compare);
    put("not.pred", pred_op<3>, "p=p", Class::compare);
    put("mov.pred", pred_op<4>, "p=p", Class::compare);
    put("parts", move_parts, "", Class::move);
}

}  // namespace kgsim
