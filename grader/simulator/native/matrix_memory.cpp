// Matrices between memory and registers: ldmatrix, stmatrix, wmma.load and wmma.store.
#include "matrix.hpp"
#include "watcher.hpp"

namespace kgsim {
namespace {

// One element of each lane from memory, with all checks; returns the lanes that got something unwritten.
u32 fetch(Ctx& c, const Insn& i, Addresses at, u32 bytes, u32* out) {
    u32 bad = 0;
    settle(c, at);
    if (c.watcher) c.watcher->fetched(c, i, at, bytes);
    by_space(c, i, at, [&](Space space) {
        Addresses part = at;
        settle(c, part);
        u32 good;
        if (space == Space::shared) {
            if (i.space == Space::generic) for (u64& x : part.at) x -= u64(c.block->shared);
            good = check_shared(c, i, part, bytes, Access::load, footprint_of(c, part, bytes));
            if (c.counting) count_shared(c, i, part, bytes, good);
            if (c.shared_races) race_load(c, i, part, bytes, good);
            if (c.uninit) bad |= unwritten_shared(c, part, bytes, good);
            for (u64& x : part.at) x += u64(c.block->shared);
        } else {
            good = check_global(c, i, part, bytes, Access::load, footprint_of(c, part, bytes));
            if (c.counting) count_global(c, i, part, bytes, good);
            if (c.uninit) bad |= unwritten_global(c, part, bytes, good);
        }
        const u64 outside = c.launch->options.outside;
        for (u32 l = 0; l < warp_lanes; ++l) {
            if (!(c.mask >> l & 1)) continue;
            out[l] = 0;
            std::memcpy(&out[l], &outside, bytes);
            if (good >> l & 1) std::memcpy(&out[l], reinterpret_cast<const void*>(part.at[l]), bytes);
        }
    });
    return bad;
}

void keep(Ctx& c, const Insn& i, u32 dst, const u32* values, u32 bad) {
    u32* d = c.dst<u32>(dst);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? values[l] : d[l];
    if (c.watcher) c.watcher->kept(c, i, dst);
    if (bad || c.warp->poisoned) c.set_poison(dst, bad, origin(i.space == Space::shared ? Poison::shared : Poison::global, i.id));
}

// Where each lane's word of 8x8 matrix `j` lies: lane 8 * j + r holds the address of its row r. By columns (mode 2) a
// word's two halves lie in two rows.
Addresses words_of(const Addresses& rows, u32 j, u32 half, bool by_column) {
    Addresses at;
    for (u32 l = 0; l < warp_lanes; ++l)
        at.at[l] = by_column ? rows.at[8 * j + 2 * (l % 4) + half] + l / 4 * 2 : rows.at[8 * j + l / 4] + l % 4 * 4;
    return at;
}

}  // namespace

void run_load_matrix(Ctx& c, const Insn& i) {
    Addresses rows;
    addresses_of(c, i, rows);
    const bool by_column = i.mode & 2;
    const u32* list = c.code->lists.data() + i.list;
    for (u32 j = 0; j < i.vec; ++j) {
        u32 out[warp_lanes] = {}, bad = 0;
        for (u32 half = 0; half < (by_column ? 2u : 1u); ++half) {
            u32 part[warp_lanes] = {};
            bad |= fetch(c, i, words_of(rows, j, half, by_column), by_column ? 2 : 4, part);
            for (u32 l = 0; l < warp_lanes; ++l) out[l] |= part[l] << 16 * half;
        }
        keep(c, i, list[j], out, bad);
    }
}

void run_store_matrix(Ctx& c, const Insn& i) {
    Addresses rows;
    addresses_of(c, i, rows);
    const bool by_column = i.mode & 2;
    const u32* list = c.code->lists.data() + i.list;
    for (u32 j = 0; j < i.vec; ++j)
        for (u32 half = 0; half < (by_column ? 2u : 1u); ++half) {
            u32 values[warp_lanes];
            for (u32 l = 0; l < warp_lanes; ++l) values[l] = c.src<u32>(list[j])[l] >> 16 * half;
            store_elements(c, i, words_of(rows, j, half, by_column), by_column ? 2 : 4, values, list[j]);
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

}  // namespace kgsim
