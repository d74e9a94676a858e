// Races in shared memory: each granule remembers its last writer, two readers and the last atomic.
//
// Two accesses of different threads are ordered by a barrier of the block between them, by a barrier of
// the warp that both took part in, or by fences on both sides (the flag between them is trusted). The scheme is
// that of happens-before detectors with a bounded history (as in FastTrack, Flanagan and Freund, PLDI 2009).
#include "access.hpp"

namespace kgsim {
namespace {

constexpr u32 insn_bits = 19, last_insn = (1u << insn_bits) - 1;
constexpr u64 same_value = u64(1) << insn_bits;  // other threads wrote the same value in this interval

struct Stamp {
    u64 word;
    u32 epoch() const { return u32(word >> 44); }
    u32 thread() const { return u32(word >> 34) & 1023; }
    u32 warp_epoch() const { return u32(word >> 20) & 0x3fff; }
    u32 insn() const { return u32(word) & last_insn; }
};

struct Tracker {
    Ctx& c;
    const Insn& i;
    u64 floor;
    u32 insn;

    Tracker(Ctx& ctx, const Insn& in)
        : c(ctx), i(in), floor(u64(ctx.block->full_epoch) << 44), insn(in.id < last_insn ? in.id : last_insn) {}

    u64 stamp(u32 lane) const {
        return u64(c.block->epoch) << 44 | u64(c.thread(lane)) << 34 | u64(c.warp->sync_epoch[lane] & 0x3fff) << 20 | insn;
    }
    bool ordered(Stamp s, u32 lane) const {
        const u32 other = s.thread(), other_lane = other % warp_lanes;
        const Block& b = *c.block;
        const Warp& w = b.warps[other / warp_lanes];
        const bool moved_on = (w.sync_epoch[other_lane] & 0x3fff) > s.warp_epoch();
        if (w.index == c.warp->index) return moved_on && ((c.warp->sync_epoch[lane] & 0x3fff) > s.warp_epoch() || c.warp->fence_epoch[lane] == b.epoch);
        if (b.seen[c.warp->index * b.warps.size() + w.index] > s.epoch()) return true;
        return moved_on && c.warp->fence_epoch[lane] == b.epoch;
    }
    bool conflicts(u64 word, u32 lane) const {
        if (word < floor) return false;
        Stamp s{word};
        return s.thread() != c.thread(lane) && !ordered(s, lane);
    }
    void report(u64 word, u32 lane, Conflict kind) const {
        Stamp s{word};
        Event e{Found::race, i.id, s.insn()};
        e.other_thread = s.thread();
        e.detail = u32(kind);
        if (s.insn() < c.code->insns.size()) {
            const Insn& before = c.code->insns[s.insn()];
            if (i.flags & strong && before.flags & strong) return;
            if ((i.flags & (volatile_ | strong)) && (before.flags & (volatile_ | strong))) {
                if (releases(s, lane, kind)) return;
                e.kind = Found::race_volatile;
            }
        }
        e.address = 0;
        c.report(e, lane);
    }
    // A volatile write after a fence is a flag that others wait for on purpose.
    bool releases(Stamp s, u32 lane, Conflict kind) const {
        const Warp& other = c.block->warps[s.thread() / warp_lanes];
        const u32 fenced = kind == Conflict::write_read ? other.fence_epoch[s.thread() % warp_lanes] : c.warp->fence_epoch[lane];
        return fenced == c.block->epoch;
    }
    void note_reader(Cell& x, u32 lane) const {
        const u64 now = stamp(lane);
        const u32 t = c.thread(lane);
        auto mine = [&](u64 word) { return word < floor || Stamp{word}.thread() == t; };
        auto warp_of = [](u64 word) { return Stamp{word}.thread() / warp_lanes; };
        if (mine(x.read)) x.read = now;
        else if (mine(x.other_read)) x.other_read = now;
        else if (warp_of(x.read) == warp_of(x.other_read) && warp_of(x.read) != c.warp->index) x.other_read = now;
    }
    // Nothing written since the last barrier, and readers of two warps known: one more reader tells nothing new.
    bool settled(const Cell& x) const {
        return x.write < floor && x.atomic < floor && x.read >= floor && x.other_read >= floor && ((x.read ^ x.other_read) >> 39 & 31);
    }
    void load(Cell& x, u32 lane) const {
        if (settled(x)) return;
        if (conflicts(x.write, lane) && !(x.write & same_value)) report(x.write, lane, Conflict::write_read);
        if (conflicts(x.atomic, lane) && !(i.flags & (volatile_ | strong))) report(x.atomic, lane, Conflict::atomic_plain);
        note_reader(x, lane);
    }
    void store(Cell& x, u32 lane, bool same) const {
        if (same && x.write >= floor && Stamp{x.write}.thread() != c.thread(lane)) {
            x.write |= same_value;
            return;
        }
        if (!same) {
            if (conflicts(x.write, lane)) report(x.write, lane, Conflict::write_write);
            if (conflicts(x.read, lane)) report(x.read, lane, Conflict::read_write);
            else if (conflicts(x.other_read, lane)) report(x.other_read, lane, Conflict::read_write);
            if (conflicts(x.atomic, lane) && !(i.flags & (volatile_ | strong))) report(x.atomic, lane, Conflict::atomic_plain);
        }
        x.write = stamp(lane);
    }
    void atomic(Cell& x, u32 lane) const {
        if (conflicts(x.write, lane) && !strong_before(x.write)) report(x.write, lane, Conflict::plain_atomic);
        if (conflicts(x.read, lane) && !strong_before(x.read)) report(x.read, lane, Conflict::plain_atomic);
        else if (conflicts(x.other_read, lane) && !strong_before(x.other_read)) report(x.other_read, lane, Conflict::plain_atomic);
        x.atomic = stamp(lane);
    }
    bool strong_before(u64 word) const {
        const u32 n = Stamp{word}.insn();
        return n < c.code->insns.size() && c.code->insns[n].flags & (volatile_ | strong);
    }
};

template <class F> void each_cell(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, F&& f) {
    const u32 granule = c.code->granule;
    const int shift = std::countr_zero(granule);
    const u32 n = bytes <= granule ? 1 : bytes >> shift;
    Cell* cells = c.block->cells.data();
    if (n == 1) {
        for (u32 rest = lanes; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            f(cells[a.at[l] >> shift], l);
        }
        return;
    }
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        for (u32 k = 0; k < n; ++k) f(cells[(a.at[l] >> shift) + k], l);
    }
}

}  // namespace

void race_load(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes) {
    const Tracker t(c, i);
    u64 differ = 0;
    for (u32 l = 0; l < warp_lanes; ++l) differ |= a.at[l] ^ a.at[0];
    if (!differ && std::popcount(lanes) > 2) {  // a broadcast: conflicts of all lanes, but two readers are enough
        each_cell(c, a, bytes, 1u << std::countr_zero(lanes), [&](Cell& x, u32) {
            if (x.write >= t.floor || x.atomic >= t.floor)
                for (u32 rest = lanes; rest; rest &= rest - 1) t.load(x, u32(std::countr_zero(rest)));
        });
        lanes = (lanes & -lanes) | 1u << (31 - std::countl_zero(lanes));
    }
    each_cell(c, a, bytes, lanes, [&](Cell& x, u32 lane) { t.load(x, lane); });
}

void race_store(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, u32 same) {
    const Tracker t(c, i);
    each_cell(c, a, bytes, lanes, [&](Cell& x, u32 lane) { t.store(x, lane, same >> lane & 1); });
}

void race_atomic(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes) {
    const Tracker t(c, i);
    each_cell(c, a, bytes, lanes, [&](Cell& x, u32 lane) { t.atomic(x, lane); });
}

void forget_accesses(Block& b) {
    std::fill(b.cells.begin(), b.cells.end(), Cell{});
    for (Warp& w : b.warps) std::fill(std::begin(w.sync_epoch), std::end(w.sync_epoch), u16(0));
}

}  // namespace kgsim
