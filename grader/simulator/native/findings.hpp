// A launch's counters and findings, in numbers.
#pragma once

#include <array>
#include <map>

#include "code.hpp"

namespace kgsim {

struct InsnCount {
    u64 requests = 0, lanes = 0, sectors = 0, ideal = 0, conflicts = 0, collisions = 0, divergent = 0;
};
struct BlockCount { u64 warps = 0, lanes = 0; };

enum class Found : u8 {
    out_of_bounds, use_after_free, misaligned, shared_oob, local_oob, uninit_shared, uninit_global, uninit_local,
    race, race_volatile, global_race, same_value_race, input_written, constant_written, barrier_divergence, barrier_exited,
    sync_exited, sync_not_in_mask, shuffle_absent, deadlock, grid_deadlock, livelock, assert_failed, trapped, stack_overflow, count
};
const char* found_name(Found kind);

// One event, in numbers; text is made once, for the report.
struct Event {
    Found kind;
    u32 insn = none, other = none;  // instructions
    u64 block = 0, other_block = 0;
    u32 thread = none, other_thread = none;
    i64 address = 0;   // or offset
    i64 extent = 0;    // size of what was overrun
    u32 width = 0;
    u32 detail = 0;    // kind of use, of conflict, barrier number, mask
    RegionId region = -1;
    i64 meant = -1;    // offset in the region, had a 32-bit index not wrapped around
    u32 copy = none;   // the instruction of the pending copy whose bytes are read
};
enum class Use : u32 { none, store, address, branch, atomic, print };
enum class Conflict : u32 { write_read, read_write, write_write, atomic_plain, plain_atomic };

struct Tally { Event first; u64 count = 0; };

struct Findings {
    std::map<std::array<u32, 3>, Tally> by_place;  // kind, insn, other
    std::map<u32, u32> pending;  // by load: the pending copy whose bytes it read
    u64 most = 200;
    void add(const Event& event);
    void merge(const Findings& from);
};

}  // namespace kgsim
