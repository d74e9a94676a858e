// What the interpreter's parts share: decoded instructions, warps, blocks, the context of a step.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim.hpp"

namespace kgsim {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr unsigned warp_lanes = 32;
constexpr u32 none = ~u32(0);
constexpr u32 shared_margin = 4096;  // around the shared window: nobody else's memory lies there

// Processor time of the calling thread: on a crowded machine a kernel gets as far as on an idle one.
inline double thread_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Ctx;
struct Insn;
using Handler = void (*)(Ctx&, const Insn&);

// An operand word: two bits of kind, one of negation (predicates), 29 of slot or index.
// A slot is 32 words of 32 bits (one a lane); 64-bit registers take two.
enum class Kind : u32 { reg = 0, constant = 1, pred = 2, truth = 3 };
constexpr u32 operand(Kind kind, u32 value, bool negated = false) {
    return u32(kind) << 30 | u32(negated) << 29 | value;
}
constexpr Kind kind_of(u32 op) { return Kind(op >> 30); }
constexpr u32 slot_of(u32 op) { return op & 0x1fffffff; }

enum class Space : u8 { param, local, shared, global, constant, entry, generic };
// How unwritten values move from sources to destinations.
enum class Flow : u8 { own, any, select, conjunction, disjunction };
enum class Class : u8 {
    integer, fp32, fp64, fp16, special, convert, move, control, compare, load_global, store_global,
    load_shared, store_shared, load_local, store_local, load_const, atomic, shuffle, barrier, tensor, other, count
};
const char* class_name(Class c);

enum Flag : u16 {
    ftz = 1, sat = 2, rz = 4, rm = 8, rp = 16, relu = 32, volatile_ = 64, strong = 128, approx = 256,
    non_aligned = 512, ordering = 1024, directed = rz | rm | rp,
};

struct Insn {
    Handler run = nullptr;
    u32 d = none, d2 = none;  // destinations: a register operand, or predicates
    u32 a = none, b = none, c = none, e = none;
    i64 imm = 0;
    u32 loc = 0;
    u32 id = 0;       // index into the kernel's instructions: of its counters, of what findings name
    u32 guard = none; // predicate operand
    u32 list = 0;     // first of `vec` operand words in Code::lists
    u32 opcode = 0;   // string number, for messages
    u16 flags = 0;
    u16 mode = 0;
    u8 width = 0;     // bytes of one element in memory
    u8 vec = 1;
    Space space = Space::generic;
    Flow flow = Flow::any;
    Class klass = Class::other;
};

enum class End : u8 { fall, jump, branch, ret, leave, table, call, trap, unsupported };
enum class Start : u8 { plain, warp_sync, barrier };

struct BasicBlock {
    u32 first = 0, last = 0;  // instructions [first, last); the terminator is not among them
    u32 next = 0;             // block that follows
    u32 target = none;
    u32 sync = none;          // instruction that all its lanes meet at, of blocks that start with one
    u32 terminator = none;    // instruction number of the terminator, none for a plain fall
    End end = End::fall;
    Start start = Start::plain;
    u32 function = 0;
    u32 cycles = 0;           // that a warp takes for it, about; what decides whose turn is next
    bool far = false;         // it reads global memory, which takes one warp longer than another
};

struct Formal {
    u32 frame = 0;  // offset in the function's frame
    u32 size = 0;
};

struct LinkedFunction {
    u32 module_index = 0;
    u32 entry = none;  // block
    u32 frame_bytes = 0;
    u32 first_slot = 0, slots = 0;  // its own registers
    std::vector<std::pair<u32, u8>> places;  // slot and words (1 or 2) of each
    u32 first_pred = 0, preds = 0;
    bool recursive = false;
    std::vector<Formal> parameters, returns;
};

enum class Builtin : u8 { none, print, assert_fail, allocate, release, unknown };

struct CallSite {
    u32 function = none;   // linked function, or none for an indirect call
    Builtin builtin = Builtin::none;
    u32 pointer = none;    // operand that holds the address of an indirect call
    std::vector<Formal> arguments, results;  // places in the caller's frame
};

struct Local { std::string name; u32 offset = 0, size = 0; };
struct SharedVariable { std::string name; u32 offset = 0, size = 0; bool dynamic = false; };

// A kernel with all functions that it can reach, ready to run.
struct Code {
    std::string name;
    u32 module_index = 0;
    std::vector<Insn> insns;
    std::vector<BasicBlock> blocks;
    std::vector<u32> lists;
    std::vector<u32> tables;          // targets of brx
    std::vector<CallSite> calls;
    std::vector<LinkedFunction> functions;
    std::vector<u32> function_index;  // module function -> linked function or none
    std::vector<u32> constants;       // 32 words a slot
    std::vector<SharedVariable> shared;
    u32 static_window = 0;            // bytes of the shared window before the dynamic part
    u32 slots = 0, preds = 0;
    u32 entry = 0;
    u32 stack_bytes = 0;              // local memory of a thread
    u32 granule = 4;                  // smallest width of a shared access
    u32 global_granule = 4;           // smallest width of a global store
    bool has_local = false, has_global_atomics = false, uses_dynamic = false, has_copies = false;
    bool has_global_flags = false;    // volatile or ordered accesses to global memory: how blocks signal
};

// ---------------------------------------------------------------- what is being run

enum class Lane : u8 { gone, run, warp_wait, barrier_wait };

struct Origin { u32 insn; u8 kind; };  // packed in a word: kind in the top byte
enum class Poison : u8 { none, shared, global, local, shuffle };
constexpr u32 origin(Poison kind, u32 insn) { return u32(kind) << 24 | (insn & 0xffffff); }

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
    std::vector<u32> settled;  // the block epoch in which one more reader tells nothing new
    void assign(size_t n) {
        for (auto* words : {&write, &atomic, &read, &other_read}) words->assign(n, 0);
        settled.assign(n, 0);
    }
};

struct Barrier {
    u32 waiting = 0, arrived = 0;  // arrived: without waiting (bar.arrive)
    u32 first_insn = none;
    bool mixed = false;            // threads wait at different instructions
    u64 latest = 0;                // clock of the last warp that came
    u32 expected = 0;   // 0: all threads of the block
    bool in_use = false;
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
    Cells cells;
    u8* shared = nullptr;
    u32 window = 0;        // bytes of the shared window
    u8* local = nullptr;   // stacks of all threads, and their shadow after them
    u8* local_init = nullptr;
    u64 local_bytes = 0;
    u32 epoch = 1, full_epoch = 1;
    std::vector<u32> seen;  // [warp][warp]: epoch since which the one has seen the other
    std::array<Barrier, 16> barriers{};
    u32 exited = 0;
    u64 changes = 0;       // stores that changed memory
    u64 global_reads = 0;
    bool fenced = false;   // a thread has executed a fence
};

// ---------------------------------------------------------------- regions

struct Region {
    u64 base = 0, end = 0;
    RegionId id = -1;
    RegionKind kind = RegionKind::allocation;
    bool live = true, read_only = false;
    u8* init = nullptr;    // one byte a byte; null: all initialised
    u8* stored = nullptr;  // one byte a byte, set by kernels' stores; null: not kept
    std::string name;
    std::atomic<u64> written{0};
    std::atomic<u64*> cells{nullptr};  // last plain writers in this launch (global_races.cpp)
    size_t cell_bytes = 0;
};
// Memory that reads as zero and costs nothing until it is touched; null where there is none.
void* untouched(u64 bytes);
void forget_writers(Region& region);
void drop_writers(Region& region);

// Regions as a launch sees them: sorted, fixed while it runs.
struct RegionMap {
    std::vector<Region*> sorted;
    std::vector<Region*> freed;
    Region* find(u64 address) const;     // the live region that holds the address, or null
    Region* nearest(u64 address) const;  // the live one closest to it
};
RegionMap snapshot_regions();

// ---------------------------------------------------------------- counters and findings

struct InsnCount {
    u64 requests = 0, lanes = 0, sectors = 0, ideal = 0, conflicts = 0, collisions = 0, divergent = 0;
};
struct BlockCount { u64 warps = 0, lanes = 0; };

enum class Found : u8 {
    out_of_bounds, use_after_free, misaligned, shared_oob, local_oob, uninit_shared, uninit_global, uninit_local,
    race, race_volatile, global_race, input_written, constant_written, barrier_divergence, barrier_exited,
    sync_exited, sync_not_in_mask, shuffle_absent, deadlock, grid_deadlock, livelock, assert_failed, trapped, stack_overflow, count
};
const char* found_name(Found kind);

// One happening, in numbers; text is made once, for the report.
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
};
enum class Use : u32 { none, store, address, branch, atomic, print };
enum class Conflict : u32 { write_read, read_write, write_write, atomic_plain, plain_atomic };

struct Tally { Event first; u64 count = 0; };

struct Findings {
    std::map<std::array<u32, 3>, Tally> by_place;  // kind, insn, other
    u64 most = 200;
    void add(const Event& event);
    void merge(const Findings& from);
};

// ---------------------------------------------------------------- a launch, and one worker of it

struct Blob;

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
    u32 grid_barrier[2] = {sizeof(u32) * 2, 0};  // what cooperative groups keeps: its size, and a counter
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
    // Accuses the load that a poisoned operand came from, because of what it is used for now.
    void accuse(u32 op, u32 bad_lanes, const Insn& use, Use how);
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
