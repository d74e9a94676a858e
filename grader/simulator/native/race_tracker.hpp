// What a cell of shared memory remembers of who touched it, and what an access makes of that.
#pragma once

#include <algorithm>

#include "access.hpp"

namespace kgsim {
namespace {  // of the one unit that includes it, so that all of it is inlined there

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

constexpr u32 most_cells = 128;  // of lanes that follow one another, whose cells are looked at all at once

struct Tracker {
    Ctx& c;
    const Insn& i;
    u64 floor;
    u32 insn;
    u32 touched, settled;  // states of a cell in this interval between barriers of the block; those below are of one before

    Tracker(Ctx& ctx, const Insn& in)
        : c(ctx), i(in), floor(u64(ctx.block->full_epoch) << 44), insn(in.id < last_insn ? in.id : last_insn),
          touched(ctx.block->full_epoch * 2), settled(touched + 1) {}

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
    void note_reader(const Cell& x, u32 lane) const {
        const u64 now = stamp(lane);
        const u32 t = c.thread(lane);
        x.state = std::max(x.state, touched);
        auto mine = [&](u64 word) { return word < floor || Stamp{word}.thread() == t; };
        auto warp_of = [](u64 word) { return Stamp{word}.thread() / warp_lanes; };
        if (mine(x.read)) x.read = now;
        else if (mine(x.other_read)) x.other_read = now;
        else if (warp_of(x.read) == warp_of(x.other_read) && warp_of(x.read) != c.warp->index) x.other_read = now;
    }
    // Nothing written since the last barrier, and readers of two warps known: one more reader tells nothing new.
    bool tells_nothing(const Cell& x) const {
        return x.write < floor && x.atomic < floor && x.read >= floor && x.other_read >= floor && (x.read ^ x.other_read) & warp_bits;
    }
    void load(const Cell& x, u32 lane) const {
        if (x.state < touched) {
            x.read = stamp(lane);
            x.state = touched;
            return;
        }
        if (tells_nothing(x)) {
            x.state = settled;
            return;
        }
        if (conflicts(x.write, lane) && !(x.write & same_value)) report(x.write, lane, Conflict::write_read);
        if (conflicts(x.atomic, lane) && !(i.flags & (volatile_ | strong))) report(x.atomic, lane, Conflict::atomic_plain);
        note_reader(x, lane);
    }
    // The last thread of this warp that a read of the cell may change anything for; beyond it none does.
    u32 last_reader(const Cell& x) const {
        if (x.write >= floor || x.atomic >= floor || x.read < floor || x.other_read < floor) return none;
        if ((x.read ^ x.other_read) & warp_bits || Stamp{x.read}.thread() / warp_lanes != c.warp->index) return none;
        return std::max(Stamp{x.read}.thread(), Stamp{x.other_read}.thread());
    }
    void store(const Cell& x, u32 lane, bool same) const {
        const bool fresh = x.state < touched;
        x.state = touched;
        if (fresh) {
            x.write = stamp(lane);
            return;
        }
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
    void atomic(const Cell& x, u32 lane) const {
        x.state = touched;
        if (conflicts(x.write, lane) && !strong_before(x.write)) report(x.write, lane, Conflict::plain_atomic);
        if (conflicts(x.read, lane) && !strong_before(x.read)) report(x.read, lane, Conflict::plain_atomic);
        else if (conflicts(x.other_read, lane) && !strong_before(x.other_read)) report(x.other_read, lane, Conflict::plain_atomic);
        x.atomic = stamp(lane);
    }
    // The stamps of all lanes from `first` on, each as often as it has cells.
    template <u32 Each> void stamps(u32 first, u32 lanes, u32 each, u64* now) const {
        const u64 zeroth = u64(c.block->epoch) << 44 | u64(c.warp->index * warp_lanes) << 34 | insn;
        const u16* epochs = c.warp->sync_epoch;
        const u32 n = Each ? Each : each;
        for (u32 l = 0; l < lanes; ++l) {
            const u64 one = zeroth + (u64(first + l) << 34) + (u64(epochs[first + l] & 0x3fff) << 20);
            for (u32 k = 0; k < n; ++k) now[l * n + k] = one;
        }
    }
    void stamps(const Footprint& s, u32 each, u64* now) const {
        switch (each) {
            case 1: return stamps<1>(s.first, s.lanes, each, now);
            case 2: return stamps<2>(s.first, s.lanes, each, now);
            case 4: return stamps<4>(s.first, s.lanes, each, now);
            default: return stamps<0>(s.first, s.lanes, each, now);
        }
    }
    // Whether nobody has touched any of n cells from `at` on in this interval.
    bool fresh(const Cells& cells, size_t at, u32 n) const {
        const u32* state = &cells.state[at];
        u32 old = 0;
        for (u32 k = 0; k < n; ++k) old |= u32(state[k] >= touched);
        return !old;
    }
    // As `load` of each of n cells from `at` on, in any order; false, and nothing done, where one needs a closer look.
    bool load_all(Cells& cells, size_t at, u32 n, const u64* now) const {
        u32* const state = &cells.state[at];
        if (fresh(cells, at, n)) {
            std::copy(now, now + n, &cells.read[at]);
            std::fill_n(state, n, touched);
            return true;
        }
        const u64 *w = &cells.write[at], *a = &cells.atomic[at];
        u64 close = 0;
        for (u32 k = 0; k < n; ++k) close |= u64(w[k] >= floor && (w[k] ^ now[k]) & thread_bits) | u64(a[k] >= floor && (a[k] ^ now[k]) & thread_bits);
        if (close) return false;
        u64 *r = &cells.read[at], *o = &cells.other_read[at];
        for (u32 k = 0; k < n; ++k) {
            const u64 first = r[k], second = o[k], mine = now[k];
            const bool known = w[k] < floor && a[k] < floor && first >= floor && second >= floor && (first ^ second) & warp_bits;
            const bool takes_first = first < floor || !((first ^ mine) & thread_bits);
            const bool takes_second = second < floor || !((second ^ mine) & thread_bits) || (!((first ^ second) & warp_bits) && (first ^ mine) & warp_bits);
            r[k] = !known && takes_first ? mine : first;
            o[k] = !known && !takes_first && takes_second ? mine : second;
        }
        for (u32 k = 0; k < n; ++k) state[k] = std::max(state[k], touched);
        return true;
    }
    // As `store` of each of n cells from `at` on.
    bool store_all(Cells& cells, size_t at, u32 n, const u64* now) const {
        u64 close = 0;
        if (!fresh(cells, at, n)) for (const auto* words : {&cells.write, &cells.read, &cells.other_read, &cells.atomic}) {
            const u64* x = words->data() + at;
            for (u32 k = 0; k < n; ++k) close |= u64(x[k] >= floor && (x[k] ^ now[k]) & thread_bits);
        }
        if (close) return false;
        std::copy(now, now + n, &cells.write[at]);
        std::fill_n(&cells.state[at], n, touched);
        return true;
    }
    bool strong_before(u64 word) const {
        const u32 n = Stamp{word}.insn();
        return n < c.code->insns.size() && c.code->insns[n].flags & (volatile_ | strong);
    }
};

}  // namespace
}  // namespace kgsim
