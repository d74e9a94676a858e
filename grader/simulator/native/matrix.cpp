// mma.sync and wmma.mma. Products are exact, sums are made in f64 and rounded once.
#include "floats.hpp"
#include "matrix.hpp"

namespace kgsim {

double value_of(u32 word, u32 part, u32 type) {
    const u32 low = word >> 32 / per_register(type) * part;
    switch (type) {
        case f16: return half_to_float(low & 0xffff);
        case bf16: return bf16_to_float(low & 0xffff);
        case tf32: return as_f32(word & ~0x1fffu);
        case s8: return i8(low);
        case u8_: return u8(low);
        case s32: return i32(word);
        case e4m3: return half_to_float(half_of_e4m3(low & 0xff));
        case e5m2: return half_to_float(half_of_e5m2(low & 0xff));
        default: return as_f32(word);
    }
}

namespace {

u32 whole_of(double v, bool clamped) {
    const i64 n = i64(v);  // exact: sums of bytes' products
    return clamped ? u32(std::clamp<i64>(n, INT32_MIN, INT32_MAX)) : u32(n);
}


void take(const Ctx& c, const Insn& i, const Parts& p, int which, std::vector<double>& matrix) {
    const u32 columns = which == 1 ? p.k() : p.n(), per = per_register(p.type(which));
    for (u32 r = 0; r < p.count(which); ++r) {
        const u32* v = c.src<u32>(p.list(which)[r]);
        for (u32 l = 0; l < warp_lanes; ++l)
            for (u32 h = 0; h < per; ++h) {
                const Cell2 at = place(i, p, which, l, r * per + h);
                const size_t index = size_t(at.row) * columns + at.column;
                if (index < matrix.size()) matrix[index] = value_of(v[l], h, p.type(which));
            }
    }
}

}  // namespace

void run_mma(Ctx& c, const Insn& i) {
    const Parts p = parts(c, i);
    std::vector<double> a(p.m() * p.k()), b(p.k() * p.n()), d(p.m() * p.n());
    take(c, i, p, 1, a);
    take(c, i, p, 2, b);
    take(c, i, p, 3, d);
    for (u32 row = 0; row < p.m(); ++row)
        for (u32 k = 0; k < p.k(); ++k)
            for (u32 column = 0; column < p.n(); ++column) d[row * p.n() + column] += a[row * p.k() + k] * b[k * p.n() + column];
    u32 bad = 0, from = 0;
    if (c.warp->poisoned)
        for (int which = 1; which < 4; ++which)
            for (u32 r = 0; r < p.count(which); ++r)
                if (u32 q = c.poison_of(p.list(which)[r])) { bad = ~0u; (void)q; from = c.origin_of(p.list(which)[r]); }
    const u32 per = per_register(p.type(0));
    for (u32 r = 0; r < p.count(0); ++r) {
        u32* out = c.dst<u32>(p.list(0)[r]);
        for (u32 l = 0; l < warp_lanes; ++l) {
            if (!(c.mask >> l & 1)) continue;
            u32 word = 0;
            for (u32 h = 0; h < per; ++h) {
                const Cell2 at = place(i, p, 0, l, r * per + h);
                const double v = d[(at.row * p.n() + at.column) % d.size()];
                word |= per == 2 ? double_to_half(v) << 16 * h : p.type(0) == s32 ? whole_of(v, i.mode & saturating) : bits_of(float(v));
            }
            out[l] = word;
        }
        if (c.warp->poisoned) c.set_poison(p.list(0)[r], bad, from);
    }
}

}  // namespace kgsim
