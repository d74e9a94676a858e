// Checks and bookkeeping shared by loads, stores, atomics and copies.
#pragma once

#include "core.hpp"
#include "footprint.hpp"

namespace kgsim {

struct Addresses { alignas(64) u64 at[warp_lanes]; };

// Addresses of all lanes; inactive ones get the first active lane's.
void addresses_of(const Ctx& c, const Insn& i, Addresses& out);

void settle(const Ctx& c, Addresses& a);

enum class Access : u8 { load, store, atomic };

// Each returns the lanes whose access may be carried out; the others have been reported.
// `bytes` is the size of one lane's access. Here and below `s` is the footprint of the same access.
u32 check_global(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, Access how, const Footprint& s);
u32 check_shared(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, Access how, const Footprint& s);
u32 check_local(Ctx& c, const Insn& i, const Addresses& a, u32 bytes);
// Whether each lane accesses the same offset in its own stack, so that all accesses are valid.
bool in_own_stacks(const Ctx& c, const Addresses& a, u32 bytes);

// Loads and stores the elements of all lanes, those in `lanes` at `host`; other active ones load `Options::outside`.
void gather_all(Ctx& c, const Insn& i, const u64* host, u32 lanes);
u32 scatter_all(Ctx& c, const Insn& i, const u64* host, u32 lanes);  // returns the lanes that changed memory
// Lanes whose store would change memory, before it is carried out; needed to judge races.
u32 would_change(Ctx& c, const Insn& i, const u64* host, u32 lanes);

// Stores one element of each lane, with all checks; `from` is the register the values came from.
void store_elements(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, const u32* values, u32 from);

// Those of `lanes` that read unwritten memory.
u32 unwritten_global(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});
u32 unwritten_local(const Ctx& c, const Addresses& a, u32 bytes, u32 lanes);
u32 unwritten_shared(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});

// Race bookkeeping of shared memory. `same` are the lanes whose store changes nothing.
void race_load(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});
void race_store(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, u32 same, const Footprint& s = {});
void race_atomic(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes);
void forget_accesses(Block& block);
void global_load(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});
void global_store(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, u32 same, const Footprint& s = {});
void global_atomic(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes);

void count_global(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});
void count_shared(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s = {});

// Calls run(space) for each space that lanes of a generic address point into, with the mask narrowed to them.
template <class F> void by_space(Ctx& c, const Insn& i, const Addresses& a, F&& run) {
    if (i.space == Space::constant) return run(Space::global);
    if (i.space != Space::generic) return run(i.space);
    const Block& b = *c.block;
    u32 shared = 0, local = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (a.at[l] - (u64(b.shared) - shared_margin) < b.window + 2 * shared_margin) shared |= 1u << l;
        if (a.at[l] - u64(b.local) < b.local_bytes) local |= 1u << l;
    }
    const u32 all = c.mask;
    shared &= all;
    local &= all;
    const u32 global = all & ~shared & ~local;
    auto part = [&](u32 lanes, Space space) {
        if (!lanes) return;
        c.set_mask(lanes);
        run(space);
    };
    part(global, Space::global);
    part(shared, Space::shared);
    part(local, Space::local);
    c.set_mask(all);
}

}  // namespace kgsim
