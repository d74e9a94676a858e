// Tensor-core instructions: their element types, and where a lane's elements lie in a matrix.
//
// The layouts of mma, ldmatrix and stmatrix are those of the PTX manual; wmma's fragments are opaque there, so
// element e of a lane with n elements is simply number lane * n + e of the matrix, row by row.
#pragma once
#include <algorithm>

#include "access.hpp"
#include "link.hpp"

namespace kgsim {

enum Element : u8 { f16, bf16, tf32, f32, s8, u8_, s32, e4m3, e5m2, unknown };
inline Element element(std::string_view name) {
    static constexpr std::string_view names[] = {"f16", "bf16", "tf32", "f32", "s8", "u8", "s32", "e4m3", "e5m2"};
    return Element(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}
inline bool is_byte(u32 type) { return type == s8 || type == u8_; }
inline bool is_quarter(u32 type) { return type == e4m3 || type == e5m2; }
inline u32 per_register(u32 type) {
    return type == f16 || type == bf16 ? 2 : is_byte(type) || is_quarter(type) ? 4 : 1;
}

constexpr u16 saturating = 16;  // of the mode: an s32 result is clamped, not wrapped

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
inline Parts parts(const Ctx& c, const Insn& i) { return {c.code->lists.data() + i.list}; }

struct Cell2 { u32 row, column; };

// Where element `e` of a lane's operand lies: which 0 is the result, 1 and 2 the factors, 3 the addend.
inline Cell2 place(const Insn& i, const Parts& p, int which, u32 lane, u32 e) {
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

// The number that part `part` of a register's word holds.
double value_of(u32 word, u32 part, u32 type);

void run_mma(Ctx& c, const Insn& i);
void run_load_matrix(Ctx& c, const Insn& i);
void run_store_matrix(Ctx& c, const Insn& i);
void run_wmma_memory(Ctx& c, const Insn& i);

}  // namespace kgsim
