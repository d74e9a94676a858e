// Races in global memory: each cell, as wide as the narrowest store, remembers its last plain writer of this launch.
//
// Bounded on purpose: readers are not remembered, so what is found is a read or write of something that another
// thread wrote before, with no barrier (same block) and no fence (other blocks) between. Blocks run in
// order here, so a lost update between blocks would not show in the values: only this tells of it.
#include <algorithm>
#include <sys/mman.h>

#include "access.hpp"

namespace kgsim {
namespace {

constexpr u64 largest = u64(1) << 28;  // regions beyond are not watched
constexpr u32 writer_bits = 20, many_writers = (1u << writer_bits) - 1;

// Block 20 bits, thread 10, block epoch 14, instruction 20; never zero, as epochs start at 1.
struct Mark {
    u64 word;
    u32 block() const { return u32(word >> 44); }
    u32 thread() const { return u32(word >> 34) & 1023; }
    u32 epoch() const { return u32(word >> 20) & 0x3fff; }
    u32 insn() const { return u32(word) & many_writers; }
};

constexpr size_t cheap = size_t(8) << 20;  // to set to zero, rather than giving the pages back
constexpr size_t most_spare = 8;

void set_zero(u64* cells, size_t in_use, size_t bytes) {
    if (in_use <= cheap) std::memset(cells, 0, in_use);
    else madvise(cells, bytes, MADV_DONTNEED);
}

// Cells of regions that are gone, all zero: those that take their place need no new pages.
struct Spares {
    std::mutex lock;
    std::vector<std::pair<u64*, size_t>> all;

    u64* take(size_t& bytes) {
        std::lock_guard guard(lock);
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.second >= bytes && one.second / 2 <= bytes; });
        if (it == all.end()) return static_cast<u64*>(untouched(bytes));
        const auto [cells, size] = *it;
        *it = all.back();
        all.pop_back();
        bytes = size;
        return cells;
    }
    void give(u64* cells, size_t bytes) {
        std::lock_guard guard(lock);
        if (all.size() < most_spare) all.emplace_back(cells, bytes);
        else munmap(cells, bytes);
    }
};
Spares& spares() {
    static Spares* all = new Spares;  // outlives the regions
    return *all;
}

// Where the first cell begins: at or before the region, so that no aligned store has a part of a cell.
u64 origin_of(const Region& r) { return r.base & ~u64(15); }

u64* cells_of(Ctx& c, Region& r, bool make) {
    u64* cells = r.cells.load(std::memory_order_acquire);
    if (cells || !make || r.end - r.base > largest) return cells;
    static std::mutex lock;
    std::lock_guard guard(lock);
    if ((cells = r.cells.load())) return cells;
    size_t bytes = size_t(r.end - r.base + 16) * 8;  // for the finest granule; untouched pages cost nothing
    if (!(cells = spares().take(bytes))) return nullptr;
    r.cell_bytes = bytes;
    r.cells.store(cells, std::memory_order_release);
    return cells;
}

struct Watch {
    Ctx& c;
    const Insn& i;
    const u32 block, epoch, insn;
    const u32 elements;  // that a cell holds of such an access: each of them is told of

    Watch(Ctx& ctx, const Insn& in, u32 bytes)
        : c(ctx), i(in), block(u32(ctx.block->number) & 0xfffff), epoch(ctx.block->epoch & 0x3fff ? ctx.block->epoch & 0x3fff : 1),
          insn(in.id < many_writers ? in.id : many_writers - 1),
          elements(std::max(1u, std::min(bytes, ctx.code->global_cell) / ctx.code->global_granule)) {}

    u64 mark(u32 lane) const { return u64(block) << 44 | u64(c.thread(lane)) << 34 | u64(epoch) << 20 | insn; }
    // Whether something orders the writer before this lane's access.
    bool ordered(Mark m, u32 lane) const {
        if (m.block() != block) return c.block->fenced;
        const u32 t = c.thread(lane);
        if (m.thread() == t || m.epoch() != epoch || c.warp->fence_epoch[lane] == c.block->epoch) return true;
        const bool same_warp = m.thread() / warp_lanes == t / warp_lanes;
        return same_warp ? c.code->of_blocks || c.warp->sync_epoch[lane] > 0 : c.block->full_epoch != c.block->epoch;
    }
    // Whether the lane repeats the writer's: Triton gives a block with fewer elements than threads to several warps, of which one stores.
    bool repeats(Mark m, const Addresses& a, u32 lane) const {
        return c.code->of_blocks && m.block() == block && a.at[m.thread() % warp_lanes] == a.at[lane];
    }
    // A relaxed or releasing write and an atomic are no race.
    bool strong_before(Mark m) const {
        return m.insn() < c.code->insns.size() && c.code->insns[m.insn()].flags & strong;
    }
    void report(Mark m, u32 lane, Conflict kind, Found found = Found::global_race) const {
        if (i.flags & (strong | volatile_)) return;  // how a flag is polled
        Event e{found, i.id, m.insn() == many_writers ? i.id : m.insn()};
        e.other_thread = m.thread();
        e.other_block = c.block->number - block + m.block();
        e.extent = m.block() != block;
        e.detail = u32(kind);
        for (u32 k = 0; k < elements; ++k) c.report(e, lane);
    }
};

template <class F> void each(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, bool make, F&& f) {
    const int shift = std::countr_zero(c.code->global_cell);
    Region* r = c.worker->last_region[i.id];
    u64* cells = nullptr;
    const Region* of = nullptr;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        if (!r || a.at[l] < r->base || a.at[l] >= r->end) r = c.launch->regions.find(a.at[l]);
        if (!r) continue;
        if (of != r) {
            cells = cells_of(c, *r, make);
            of = r;
        }
        if (!cells) continue;
        const u64 first = (a.at[l] - origin_of(*r)) >> shift, last = (a.at[l] + bytes - 1 - origin_of(*r)) >> shift;
        for (u64 k = first; k <= last; ++k) f(std::atomic_ref<u64>(cells[k]), l);
    }
}

// Whether only each lane's own thread has written the cells of consecutive lanes; with `mark`, it becomes their writer.
bool own_all(Ctx& c, const Watch& w, const Footprint& s, u32 bytes, bool mark) {
    const u32 cell = c.code->global_cell;
    const u64 offset = c.whole ? s.low - origin_of(*c.whole) : 0;
    if (!s || !c.whole || bytes < cell || offset & (cell - 1)) return false;
    u64* cells = cells_of(c, *c.whole, mark);
    if (!cells) return false;
    const int shift = std::countr_zero(cell), each = std::countr_zero(bytes) - shift;
    if (bytes & (bytes - 1)) return false;
    cells += offset >> shift;
    const u32 n = s.lanes << each;
    const u64 first = w.mark(s.first);
    u64 others = 0;
    for (u32 k = 0; k < n; ++k) {
        const u64 mine = first + (u64(k >> each) << 34);
        others |= u64(cells[k] != 0 && (cells[k] ^ mine) >> 34);
    }
    if (others) return false;
    if (mark)
        for (u32 k = 0; k < n; ++k) cells[k] = first + (u64(k >> each) << 34);
    return true;
}

}  // namespace

void global_load(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    if (c.whole && !c.whole->cells.load(std::memory_order_relaxed)) return;
    const Watch w(c, i, bytes);
    if (own_all(c, w, s, bytes, false)) return;
    each(c, i, a, bytes, lanes, false, [&](std::atomic_ref<u64> cell, u32 l) {
        const Mark m{cell.load(std::memory_order_relaxed)};
        if (m.word && m.insn() != many_writers && !w.ordered(m, l) && !w.repeats(m, a, l)) w.report(m, l, Conflict::write_read);
    });
}

void global_store(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, u32 same, const Footprint& s) {
    const Watch w(c, i, bytes);
    if (own_all(c, w, s, bytes, true)) return;
    each(c, i, a, bytes, lanes, true, [&](std::atomic_ref<u64> cell, u32 l) {
        const Mark m{cell.load(std::memory_order_relaxed)};
        const u64 mine = w.mark(l);
        if (m.word && !w.ordered(m, l) && !w.repeats(m, a, l)) {
            if (same >> l & 1) {
                if (m.insn() != many_writers) w.report(m, l, Conflict::write_write, Found::same_value_race);
                cell.store(m.word | many_writers, std::memory_order_relaxed);
                return;
            }
            w.report(m, l, Conflict::write_write);
        }
        cell.store(mine, std::memory_order_relaxed);
    });
}

void global_atomic(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes) {
    const Watch w(c, i, bytes);
    each(c, i, a, bytes, lanes, false, [&](std::atomic_ref<u64> cell, u32 l) {
        const Mark m{cell.load(std::memory_order_relaxed)};
        if (m.word && !w.ordered(m, l) && !w.strong_before(m)) w.report(m, l, Conflict::plain_atomic);
    });
}

void forget_writers(Region& r, u32 cell) {
    if (u64* cells = r.cells.load()) set_zero(cells, r.cells_in_use, r.cell_bytes);
    r.cells_in_use = ((r.end - origin_of(r)) / cell + 1) * 8;
}
void drop_writers(Region& r) {
    u64* const cells = r.cells.exchange(nullptr);
    if (!cells) return;
    set_zero(cells, r.cells_in_use, r.cell_bytes);
    spares().give(cells, r.cell_bytes);
}

}  // namespace kgsim
