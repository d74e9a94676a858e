// Tensor-core instructions: mma.sync, ldmatrix, wmma. Products are exact, sums are made in f64 and rounded once.
//
// The layouts of mma and ldmatrix are those of the PTX manual; wmma's fragments are opaque there, so
// element e of a lane with n elements is simply number lane * n + e of the matrix, row by row.
#include <algorithm>

#include "access.hpp"
#include "floats.hpp"
#include "link.hpp"

namespace kgsim {
namespace {

enum Element : u8 { f16, bf16, tf32, f32, s8, u8_, s32, unknown };
Element element(std::string_view name) {
    static constexpr std::string_view names[] = {"f16", "bf16", "tf32", "f32", "s8", "u8", "s32"};
    return Element(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}
bool is_byte(u32 type) { return type == s8 || type == u8_; }
u32 per_register(u32 type) { return type == f16 || type == bf16 ? 2 : is_byte(type) ? 4 : 1; }

double value_of(u32 word, u32 part, u32 type) {
    const u32 low = word >> 32 / per_register(type) * part;
    switch (type) {
        case f16: return half_to_float(low & 0xffff);
        case bf16: return bf16_to_float(low & 0xffff);
        case tf32: return as_f32(word & ~0x1fffu);
        case s8: return i8(low);
        case u8_: return u8(low);
        case s32: return i32(word);
        default: return as_f32(word);
    }
}

constexpr u16 saturating = 16;  // of the mode: an s32 result is clamped, not wrapped
u32 whole_of(double v, bool clamped) {
    const i64 n = i64(v);  // exact: sums of bytes' products
    return clamped ? u32(std::clamp<i64>(n, INT32_MIN, INT32_MAX)) : u32(n);
}

// i.list: the numbers of registers of d, a, b, c, then shape m, n, k, then types d, a, b, c, then all operands.
struct Parts {
    const u32* words;
    u32 count(int k) const { return words[k]; }
    u32 m() const { return words[4]; }
    u32 n() const { return words[5]; }
    u32 k() const { return words[6]; }
    u32 type(int which) const { return words[7 + which]; }
    const u32* list(int which) const {
        u32 at = 11;
        for (int p = 0; p < which; ++p) at += words[p];
        return words + at;
    }
};
Parts parts(const Ctx& c, const Insn& i) { return {c.code->lists.data() + i.list}; }

struct Cell2 { u32 row, column; };

// Where element `e` of a lane's operand lies: which 0 is the result, 1 and 2 the factors, 3 the addend.
Cell2 place(const Insn& i, const Parts& p, int which, u32 lane, u32 e) {
    const u32 columns = which == 1 ? p.k() : p.n();
    if (i.mode & 1) {  // wmma
        const u32 rows = which == 2 ? p.k() : p.m(), n = p.count(which) * per_register(p.type(which));
        const u32 number = (lane * n + e) % (rows * columns);
        return {number / columns, number % columns};
    }
    const u32 group = lane / 4, in = lane % 4;
    if (which == 0 || which == 3) return {group + 8 * (e / 2), in * 2 + e % 2};
    const u32 per = per_register(p.type(which)), r = e / per, along = in * per + e % per;
    return which == 1 ? Cell2{group + 8 * (r % 2), along + 4 * per * (r / 2)} : Cell2{along + 4 * per * r, group};
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

// One element of each lane from memory, with all checks; returns the lanes that got something unwritten.
u32 fetch(Ctx& c, const Insn& i, Addresses at, u32 bytes, u32* out) {
    u32 bad = 0;
    settle(c, at);
    by_space(c, i, at, [&](Space space) {
        Addresses part = at;
        settle(c, part);
        u32 good;
        if (space == Space::shared) {
            if (i.space == Space::generic) for (u64& x : part.at) x -= u64(c.block->shared);
            good = check_shared(c, i, part, bytes, Access::load, footprint_of(c, part, bytes));
            if (c.counting) count_shared(c, i, part, bytes, good);
            if (c.races) race_load(c, i, part, bytes, good);
            if (c.uninit) bad |= unwritten_shared(c, part, bytes, good);
            for (u64& x : part.at) x += u64(c.block->shared);
        } else {
            good = check_global(c, i, part, bytes, Access::load, footprint_of(c, part, bytes));
            if (c.counting) count_global(c, i, part, bytes, good);
            if (c.uninit) bad |= unwritten_global(c, part, bytes, good);
        }
        for (u32 l = 0; l < warp_lanes; ++l) {
            if (!(c.mask >> l & 1)) continue;
            out[l] = 0;
            if (good >> l & 1) std::memcpy(&out[l], reinterpret_cast<const void*>(part.at[l]), bytes);
        }
    });
    return bad;
}

void keep(Ctx& c, const Insn& i, u32 dst, const u32* values, u32 bad) {
    u32* d = c.dst<u32>(dst);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? values[l] : d[l];
    if (bad || c.warp->poisoned) c.set_poison(dst, bad, origin(i.space == Space::shared ? Poison::shared : Poison::global, i.id));
}

void run_load_matrix(Ctx& c, const Insn& i) {
    Addresses rows;
    addresses_of(c, i, rows);
    const u32* list = c.code->lists.data() + i.list;
    for (u32 j = 0; j < i.vec; ++j) {
        u32 out[warp_lanes] = {}, bad = 0;
        for (u32 half = 0; half < (i.mode & 2 ? 2u : 1u); ++half) {
            Addresses at;
            for (u32 l = 0; l < warp_lanes; ++l)
                at.at[l] = i.mode & 2 ? rows.at[8 * j + 2 * (l % 4) + half] + l / 4 * 2 : rows.at[8 * j + l / 4] + l % 4 * 4;
            u32 part[warp_lanes] = {};
            bad |= fetch(c, i, at, i.mode & 2 ? 2 : 4, part);
            for (u32 l = 0; l < warp_lanes; ++l) out[l] |= part[l] << 16 * half;
        }
        keep(c, i, list[j], out, bad);
    }
}

// mode 2: a store; 4: by columns. i.b holds the stride, in elements; i.imm the base's offset.
void run_wmma_memory(Ctx& c, const Insn& i) {
    const Parts p = parts(c, i);
    const int which = i.flags & 3;
    const u32 columns = which == 1 ? p.k() : p.n(), rows = which == 2 ? p.k() : p.m(), per = per_register(p.type(which));
    const bool by_column = i.mode & 4, store = i.mode & 2;
    Insn element_access = i;
    element_access.mode = i.mode & 8 ? 1 : 0;
    Addresses base;
    addresses_of(c, element_access, base);
    const u32* stride = i.b == none ? nullptr : c.src<u32>(i.b);
    const u32 bytes = 4 / per, bits = 8 * bytes;
    for (u32 r = 0; r < p.count(which); ++r) {
        u32 out[warp_lanes] = {}, bad = 0;
        for (u32 h = 0; h < per; ++h) {
            Addresses at;
            for (u32 l = 0; l < warp_lanes; ++l) {
                const Cell2 x = place(i, p, which, l, r * per + h);
                const u64 leading = stride ? stride[l] : by_column ? rows : columns;
                at.at[l] = base.at[l] + bytes * (by_column ? x.column * leading + x.row : x.row * leading + x.column);
            }
            if (store) {
                u32 values[warp_lanes];
                for (u32 l = 0; l < warp_lanes; ++l) values[l] = c.src<u32>(p.list(which)[r])[l] >> bits * h;
                store_elements(c, element_access, at, bytes, values, p.list(which)[r]);
            } else {
                u32 part[warp_lanes] = {};
                bad |= fetch(c, element_access, at, bytes, part);
                for (u32 l = 0; l < warp_lanes; ++l) out[l] |= part[l] << bits * h;
            }
        }
        if (!store) keep(c, i, p.list(which)[r], out, bad);
    }
}

// Reads `m16n8k16`; what is no whole shape leaves the numbers as they are.
bool shape_of(std::string_view word, u32* mnk) {
    const char letters[] = {'m', 'n', 'k'};
    u32 found[3];
    size_t at = 0;
    for (int k = 0; k < 3; ++k) {
        if (at >= word.size() || word[at] != letters[k]) return false;
        ++at;
        u32 v = 0;
        while (at < word.size() && word[at] >= '0' && word[at] <= '9' && v < 1000) v = v * 10 + u32(word[at++] - '0');
        if (v == 0 || v > 32) return false;
        found[k] = v;
    }
    if (at == word.size()) std::copy(found, found + 3, mnk);
    return at == word.size();
}

}  // namespace

bool Binder::bind_matrix() {
    auto b = op_.base();
    const auto& ops = raw_.operands;
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::tensor;
    insn.e = f_.kernel_.constant(0xffffffff, 4);  // all lanes of the warp
    if (!op_.has("sync")) return false;
    if (b == "ldmatrix") {
        if (ops.size() != 2 || !op_.has("m8n8") || op_.words.back() != "b16") return false;
        insn.space = op_.has("shared") || op_.has("shared::cta") ? Space::shared : Space::generic;
        if (!address(ops[1], insn)) return false;
        const u16 base_mode = insn.mode & 1;
        insn.mode = 0;
        if (!list(ops[0], insn, true) || (insn.vec != 1 && insn.vec != 2 && insn.vec != 4)) return false;
        insn.mode = u16(base_mode | (op_.has("trans") ? 2 : 0));
        insn.run = run_load_matrix;
        insn.klass = Class::load_shared;
        insn.width = 4;
        if (op_.has("trans")) f_.code_.granule = std::min<u32>(f_.code_.granule, 2);
        emit(insn);
        return true;
    }
    u32 mnk[3] = {0, 0, 0};
    std::vector<u32> types;
    for (auto w : op_.words) {
        if (mnk[0] == 0 && shape_of(w, mnk)) continue;
        if (element(w) != unknown) types.push_back(element(w));
        else if (w.size() > 1 && w.size() < 5 && (w[0] == 's' || w[0] == 'u' || w[0] == 'e' || w == "f64" || w == "b1") && w[1] >= '0' && w[1] <= '9') return false;
    }
    if (!mnk[0]) return false;
    std::vector<u32> head(11, 0), words;
    std::copy(mnk, mnk + 3, head.begin() + 4);
    auto add = [&](const Operand& o, int which, bool is_destination) {
        Insn dummy;
        if (!list(o, dummy, is_destination)) return false;
        head[size_t(which)] = dummy.vec;
        words.insert(words.end(), f_.code_.lists.begin() + dummy.list, f_.code_.lists.end());
        f_.code_.lists.resize(dummy.list);
        return true;
    };
    const bool wmma = b == "wmma";
    if (b == "mma" || (wmma && op_.words[1] == "mma")) {
        if (ops.size() != 4) return false;
        if (wmma && types.size() == 2) types = {types[0], f16, f16, types[1]};
        if (types.size() != 4) return false;
        const bool whole = is_byte(types[1]) && is_byte(types[2]) && types[0] == s32 && types[3] == s32;
        if (!whole && ((types[0] != f32 && types[0] != f16) || types[1] != types[2] || types[1] > f32)) return false;
        if (!wmma && (mnk[0] != 16 || mnk[1] != 8 || (!op_.has("row") || !op_.has("col")))) return false;
        std::copy(types.begin(), types.end(), head.begin() + 7);
        for (int which = 0; which < 4; ++which) if (!add(ops[size_t(which)], which, which == 0)) return false;
        const u32 sizes[] = {mnk[0] * mnk[1], mnk[0] * mnk[2], mnk[2] * mnk[1], mnk[0] * mnk[1]};
        for (int which = 0; which < 4; ++which) {
            const u32 n = head[size_t(which)] * per_register(types[size_t(which)]) * warp_lanes;
            if (wmma ? n < sizes[which] : n != sizes[which]) return false;
        }
        insn.run = run_mma;
        insn.mode = u16(wmma | (op_.has("satfinite") ? saturating : 0));
    } else if (wmma && op_.words.size() > 3 && (op_.words[1] == "load" || op_.words[1] == "store")) {
        const bool store = op_.words[1] == "store";
        const int which = op_.words[2] == "a" ? 1 : op_.words[2] == "b" ? 2 : op_.words[2] == "c" ? 3 : 0;
        if (ops.size() < 2 || types.size() != 1) return false;
        insn.space = op_.has("shared") || op_.has("shared::cta") ? Space::shared : op_.has("global") ? Space::global : Space::generic;
        head[7 + size_t(which)] = types[0];
        if (!address(ops[store ? 0 : 1], insn)) return false;
        const bool wide = insn.mode & 1;
        if (!add(ops[store ? 1 : 0], which, !store)) return false;
        if (ops.size() > 2) insn.b = source(ops[2], '4');
        insn.mode = u16(1 | (store ? 2 : 0) | (op_.has("col") ? 4 : 0) | (wide ? 8 : 0));
        insn.flags = u16(which);
        insn.width = u8(4 / per_register(types[0]));
        insn.klass = insn.space == Space::shared ? (store ? Class::store_shared : Class::load_shared) : (store ? Class::store_global : Class::load_global);
        f_.code_.granule = std::min<u32>(f_.code_.granule, insn.width);
        if (store) f_.code_.global_granule = std::min<u32>(f_.code_.global_granule, insn.width);
        if (store) f_.code_.global_cell = std::min<u32>(f_.code_.global_cell, insn.width);
        insn.run = run_wmma_memory;
    } else {
        return false;
    }
    insn.list = u32(f_.code_.lists.size());
    f_.code_.lists.insert(f_.code_.lists.end(), head.begin(), head.end());
    f_.code_.lists.insert(f_.code_.lists.end(), words.begin(), words.end());
    emit(insn);
    return true;
}

}  // namespace kgsim
