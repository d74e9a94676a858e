// Races in shared memory: each granule remembers its last writer, two readers and the last atomic.
//
// Two accesses of different threads are ordered by a barrier of the block between them, by a barrier of
// the warp that both took part in, or by fences on both sides (the flag between them is trusted). The scheme is
// that of happens-before detectors with a bounded history (as in FastTrack, Flanagan and Freund, PLDI 2009).
#include "race_tracker.hpp"

namespace kgsim {
namespace {

template <class F> void each_cell(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, F&& f) {
    const u32 granule = c.code->granule;
    const int shift = std::countr_zero(granule);
    const u32 n = bytes <= granule ? 1 : bytes >> shift;
    Cells& cells = c.block->cells;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        for (u32 k = 0; k < n; ++k) f(cell(cells, (a.at[l] >> shift) + k), l);
    }
}

// Looks at the cells of lanes that follow one another all at once, where that can be done.
template <bool Store> bool at_once(const Tracker& t, const Footprint& s, u32 bytes) {
    const u32 granule = t.c.code->granule;
    if (!s || bytes < granule) return false;
    Cells& cells = t.c.block->cells;
    const int shift = std::countr_zero(granule);
    const size_t at = s.low >> shift;
    const auto look = [&](u32 n, u32 each) [[gnu::always_inline]] {
        if (t.take_own<Store>(cells, at, n, s.first, each)) return true;
        return Store ? t.store_all(cells, at, n, s.first, each) : t.load_all(cells, at, n, s.first, each);
    };
    if (bytes == granule) return s.lanes == warp_lanes ? look(warp_lanes, 0) : look(s.lanes, 0);
    const u32 n = u32(s.bytes(bytes) >> shift);
    return n <= most_cells && std::has_single_bit(bytes) && look(n, u32(std::countr_zero(bytes) - shift));
}

// Whether no cell between the ends of a small footprint can add information.
bool all_settled(const Tracker& t, const Footprint& s, u32 bytes) {
    if (s.high - s.low > most_cells) return false;
    const int shift = std::countr_zero(t.c.code->granule);
    const u32* state = t.c.block->cells.state.data();
    u32 open = 0;
    for (u64 k = s.low >> shift; k <= (s.high + bytes - 1) >> shift; ++k) open |= u32(!t.settled(state[k]));
    return !open;
}

// Lanes whose cell can add information.
u32 unsettled(const Tracker& t, const Addresses& a, u32 lanes) {
    const int shift = std::countr_zero(t.c.code->granule);
    const u32* state = t.c.block->cells.state.data();
    u32 open = 0;
    for (u32 l = 0; l < warp_lanes; ++l) open |= u32(!t.settled(state[lanes >> l & 1 ? a.at[l] >> shift : 0])) << l;
    return open & lanes;
}

// Lanes that read another address than their neighbour below.
u32 changes_of_address(const Addresses& a) {
    alignas(64) u32 bits[warp_lanes];
    bits[0] = 1;
    for (u32 l = 1; l < warp_lanes; ++l) bits[l] = a.at[l] != a.at[l - 1] ? 1u << l : 0;
    u32 all = 0;
    for (u32 bit : bits) all |= bit;
    return all;
}

// Of neighbours that read the same cell: once two of a warp are known to, the others change nothing.
void load_each(const Tracker& t, const Addresses& a, u32 lanes) {
    const int shift = std::countr_zero(t.c.code->granule);
    const u32 changes = changes_of_address(a);
    for (u32 rest = lanes; rest;) {
        const u32 first = u32(std::countr_zero(rest));
        const u32 after = changes & ~u32(1) << first;
        const u32 group = rest & (after ? (after & -after) - 1 : ~u32(0));
        rest &= ~group;
        const Cell x = cell(t.c.block->cells, a.at[first] >> shift);
        u32 done = 0, last = none;
        for (u32 more = group; more; more &= more - 1) {
            const u32 l = u32(std::countr_zero(more));
            if (t.c.thread(l) > last) break;
            t.load(x, l);
            if (++done > 1) last = t.last_reader(x);
        }
    }
}

}  // namespace

void race_load(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    const Tracker t(c, i);
    if (all_settled(t, s, bytes)) return;
    if (at_once<false>(t, s, bytes)) return;
    u64 differ = 0;
    for (u32 l = 0; l < warp_lanes; ++l) differ |= a.at[l] ^ a.at[0];
    if (!differ && std::popcount(lanes) > 2) {  // a broadcast: conflicts of all lanes, but two readers are enough
        each_cell(c, a, bytes, 1u << std::countr_zero(lanes), [&](const Cell& x, u32) {
            if (x.write >= t.floor || x.atomic >= t.floor)
                for (u32 rest = lanes; rest; rest &= rest - 1) t.load(x, u32(std::countr_zero(rest)));
        });
        lanes = (lanes & -lanes) | 1u << (31 - std::countl_zero(lanes));
    }
    if (bytes <= c.code->granule) load_each(t, a, s.high - s.low > most_cells ? unsettled(t, a, lanes) : lanes);
    else each_cell(c, a, bytes, lanes, [&](const Cell& x, u32 lane) { t.load(x, lane); });
}

void race_store(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, u32 same, const Footprint& s) {
    const Tracker t(c, i);
    if (at_once<true>(t, s, bytes)) return;
    each_cell(c, a, bytes, lanes, [&](const Cell& x, u32 lane) { t.store(x, lane, same >> lane & 1); });
}

void race_atomic(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes) {
    const Tracker t(c, i);
    each_cell(c, a, bytes, lanes, [&](const Cell& x, u32 lane) { t.atomic(x, lane); });
}

void forget_accesses(Block& b) {
    b.cells.assign(b.cells.write.size());
    for (Warp& w : b.warps) std::fill(std::begin(w.sync_epoch), std::end(w.sync_epoch), u16(0));
}

}  // namespace kgsim
