// f16, bf16 and their packed pairs: computed in f32 or f64 and rounded once.
#include "alu.hpp"
#include "floats.hpp"

namespace kgsim {
namespace {

template <bool BF> float widen(u32 h) { return BF ? bf16_to_float(h & 0xffff) : half_to_float(h & 0xffff); }
template <bool BF> u32 pack(float v) { return BF ? float_to_bf16(v) : float_to_half(v); }
template <bool BF> u32 pack(double v) { return BF ? double_to_bf16(v) : double_to_half(v); }

enum { Add, Sub, Mul, Min, Max, MinNan, MaxNan };

// f32 has more than twice the digits of either format, so rounding its result again is right.
template <bool BF, int Op> u32 two(u32 a, u32 b, u16 flags) {
    constexpr u32 nan = 0x7fff;
    a &= 0xffff, b &= 0xffff;
    float x = widen<BF>(a), y = widen<BF>(b);
    if constexpr (Op == Add || Op == Sub || Op == Mul) {
        float r = Op == Add ? x + y : Op == Sub ? x - y : x * y;
        if (flags & sat) r = clamp01(r);
        return pack<BF>(r);
    } else {
        bool less = Op == Min || Op == MinNan;
        if (x != x || y != y) return Op == MinNan || Op == MaxNan || (x != x && y != y) ? nan : x != x ? b : a;
        if (x == y) return less ? a | b : a & b;
        return (x < y) == less ? a : b;
    }
}
template <bool BF> u32 fma_half(u32 a, u32 b, u32 c, u16 flags) {
    double p = double(widen<BF>(a)) * double(widen<BF>(b));
    u32 r = pack<BF>(sum_to_odd(p, double(widen<BF>(c))));
    if (flags & sat) r = pack<BF>(clamp01(widen<BF>(r)));
    if (flags & relu) r = r & 0x8000 && (r & 0x7fff) <= (BF ? 0x7f80u : 0x7c00u) ? 0 : r;
    return r;
}

template <bool BF, int Op, bool Packed> void half_two(Ctx& c, const Insn& i) {
    auto* d = c.dst<u32>(i.d);
    const auto *a = c.src<u32>(i.a), *b = c.src<u32>(i.b);
    const u16 flags = i.flags;
    for (u32 l = 0; l < warp_lanes; ++l) {
        u32 r = two<BF, Op>(a[l], b[l], flags);
        if constexpr (Packed) r |= two<BF, Op>(a[l] >> 16, b[l] >> 16, flags) << 16;
        d[l] = c.m[l] ? r : d[l];
    }
}
template <bool BF, bool Packed> void half_fma(Ctx& c, const Insn& i) {
    auto* d = c.dst<u32>(i.d);
    const auto *a = c.src<u32>(i.a), *b = c.src<u32>(i.b), *e = c.src<u32>(i.c);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        u32 r = fma_half<BF>(a[l], b[l], e[l], i.flags);
        if constexpr (Packed) r |= fma_half<BF>(a[l] >> 16, b[l] >> 16, e[l] >> 16, i.flags) << 16;
        d[l] = r;
    }
}
template <u32 And, u32 Xor> u32 bit_change(u32 a) { return (a & And) ^ Xor; }

template <bool BF> u32 exp2_half(u32 a) { return pack<BF>(std::exp2(widen<BF>(a))); }
template <bool BF> u32 tanh_half(u32 a) { return pack<BF>(std::tanh(widen<BF>(a))); }
template <u32 (*F)(u32)> u32 both(u32 a) { return F(a) | F(a >> 16) << 16; }

bool holds(u16 mode, float a, float b) {
    bool nan = a != a || b != b;
    switch (mode) {
        case 0: return a == b;
        case 1: return !nan && a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        case 5: return a >= b;
        case 6: return nan || a == b;
        case 7: return a != b;
        case 8: return !(a >= b);
        case 9: return !(a > b);
        case 10: return !(a <= b);
        case 11: return !(a < b);
        case 12: return !nan;
        default: return nan;
    }
}
constexpr const char* comparison_names[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

struct Floats { alignas(64) float of[warp_lanes]; };

// Out of line, and once for all comparisons of a format: there are 168 handlers.
template <bool BF> [[gnu::noinline]] Floats widened(const u32* values, u32 shift) {
    Floats f;
    for (u32 l = 0; l < warp_lanes; ++l) f.of[l] = widen<BF>(values[l] >> shift);
    return f;
}
template <u16 Mode> [[gnu::noinline]] u32 lanes_where(const Floats& a, const Floats& b) {
    u32 lanes = 0;
    for (u32 l = 0; l < warp_lanes; ++l) lanes |= u32(holds(Mode, a.of[l], b.of[l])) << l;
    return lanes;
}
template <bool BF, u16 Mode> u32 compared(Ctx& c, const Insn& i, u32 shift) {
    return lanes_where<Mode>(widened<BF>(c.src<u32>(i.a), shift), widened<BF>(c.src<u32>(i.b), shift));
}

template <bool BF, bool Packed, u16 Mode> void half_setp(Ctx& c, const Insn& i) {
    const u32 low = compared<BF, Mode>(c, i, 0), high = Packed ? compared<BF, Mode>(c, i, 16) : ~low;
    c.put(i.d, low);
    c.put(i.d2, high);
}
// As above: what lanes hold where a comparison is true, in the low and the high half; 0 elsewhere.
[[gnu::noinline]] void put_where(Ctx& c, const Insn& i, u32 low, u32 high, u32 yes) {
    auto* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) {
        const u32 r = (low >> l & 1 ? yes : 0) | (high >> l & 1 ? yes << 16 : 0);
        d[l] = c.m[l] ? r : d[l];
    }
}
// set.lt.f16x2.f16x2: 1.0 or 0.0 (or all ones for an integer result), by half.
template <bool BF, bool Packed, u16 Mode, bool Bits> void half_set(Ctx& c, const Insn& i) {
    const u32 low = compared<BF, Mode>(c, i, 0), high = Packed ? compared<BF, Mode>(c, i, 16) : 0;
    put_where(c, i, low, high, Bits ? 0xffff : BF ? 0x3f80 : 0x3c00);
}

template <bool BF, bool Packed> void arithmetic(OpTable& t, const std::string& n) {
    auto put = [&](const char* op, Handler h) { t[op + n] = {h, "4=44", Class::fp16}; };
    put("add.", half_two<BF, Add, Packed>);
    put("sub.", half_two<BF, Sub, Packed>);
    put("mul.", half_two<BF, Mul, Packed>);
    put("min.", half_two<BF, Min, Packed>);
    put("max.", half_two<BF, Max, Packed>);
    put("min.NaN.", half_two<BF, MinNan, Packed>);
    put("max.NaN.", half_two<BF, MaxNan, Packed>);
    t["fma." + n] = {half_fma<BF, Packed>, "4=444", Class::fp16};
    constexpr u32 sign = Packed ? 0x80008000 : 0x8000, all = Packed ? ~0u : 0xffff;
    t["neg." + n] = {unary<u32, u32, bit_change<all, sign>>, "4=4", Class::fp16};
    t["abs." + n] = {unary<u32, u32, bit_change<all & ~sign, 0>>, "4=4", Class::fp16};
    if constexpr (Packed) {
        t["ex2." + n] = {unary<u32, u32, both<exp2_half<BF>>>, "4=4", Class::special};
        t["tanh." + n] = {unary<u32, u32, both<tanh_half<BF>>>, "4=4", Class::special};
    } else {
        t["ex2." + n] = {unary<u32, u32, exp2_half<BF>>, "4=4", Class::special};
        t["tanh." + n] = {unary<u32, u32, tanh_half<BF>>, "4=4", Class::special};
    }
}

// The names are put together in a loop: written out for each mode they take longer to compile than all handlers.
template <bool BF, bool Packed, u16... Modes> void comparisons(OpTable& t, const std::string& n, std::integer_sequence<u16, Modes...>) {
    struct { Handler setp, set, bits; } constexpr handlers[] = {
        {half_setp<BF, Packed, Modes>, half_set<BF, Packed, Modes, false>, half_set<BF, Packed, Modes, true>}...};
    for (u16 mode : {Modes...}) {
        const std::string name = comparison_names[mode], set = "set." + name;
        t["setp." + name + "." + n] = {handlers[mode].setp, "p=44p", Class::compare};
        t[set + "." + n + "." + n] = {handlers[mode].set, "4=44", Class::compare};
        t[set + (Packed ? ".u32." : ".u16.") + n] = {handlers[mode].bits, "4=44", Class::compare};
    }
}

}  // namespace

void add_half_ops(OpTable& t) {
    arithmetic<false, false>(t, "f16");
    arithmetic<false, true>(t, "f16x2");
    arithmetic<true, false>(t, "bf16");
    arithmetic<true, true>(t, "bf16x2");
    using All = std::make_integer_sequence<u16, 14>;
    comparisons<false, false>(t, "f16", All());
    comparisons<false, true>(t, "f16x2", All());
    comparisons<true, false>(t, "bf16", All());
    comparisons<true, true>(t, "bf16x2", All());
}

}  // namespace kgsim
