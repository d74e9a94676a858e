// A block of threads: its warps with their registers, its shared memory, its barriers.
#pragma once

#include <array>
#include <unordered_map>

#include "code.hpp"
#include "exact_field.hpp"

namespace kgsim {

constexpr u32 shared_margin = 4096;  // around the shared window: no other memory lies there

enum class Poison : u8 { none, shared, global, local, shuffle, copy };  // copy: on its way into shared memory
constexpr u32 origin(Poison kind, u32 insn) { return u32(kind) << 24 | (insn & 0xffffff); }

// from: 0 where the source memory doesn't exist.
struct AsyncCopy { u32 to; u64 from; u8 size, source; u32 insn, group; };

struct Frame {
    u32 return_block, function, site, saved;  // saved: words on the lane's save stack
};

struct Warp {
    u32 index = 0;
    u64 clock = 0;     // cycles that it has run or waited
    u64 saved_state = 0;
    bool recurs = false;  // has come back to its saved state, memory unchanged
    u32 exists = 0;    // lanes that the block has
    u32 live = 0;      // not exited
    u32 running = 0;   // neither waiting nor gone
    u32 warp_waiting = 0, barrier_waiting = 0;
    u32 steps_alone = 0;   // blocks run while other lanes could have run as well
    bool highest_turn = false;
    bool overtaken = false;  // the highest lanes have had a turn since all that run were together
    bool together = false; // all running lanes are at pc_together
    bool arrived_together = false;  // all living lanes came to the block barrier at once
    u32 pc_together = 0;
    u32 tid[3][warp_lanes];
    bool poisoned = false;
    alignas(64) u32 pc[warp_lanes];
    u32 wait_mask[warp_lanes];
    u16 barrier[warp_lanes];
    u32 wait_insn[warp_lanes];
    u16 sync_epoch[warp_lanes];   // bumped by warp barriers and fences
    u32 fence_epoch[warp_lanes];  // block epoch of the lane's last fence
    u32 sp[warp_lanes];
    std::vector<u32> registers, predicates, poison, poison_origin, pred_poison, pred_origin;
    u32* reg = nullptr;           // registers, aligned
    std::vector<u32> labels, pred_labels;  // of each register and lane: where its value comes from (provenance.hpp)
    std::vector<Residues> elements;  // of each register's two halves and each lane, where `held` has a bit (exact.hpp)
    std::vector<u32> held;
    std::vector<Frame> frames[warp_lanes];
    std::vector<u32> saved[warp_lanes];
    u32 released = 0;             // lanes past their block barrier, about to take its result
    u32 passing = 0;              // lanes past a warp-wide barrier that others met at another line
    u32 skipped = 0;              // lanes that may have gone past the barrier where others of the warp wait
    u32 skipped_insn = 0;         // that barrier
    u32 barrier_result = 0;
    std::vector<struct AsyncCopy> copies[warp_lanes];
    u32 copy_group[warp_lanes];
    u64 carry = 0;                // condition code CC.CF of each lane
};

// Who touched each granule of shared memory last: epoch 20 bits, thread 10, warp epoch 14, instruction 20.
struct Cells {
    std::vector<u64> write, atomic, read, other_read;
    std::vector<u32> state;  // who has touched it in which interval, in short (race_tracker.hpp)
    void assign(size_t n) {
        for (auto* words : {&write, &atomic, &read, &other_read}) words->assign(n, 0);
        state.assign(n, 0);
    }
};

struct Barrier {
    u32 waiting = 0, arrived = 0;  // arrived: without waiting (bar.arrive)
    u32 first_insn = none;
    bool mixed = false;            // threads wait at different instructions
    u32 whole = 0;                 // threads of whole warps that wait at a simple one
    u32 block = none;              // of code, of the last that came
    u64 latest = 0;                // clock of the last warp that came
    u32 expected = 0;   // 0: all threads of the block
    u32 count = 0, all = 1, any = 0;  // of a barrier that reduces a predicate
    std::vector<u32> arrived_warps;
};

struct Block {
    explicit Block(u64 stack_bytes);  // of all threads together
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    u32 index[3] = {0, 0, 0};
    u64 number = 0;
    u32 threads = 0;
    std::vector<Warp> warps;
    std::vector<u8> shared_store, shared_init;
    std::vector<u32> shared_origin;
    std::unordered_map<u64, u32> local_origin;  // of unwritten values that were put into local memory
    std::vector<Residues> shared_elements;  // of each two bytes (exact.hpp)
    std::unordered_map<u64, Residues> local_elements;
    Cells cells;
    u8* shared = nullptr;
    u32 window = 0;        // bytes of the shared window
    u8* local = nullptr;   // stacks of all threads, and their shadow after them
    u8* local_init = nullptr;
    u64 local_bytes = 0;
    u32 epoch = 1, full_epoch = 1;
    std::vector<u32> seen;  // [warp][warp]: epoch since which the one has seen the other
    std::array<Barrier, 16> barriers{};
    u32 barriers_in_use = 0;  // a bit each: somebody has come
    u32 exited = 0;
    u64 changes = 0;       // stores that changed memory
    u64 global_reads = 0;
    bool fenced = false;   // a thread has executed a fence
};

}  // namespace kgsim
