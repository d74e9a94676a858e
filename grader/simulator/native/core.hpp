// Shared by the interpreter's parts: a launch, one of its workers, the context of a step.
#pragma once

#include <bit>
#include <cstring>
#include <ctime>
#include <mutex>

#include "block.hpp"
#include "findings.hpp"
#include "regions.hpp"

namespace kgsim {

// Processor time of the calling thread: a kernel gets as far on a loaded machine as on an idle one.
inline double thread_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Blob;
class Watcher;

struct Launch {
    const Blob* module = nullptr;
    const Code* code = nullptr;
    Dim3 grid, block;
    u64 dynamic_shared = 0;
    u32 window = 0;
    Options options;
    std::vector<u8> parameters;
    RegionMap regions;
    std::atomic<bool> stop{false};
    std::atomic<u64> next_block{0};
    std::atomic<u64> steps{0};
    u64 between_looks = 1u << 24, turns_between_looks = ~u64(0);  // lane steps until a worker looks at the budget again
    u32 grid_barrier[2] = {sizeof(u32) * 2, 0};  // the state of cooperative groups: its size, and a counter
};

struct Stop {  // why a worker ended its block early
    Status status = Status::ok;
    std::string reason;
    u32 insn = none;
    u64 block = 0;
};

struct Worker {
    Launch* launch = nullptr;
    std::vector<InsnCount> counts;
    std::vector<BlockCount> block_counts;
    std::vector<Region*> last_region;  // by instruction
    std::vector<Region*> written_regions;
    Findings findings;
    Stop stop;
    u64 lane_steps = 0, unflushed = 0;
    u64 blocks_run = 0;
    double begun = 0, busy = 0;  // `thread_seconds` at its start, and until its end
    bool illegal = false, shared_outside = false, unmapped = false, misaligned = false;
    u64 outside_address = 0, outside_by = 0;  // the worst access outside of every region
    u64 clock = 0;
};

struct Ctx {
    u32* base[2] = {nullptr, nullptr};
    u32* pred = nullptr;
    u32 mask = 0;
    bool full = false;
    Warp* warp = nullptr;
    Block* block = nullptr;
    const Code* code = nullptr;
    Worker* worker = nullptr;
    Launch* launch = nullptr;
    bool races = true, uninit = true, counting = true;
    bool shared_races = true;  // `races`, and shared memory is the author's own
    Watcher* watcher = nullptr;  // in a run with one (watcher.hpp)
    Region* whole = nullptr;  // the region that the last checked access lies in with all lanes
    alignas(64) u32 m[warp_lanes];

    template <class T> const T* src(u32 op) const {
        return reinterpret_cast<const T*>(base[op >> 30 & 1] + size_t(op & 0x1fffffff) * warp_lanes);
    }
    template <class T> T* dst(u32 op) const {
        return reinterpret_cast<T*>(base[0] + size_t(op & 0x1fffffff) * warp_lanes);
    }
    u32 truth(u32 op) const {
        u32 value = kind_of(op) == Kind::pred ? pred[slot_of(op)] : (slot_of(op) ? ~u32(0) : 0);
        return op >> 29 & 1 ? ~value : value;
    }
    void put(u32 op, u32 value) {
        if (op != none) pred[slot_of(op)] = (pred[slot_of(op)] & ~mask) | (value & mask);
    }
    void set_mask(u32 value) {
        if (value == mask) return;
        mask = value;
        full = value == ~u32(0);
        for (u32 l = 0; l < warp_lanes; ++l) m[l] = value >> l & 1 ? ~u32(0) : 0;
    }
    u32 poison_of(u32 op) const {
        if (op == none) return 0;
        if (kind_of(op) == Kind::reg) return warp->poison[slot_of(op)];
        if (kind_of(op) == Kind::pred) return warp->pred_poison[slot_of(op)];
        return 0;
    }
    u32 origin_of(u32 op) const {
        return kind_of(op) == Kind::reg ? warp->poison_origin[slot_of(op)] : warp->pred_origin[slot_of(op)];
    }
    void set_poison(u32 op, u32 value, u32 from) {
        if (op == none) return;
        bool is_pred = kind_of(op) == Kind::pred;
        u32& q = (is_pred ? warp->pred_poison : warp->poison)[slot_of(op)];
        q = (q & ~mask) | (value & mask);
        if (value & mask) {
            (is_pred ? warp->pred_origin : warp->poison_origin)[slot_of(op)] = from;
            warp->poisoned = true;
        }
    }
    u32 thread(u32 lane) const { return warp->index * warp_lanes + lane; }
    void report(Event event, u32 lane);
    // Reports the load that a poisoned operand came from, because of its use here.
    void accuse(u32 op, u32 bad_lanes, const Insn& use, Use how, const u64* at = nullptr);  // `at`: where each lane stores
    void halt(Status status, std::string reason, const Insn* insn);
};

void flow_poison(Ctx& c, const Insn& i);
void run_block(Worker& worker, u64 number);

// Selecting handlers: signature "4=48p": destination, sources; 4 and 8 bytes a lane, p predicate.
struct Op {
    Handler run = nullptr;
    std::string_view signature;
    Class klass = Class::integer;
};
using OpTable = std::unordered_map<std::string, Op>;
void add_integer_ops(OpTable& table);
void add_float_ops(OpTable& table);
void add_half_ops(OpTable& table);
void add_convert_ops(OpTable& table);
void add_bit_ops(OpTable& table);
const OpTable& op_table();

// Memory, synchronisation and control handlers.
void run_load(Ctx& c, const Insn& i);
void run_store(Ctx& c, const Insn& i);
void run_atomic(Ctx& c, const Insn& i);
void run_warp_op(Ctx& c, const Insn& i);

}  // namespace kgsim
