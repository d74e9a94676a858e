// The cost of an access: sectors of global memory, bank conflicts of shared memory.
#include <algorithm>

#include "access.hpp"

namespace kgsim {
namespace {

// How many different 32-byte sectors (or, with shift 2, words) the lanes touch.
u32 distinct(const Addresses& a, u32 lanes, int shift, const Footprint& ends) {
    u64 first = a.at[std::countr_zero(lanes)] >> shift, low = first, high = first;
    if (ends.high != ~u64(0)) {
        low = ends.low >> shift;
        high = ends.high >> shift;
    } else {
        for (u32 l = 0; l < warp_lanes; ++l) {
            u64 s = a.at[l] >> shift;
            low = s < low ? s : low;
            high = s > high ? s : high;
        }
    }
    if (high - low < 64) {
        u64 bits = 0;
        for (u32 l = 0; l < warp_lanes; ++l) bits |= u64(1) << ((a.at[l] >> shift) - low);
        return u32(std::popcount(bits));
    }
    u64 table[64];
    u64 used = 0;
    u32 n = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        u64 s = a.at[l] >> shift;
        u32 h = u32((s * 0x9e3779b97f4a7c15ull) >> 58);
        while (used >> h & 1 && table[h] != s) h = (h + 1) & 63;
        if (used >> h & 1) continue;
        used |= u64(1) << h;
        table[h] = s;
        ++n;
    }
    return n;
}

}  // namespace

void count_global(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    if (!lanes) return;
    InsnCount& n = c.worker->counts[i.id];
    const u32 active = u32(std::popcount(lanes));
    const u32 sectors = s ? std::min(s.lanes, u32((s.high >> 5) - (s.low >> 5) + 1)) : distinct(a, lanes, 5, s);
    const u32 ideal = (active * bytes + 31) / 32;
    ++n.requests;
    n.lanes += active;
    n.sectors += sectors;
    n.ideal += ideal < sectors ? ideal : sectors;
}

// Extra passes: 4-byte accesses are served by warps, 8-byte ones by halves, 16-byte ones by quarters.
void count_shared(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    if (!lanes) return;
    InsnCount& n = c.worker->counts[i.id];
    ++n.requests;
    n.lanes += u32(std::popcount(lanes));
    if (s && bytes <= 16) return;  // each bank has one word of every part of the warp
    u64 differ = 0, step = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        differ |= a.at[l] ^ a.at[0];
        step |= (a.at[l] - a.at[0]) ^ (u64(l) * bytes);
    }
    if (!differ || !step) return;
    const u32 per = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, words = bytes <= 4 ? 1 : bytes / 4;
    if (words == 1) {  // usually no bank has two words: one look at each lane tells
        if ((s.high >> 2) - (s.low >> 2) < 32) return;
        u64 word_of[32];
        u32 seen = 0;
        bool clash = false;
        for (u32 l = 0; l < warp_lanes; ++l) {
            const u64 word = a.at[l] >> 2;
            const u32 bank = u32(word) & 31;
            clash |= (seen >> bank & 1) && word_of[bank] != word;
            word_of[bank] = word;
            seen |= 1u << bank;
        }
        if (!clash) return;
    }
    for (u32 first = 0; first < warp_lanes; first += per) {
        u8 load[32] = {};
        u64 seen[32][4];
        u32 worst = 0;
        for (u32 l = first; l < first + per; ++l) {
            if (!(lanes >> l & 1)) continue;
            for (u32 w = 0; w < words; ++w) {
                const u64 word = (a.at[l] >> 2) + w;
                const u32 bank = u32(word) & 31;
                bool known = false;
                for (u32 k = 0; k < load[bank] && k < 4; ++k) known |= seen[bank][k] == word;
                if (known) continue;
                if (load[bank] < 4) seen[bank][load[bank]] = word;
                worst = std::max<u32>(worst, ++load[bank]);
            }
        }
        if (worst > 1) n.conflicts += worst - 1;
    }
}

}  // namespace kgsim
