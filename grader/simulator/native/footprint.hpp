// Most accesses are of consecutive lanes and addresses: all of them are done at once.
#pragma once

#include "core.hpp"

namespace kgsim {

struct Addresses;

// Where in memory the active lanes of an access lie. By default nothing is known.
struct Footprint {
    u64 low = 0, high = ~u64(0);  // no lane begins before or after these
    u64 bits = ~u64(0);           // all that are set in any lane's address, at its lower end
    u32 first = 0;                // the first active lane
    u32 lanes = 0;                // how many follow one another in number and, from `low` on, in memory; 0: they don't
    explicit operator bool() const { return lanes != 0; }
    u64 bytes(u32 each) const { return u64(lanes) * each; }
};

// `bytes` is the size of each lane's access.
Footprint footprint_of(const Ctx& c, const Addresses& a, u32 bytes);

// Whether all lanes' elements can be moved at once between these registers and memory where they follow one another.
bool moves_whole(const Insn& i);
// Loads all lanes from `host`.
void load_whole(Ctx& c, const Insn& i, const Footprint& s, const void* host);
// All lanes' stored values, as laid out in memory.
struct Packed { alignas(64) u8 bytes[warp_lanes * 32]; };
void pack_whole(const Ctx& c, const Insn& i, const Footprint& s, Packed& out);
// Lanes whose store to `host` would change memory; `each` bytes a lane.
u32 changes_of_whole(const Packed& values, u32 each, const Footprint& s, const void* host);

}  // namespace kgsim
