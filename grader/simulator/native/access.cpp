// Loads and stores.
#include "access.hpp"

#include "link.hpp"
#include "watcher.hpp"

namespace kgsim {

void settle(const Ctx& c, Addresses& a) {
    if (c.full) return;
    const u64 first = a.at[std::countr_zero(c.mask)];
    for (u32 l = 0; l < warp_lanes; ++l) a.at[l] = c.m[l] ? a.at[l] : first;
}

void addresses_of(const Ctx& c, const Insn& i, Addresses& out) {
    const u64 offset = u64(i.imm);
    if (i.mode & 1) {
        const u64* base = c.src<u64>(i.a);
        for (u32 l = 0; l < warp_lanes; ++l) out.at[l] = base[l] + offset;
    } else {
        const u32* base = c.src<u32>(i.a);
        for (u32 l = 0; l < warp_lanes; ++l) out.at[l] = u64(base[l]) + offset;
    }
    settle(c, out);
}

namespace {

bool ascending(const Addresses& a, u32 bytes, u32 lanes) {
    u64 next = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u64 at = a.at[std::countr_zero(rest)];
        if (at < next) return false;
        next = at + bytes;
    }
    return true;
}

// Carries a store out and tells `race` of it: lanes that may meet at one address go one after the other, so that each
// is compared with what the one before left there. Returns the lanes that changed memory. `s` begins at base + s.low.
template <class F>
u32 racing_store(Ctx& c, const Insn& i, const Addresses& host, u32 bytes, u32 lanes, const Footprint& s, u8* base, bool races, F&& race) {
    if (s && moves_whole(i)) {
        u8* const at = reinterpret_cast<u8*>(u64(base) + s.low);
        Packed values;
        pack_whole(c, i, s, values);
        const u32 changes = changes_of_whole(values, bytes, s, at);
        if (races) race(lanes, lanes & ~changes, s);
        if (changes) std::memcpy(at, values.bytes, s.bytes(bytes));
        return changes;
    }
    if (!races) return scatter_all(c, i, host.at, lanes);
    if (ascending(host, bytes, lanes)) {
        const u32 changes = would_change(c, i, host.at, lanes);
        race(lanes, lanes & ~changes, Footprint{});
        if (changes) scatter_all(c, i, host.at, lanes);
        return changes;
    }
    u32 changes = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 one = rest & -rest, changed = would_change(c, i, host.at, one);
        race(one, one & ~changed, Footprint{});
        scatter_all(c, i, host.at, one);
        changes |= changed;
    }
    return changes;
}

u32 poison_of_values(const Ctx& c, const Insn& i, u32& from) {
    const u32* list = c.code->lists.data() + i.list;
    u32 bad = 0;
    for (u32 k = 0; k < i.vec; ++k) {
        u32 q = c.poison_of(list[k]) & c.mask;
        if (q) from = list[k];
        bad |= q;
    }
    return bad;
}

void poison_destinations(Ctx& c, const Insn& i, u32 bad, u32 from) {
    if (!bad && !c.warp->poisoned) return;
    const u32* list = c.code->lists.data() + i.list;
    for (u32 k = 0; k < i.vec; ++k) c.set_poison(list[k], bad, from);
}

// A read of bytes that hold an unwritten value keeps the first load's name, where there is one. Of bytes that a copy
// is still to bring, it is noted which.
u32 shared_origin(const Ctx& c, const Insn& i, const Addresses& a, u32 bad) {
    const auto& origins = c.block->shared_origin;
    for (u32 l = 0; l < warp_lanes; ++l)
        if (bad >> l & 1 && a.at[l] / 4 < origins.size() && origins[a.at[l] / 4]) {
            const u32 known = origins[a.at[l] / 4];
            if (Poison(known >> 24) != Poison::copy) return known;
            c.worker->findings.pending[i.id] = known & 0xffffff;
            break;
        }
    return origin(Poison::shared, i.id);
}

void load_shared(Ctx& c, const Insn& i, Addresses& a) {
    const u32 bytes = i.width * i.vec;
    Footprint s = footprint_of(c, a, bytes);
    const u32 good = check_shared(c, i, a, bytes, Access::load, s);
    if (good != c.mask) s = {};
    if (c.counting) count_shared(c, i, a, bytes, good, s);
    if (c.shared_races) race_load(c, i, a, bytes, good, s);
    const u32 bad = c.uninit ? unwritten_shared(c, a, bytes, good, s) : 0;
    const u32 from = bad ? shared_origin(c, i, a, bad) : 0;
    if (s && moves_whole(i)) {
        load_whole(c, i, s, c.block->shared + s.low);
    } else {
        for (u64& at : a.at) at += u64(c.block->shared);
        gather_all(c, i, a.at, good);
    }
    poison_destinations(c, i, bad, from);
}

void store_shared(Ctx& c, const Insn& i, Addresses& a) {
    const u32 bytes = i.width * i.vec;
    Footprint s = footprint_of(c, a, bytes);
    const u32 good = check_shared(c, i, a, bytes, Access::store, s);
    if (good != c.mask) s = {};
    if (c.counting) count_shared(c, i, a, bytes, good, s);
    Addresses host;
    if (!s || !moves_whole(i))
        for (u32 l = 0; l < warp_lanes; ++l) host.at[l] = a.at[l] + u64(c.block->shared);
    u32 bad = 0, from = none;
    if (c.warp->poisoned) bad = poison_of_values(c, i, from) & good;
    const auto race = [&](u32 lanes, u32 same, const Footprint& all) { race_store(c, i, a, bytes, lanes, same, all); };
    c.block->changes += 0 != racing_store(c, i, host, bytes, good, s, c.block->shared, c.shared_races, race);
    if (!c.uninit) return;
    u8* init = c.block->shared_init.data();
    if (s && !bad) {
        std::memset(init + s.low, 1, s.bytes(bytes));
        return;
    }
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(good >> l & 1)) continue;
        std::memset(init + a.at[l], !(bad >> l & 1), bytes);
        if (bad >> l & 1) c.block->shared_origin[a.at[l] / 4] = c.origin_of(from);
    }
}

void load_global(Ctx& c, const Insn& i, Addresses& a) {
    const u32 bytes = i.width * i.vec;
    Footprint s = footprint_of(c, a, bytes);
    const u32 good = check_global(c, i, a, bytes, Access::load, s);
    if (!c.whole) s = {};
    if (c.counting) count_global(c, i, a, bytes, good, s);
    const u32 bad = c.uninit ? unwritten_global(c, a, bytes, good, s) : 0;
    ++c.block->global_reads;
    c.block->fenced |= (i.flags & ordering) != 0;
    if (c.races) global_load(c, i, a, bytes, good, s);
    if (s && moves_whole(i)) load_whole(c, i, s, reinterpret_cast<const void*>(s.low));
    else gather_all(c, i, a.at, good);
    poison_destinations(c, i, bad, origin(Poison::global, i.id));
}

void store_global(Ctx& c, const Insn& i, Addresses& a) {
    const u32 bytes = i.width * i.vec;
    Footprint s = footprint_of(c, a, bytes);
    const u32 good = check_global(c, i, a, bytes, Access::store, s);
    if (!c.whole) s = {};
    if (c.counting) count_global(c, i, a, bytes, good, s);
    if (c.warp->poisoned) {
        u32 from = none, bad = poison_of_values(c, i, from) & good;
        if (bad) c.accuse(from, bad, i, Use::store, a.at);
    }
    const auto race = [&](u32 lanes, u32 same, const Footprint& all) { global_store(c, i, a, bytes, lanes, same, all); };
    c.block->changes += 0 != racing_store(c, i, a, bytes, good, s, nullptr, c.races, race);
}

void load_local(Ctx& c, const Insn& i, Addresses& a, bool own) {
    const u32 bytes = i.width * i.vec;
    const u32 good = own ? c.mask : check_local(c, i, a, bytes);
    gather_all(c, i, a.at, good);
    if (!c.uninit) return;
    const u32 bad = unwritten_local(c, a, bytes, good);
    u32 from = origin(Poison::local, i.id);
    if (bad && !c.block->local_origin.empty()) {
        auto it = c.block->local_origin.find((a.at[std::countr_zero(bad)] - u64(c.block->local)) / 4);
        if (it != c.block->local_origin.end()) from = it->second;
    }
    poison_destinations(c, i, bad, from);
}

void store_local(Ctx& c, const Insn& i, Addresses& a, bool own) {
    const u32 bytes = i.width * i.vec;
    const u32 good = own ? c.mask : check_local(c, i, a, bytes);
    u32 bad = 0, from = none;
    if (c.warp->poisoned) bad = poison_of_values(c, i, from) & good;
    c.block->changes += scatter_all(c, i, a.at, good) != 0;
    if (!c.uninit) return;
    for (u32 rest = good; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        const u64 offset = a.at[l] - u64(c.block->local);
        std::memset(c.block->local_init + offset, !(bad >> l & 1), bytes);
        if (bad >> l & 1 && c.block->local_origin.size() < 1 << 20) c.block->local_origin[offset / 4] = c.origin_of(from);
    }
}

void check_address_poison(Ctx& c, const Insn& i) {
    if (!c.warp->poisoned || i.a == none) return;
    if (u32 bad = c.poison_of(i.a) & c.mask) c.accuse(i.a, bad, i, Use::address);
}

}  // namespace

void run_load(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    check_address_poison(c, i);
    if (i.space == Space::shared) return load_shared(c, i, a);
    if (i.space == Space::global) return load_global(c, i, a);
    if (i.space != Space::constant && in_own_stacks(c, a, i.width * i.vec)) return load_local(c, i, a, true);
    by_space(c, i, a, [&](Space space) {
        Addresses part = a;
        if (i.space == Space::generic) settle(c, part);
        if (space == Space::shared) {
            for (u64& at : part.at) at -= u64(c.block->shared);
            load_shared(c, i, part);
        } else if (space == Space::local) {
            load_local(c, i, part, false);
        } else {
            load_global(c, i, part);
        }
    });
}

void run_store(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    check_address_poison(c, i);
    if (i.space == Space::shared) return store_shared(c, i, a);
    if (i.space == Space::global) return store_global(c, i, a);
    if (i.space != Space::constant && in_own_stacks(c, a, i.width * i.vec)) return store_local(c, i, a, true);
    by_space(c, i, a, [&](Space space) {
        Addresses part = a;
        if (i.space == Space::generic) settle(c, part);
        if (space == Space::shared) {
            for (u64& at : part.at) at -= u64(c.block->shared);
            store_shared(c, i, part);
        } else if (space == Space::local) {
            store_local(c, i, part, false);
        } else {
            store_global(c, i, part);
        }
    });
}

void store_elements(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, const u32* values, u32 from) {
    if (c.watcher) c.watcher->stored(c, i, a, bytes, from);
    by_space(c, i, a, [&](Space space) {
        Addresses part = a;
        settle(c, part);
        const bool shared = space == Space::shared;
        if (shared && i.space == Space::generic) for (u64& at : part.at) at -= u64(c.block->shared);
        const Footprint at = footprint_of(c, part, bytes);
        const u32 good = shared ? check_shared(c, i, part, bytes, Access::store, at) : check_global(c, i, part, bytes, Access::store, at);
        const u32 bad = c.warp->poisoned ? c.poison_of(from) & good : 0;
        if (c.counting) (shared ? count_shared : count_global)(c, i, part, bytes, good, {});
        if (bad && !shared) c.accuse(from, bad, i, Use::store);
        for (u32 rest = good; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest)), one = 1u << l;
            u8* p = reinterpret_cast<u8*>(part.at[l] + (shared ? u64(c.block->shared) : 0));
            const bool changes = std::memcmp(p, &values[l], bytes) != 0;
            if (shared ? c.shared_races : c.races) (shared ? race_store : global_store)(c, i, part, bytes, one, changes ? 0 : one, {});
            std::memcpy(p, &values[l], bytes);
            c.block->changes += changes;
            if (shared && c.uninit) std::memset(c.block->shared_init.data() + part.at[l], !(bad & one), bytes);
        }
    });
}

}  // namespace kgsim
