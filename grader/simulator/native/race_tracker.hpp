// A shared memory cell's record of its last accesses, and how an access updates it.
#pragma once

#include <algorithm>

#include "access.hpp"

namespace kgsim {
namespace {  // included by one unit only, so that all of it is inlined there

constexpr u32 insn_bits = 19, last_insn = (1u << insn_bits) - 1;
constexpr u64 same_value = u64(1) << insn_bits;  // other threads wrote the same value in this interval

struct Stamp {
    u64 word;
    u32 epoch() const { return u32(word >> 44); }
    u32 thread() const { return u32(word >> 34) & 1023; }
    u32 warp_epoch() const { return u32(word >> 20) & 0x3fff; }
    u32 insn() const { return u32(word) & last_insn; }
};
constexpr u64 thread_bits = u64(1023) << 34, warp_bits = u64(31) << 39;

struct Cell { u64 &write, &atomic, &read, &other_read; u32& state; };
Cell cell(Cells& all, size_t k) { return {all.write[k], all.atomic[k], all.read[k], all.other_read[k], all.state[k]}; }

// The state of a cell: epoch 20 bits; one bit: one more reader tells nothing new; one bit: several threads have touched
// it since; the thread that did 10.
constexpr u32 state_bits = 12, settled_bit = 1 << 11, several = 1 << 10, thread_mask = several - 1;

constexpr u32 most_cells = 128;  // of consecutive lanes, checked all at once

struct Tracker {
    Ctx& c;
    const Insn& i;
    u64 floor;
    u32 insn;
    u32 touched;  // the least state of a cell in this interval between barriers of the block; those below are of one before

    Tracker(Ctx& ctx, const Insn& in)
        : c(ctx), i(in), floor(u64(ctx.block->full_epoch) << 44), insn(in.id < last_insn ? in.id : last_insn),
          touched(ctx.block->full_epoch << state_bits) {}

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
    // Once per cell and interval: it doesn't matter which one is the last.
    void report_same_value(u64 word, u32 lane) const {
        const Stamp s{word};
        if (i.flags & (volatile_ | strong)) return;
        Event e{Found::same_value_race, i.id, s.insn()};
        e.other_thread = s.thread();
        e.detail = u32(Conflict::write_write);
        e.address = 0;
        c.report(e, lane);
    }
    // A volatile write after a fence is a flag that others wait for on purpose.
    bool releases(Stamp s, u32 lane, Conflict kind) const {
        const Warp& other = c.block->warps[s.thread() / warp_lanes];
        const u32 fenced = kind == Conflict::write_read ? other.fence_epoch[s.thread() % warp_lanes] : c.warp->fence_epoch[lane];
        return fenced == c.block->epoch;
    }
    // Whether only this thread has accessed the cell in this interval.
    bool own(u32 state, u32 thread) const { return state < touched || state == (touched | thread); }
    void touch(const Cell& x, u32 thread) const {
        if (x.state < touched) x.state = touched | thread;
        else if ((x.state & thread_mask) != thread) x.state |= several;
    }
    bool settled(u32 state) const { return state >> 11 == (touched | settled_bit) >> 11; }
    void note_reader(const Cell& x, u32 lane) const {
        const u64 now = stamp(lane);
        const u32 t = c.thread(lane);
        touch(x, t);
        auto mine = [&](u64 word) { return word < floor || Stamp{word}.thread() == t; };
        auto warp_of = [](u64 word) { return Stamp{word}.thread() / warp_lanes; };
        if (mine(x.read)) x.read = now;
        else if (mine(x.other_read)) x.other_read = now;
        else if (warp_of(x.read) == warp_of(x.other_read) && warp_of(x.read) != c.warp->index) x.other_read = now;
    }
    // Nothing written since the last barrier, and readers of two warps known: another reader adds nothing.
    bool tells_nothing(const Cell& x) const {
        return x.write < floor && x.atomic < floor && x.read >= floor && x.other_read >= floor && (x.read ^ x.other_read) & warp_bits;
    }
    void load(const Cell& x, u32 lane) const {
        if (const u32 t = c.thread(lane); own(x.state, t)) {
            x.read = stamp(lane);
            x.state = touched | t;
            return;
        }
        if (tells_nothing(x)) {
            x.state |= settled_bit;
            return;
        }
        if (conflicts(x.write, lane) && !(x.write & same_value)) report(x.write, lane, Conflict::write_read);
        if (conflicts(x.atomic, lane) && !(i.flags & (volatile_ | strong))) report(x.atomic, lane, Conflict::atomic_plain);
        note_reader(x, lane);
    }
    // The last thread of this warp whose read of the cell can change its state.
    u32 last_reader(const Cell& x) const {
        if (x.write >= floor || x.atomic >= floor || x.read < floor || x.other_read < floor) return none;
        if ((x.read ^ x.other_read) & warp_bits || Stamp{x.read}.thread() / warp_lanes != c.warp->index) return none;
        return std::max(Stamp{x.read}.thread(), Stamp{x.other_read}.thread());
    }
    void store(const Cell& x, u32 lane, bool same) const {
        const u32 t = c.thread(lane);
        const bool mine = own(x.state, t);
        touch(x, t);
        x.state &= ~settled_bit;
        if (mine) {
            x.write = stamp(lane);
            return;
        }
        if (same && x.write >= floor && Stamp{x.write}.thread() != c.thread(lane)) {
            if (!(x.write & same_value) && conflicts(x.write, lane)) report_same_value(x.write, lane);
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
    void atomic(const Cell& x, u32 lane) const {
        touch(x, c.thread(lane));
        x.state &= ~settled_bit;
        if (conflicts(x.write, lane) && !strong_before(x.write)) report(x.write, lane, Conflict::plain_atomic);
        if (conflicts(x.read, lane) && !strong_before(x.read)) report(x.read, lane, Conflict::plain_atomic);
        else if (conflicts(x.other_read, lane) && !strong_before(x.other_read)) report(x.other_read, lane, Conflict::plain_atomic);
        x.atomic = stamp(lane);
    }
    // Of `lanes` lanes from `first` on, which have 1 << each cells: calls f(cell, lane's number after the first, its stamp).
    template <class F> [[gnu::always_inline]] void each_stamp(u32 first, u32 cells, u32 each, F&& f) const {
        const u64 zeroth = u64(c.block->epoch) << 44 | u64(c.thread(first)) << 34 | insn;
        const u16* epochs = c.warp->sync_epoch + first;
#pragma GCC ivdep
        for (u32 k = 0; k < cells; ++k) {
            const u32 l = k >> each;
            f(k, l, zeroth + (u64(l) << 34) + (u64(epochs[l] & 0x3fff) << 20));
        }
    }
    // As `load` (or, with Store, `store`) of each of n cells from `at` on, in any order; false, and nothing done, where
    // another thread has touched one in this interval.
    template <bool Store> [[gnu::always_inline]] bool take_own(Cells& cells, size_t at, u32 n, u32 first, u32 each) const {
        u32* const state = &cells.state[at];
        const u32 mine = touched | c.thread(first);
        u32 others = 0;
        for (u32 k = 0; k < n; ++k) others |= u32(state[k] >= touched) & u32(state[k] != mine + (k >> each));
        if (others) return false;
        u64* const words = &(Store ? cells.write : cells.read)[at];
        each_stamp(first, n, each, [=](u32 k, u32, u64 now) { words[k] = now; });
#pragma GCC ivdep
        for (u32 k = 0; k < n; ++k) state[k] = mine + (k >> each);
        return true;
    }
    // The same, false only where a cell needs a closer look.
    bool load_all(Cells& cells, size_t at, u32 n, u32 first, u32 each) const {
        const u64 *w = &cells.write[at], *a = &cells.atomic[at];
        u64 close = 0;
        each_stamp(first, n, each, [&](u32 k, u32, u64 now) {
            close |= u64(w[k] >= floor && (w[k] ^ now) & thread_bits) | u64(a[k] >= floor && (a[k] ^ now) & thread_bits);
        });
        if (close) return false;
        u64 *r = &cells.read[at], *o = &cells.other_read[at];
        each_stamp(first, n, each, [=, this](u32 k, u32, u64 mine) {
            const u64 one = r[k], two = o[k];
            const bool known = w[k] < floor && a[k] < floor && one >= floor && two >= floor && (one ^ two) & warp_bits;
            const bool takes_one = one < floor || !((one ^ mine) & thread_bits);
            const bool takes_two = two < floor || !((two ^ mine) & thread_bits) || (!((one ^ two) & warp_bits) && (one ^ mine) & warp_bits);
            r[k] = !known && takes_one ? mine : one;
            o[k] = !known && !takes_one && takes_two ? mine : two;
        });
        for (u32 k = 0; k < n; ++k) {
            const u32 t = c.thread(first) + (k >> each), s = cells.state[at + k];
            cells.state[at + k] = s < touched ? touched | t : s | ((s & thread_mask) != t ? several : 0);
        }
        return true;
    }
    bool store_all(Cells& cells, size_t at, u32 n, u32 first, u32 each) const {
        u64 close = 0;
        for (const auto* words : {&cells.write, &cells.read, &cells.other_read, &cells.atomic}) {
            const u64* x = words->data() + at;
            each_stamp(first, n, each, [&](u32 k, u32, u64 now) { close |= u64(x[k] >= floor && (x[k] ^ now) & thread_bits); });
        }
        if (close) return false;
        u64* const w = &cells.write[at];
        each_stamp(first, n, each, [=](u32 k, u32, u64 now) { w[k] = now; });
        for (u32 k = 0; k < n; ++k) {
            const u32 t = c.thread(first) + (k >> each), s = cells.state[at + k];
            cells.state[at + k] = s < touched ? touched | t : (s & ~settled_bit) | ((s & thread_mask) != t ? several : 0);
        }
        return true;
    }
    bool strong_before(u64 word) const {
        const u32 n = Stamp{word}.insn();
        return n < c.code->insns.size() && c.code->insns[n].flags & (volatile_ | strong);
    }
};

}  // namespace
}  // namespace kgsim
