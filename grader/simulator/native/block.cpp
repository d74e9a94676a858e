// Sets up a block: its warps at the entry, nothing written, no thread at a barrier.
#include <algorithm>
#include <sys/mman.h>

#include "access.hpp"
#include "watcher.hpp"
#include "run.hpp"

namespace kgsim {
namespace {

constexpr u32 last_epoch = (1u << 20) - 2;
constexpr u64 most_filled = u64(4) << 20;  // bytes of local memory

}  // namespace

Block::Block(u64 stack_bytes) {
    if (!stack_bytes) return;
    void* p = mmap(nullptr, stack_bytes * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return;
    local = static_cast<u8*>(p);
    local_init = local + stack_bytes;
    local_bytes = stack_bytes;
}

Block::~Block() {
    if (local) munmap(local, local_bytes * 2);
}

u64 Runner::bytes() const {
    u64 sum = block_.window * 12;
    for (const Warp& w : block_.warps) sum += (w.registers.size() + w.predicates.size() + 3 * w.poison.size()) * 4 + sizeof w;
    return sum;
}

void Runner::prepare(u64 number) {
    Block& b = block_;
    const Dim3 g = launch_.grid;
    b.number = number;
    b.index[0] = u32(number % g.x);
    b.index[1] = u32(number / g.x % g.y);
    b.index[2] = u32(number / g.x / g.y);
    b.threads = u32(launch_.block.product());
    b.exited = 0;
    clear_shared();
    c_.watcher = watcher_of(launch_.options);
    if (c_.watcher) c_.watcher->begin_block(b);
    b.full_epoch = ++b.epoch;
    const u32 warps = (b.threads + warp_lanes - 1) / warp_lanes;
    const bool fresh = b.warps.size() != warps;  // a Block serves blocks of one launch only
    b.warps.resize(warps);
    b.seen.assign(size_t(warps) * warps, 0);
    if (b.barriers_in_use) b.barriers = {};
    b.barriers_in_use = 0;
    b.changes = b.global_reads = 0;
    b.fenced = false;
    b.local_origin.clear();
    if (code_.has_local) clear_local();
    for (u32 k = 0; k < warps; ++k) set_up(b.warps[k], k, fresh);
    if (b.epoch > last_epoch - 1) {
        forget_accesses(b);
        b.epoch = b.full_epoch = 1;
    }
    c_.worker = &worker_;
    c_.launch = &launch_;
    c_.code = &code_;
    c_.block = &b;
    c_.races = launch_.options.check_races;
    c_.shared_races = c_.races && !code_.of_blocks;
    c_.uninit = launch_.options.check_uninitialised;
    c_.counting = launch_.options.count_lines;
    c_.base[1] = const_cast<u32*>(code_.constants.data());
}

// The stacks of recursive kernels are megabytes, hardly used: their old contents stay, as on a GPU.
void Runner::clear_local() {
    Block& b = block_;
    std::memset(b.local_init, 0, b.local_bytes);
    if (b.local_bytes > most_filled || !launch_.options.outside) return;
    u64* const words = reinterpret_cast<u64*>(b.local);
    std::fill(words, words + b.local_bytes / sizeof(u64), fresh_poison);
}

void Runner::clear_shared() {
    Block& b = block_;
    b.window = launch_.window;
    if (b.shared_store.size() == b.window + 64 + 2 * shared_margin) {
        std::memset(b.shared, 0xff, b.window);
        std::fill(b.shared_init.begin(), b.shared_init.end(), u8(0));
        std::fill(b.shared_origin.begin(), b.shared_origin.end(), 0u);
        return;
    }
    b.shared_store.assign(b.window + 64 + 2 * shared_margin, 0xff);
    b.shared_init.assign(b.window + 64, 0);
    b.shared_origin.assign(b.window / 4 + 16, 0);
    b.cells.assign(b.window / code_.granule + 16);
    b.shared = reinterpret_cast<u8*>((u64(b.shared_store.data()) + shared_margin + 63) & ~u64(63));
}

void Runner::set_up(Warp& w, u32 index, bool fresh) {
    const u32 lanes = std::min(warp_lanes, block_.threads - index * warp_lanes);
    w.index = index;
    w.clock = 0;
    w.exists = w.live = w.running = lanes == 32 ? ~0u : (1u << lanes) - 1;
    w.warp_waiting = w.barrier_waiting = w.released = 0;
    w.steps_alone = 0;
    w.highest_turn = w.overtaken = w.together = false;
    w.carry = 0;
    w.passing = w.skipped = 0;
    w.barrier_result = 0;
    if (fresh) make(w);
    if (w.poisoned) {
        std::fill(w.poison.begin(), w.poison.end(), 0u);
        std::fill(w.pred_poison.begin(), w.pred_poison.end(), 0u);
    }
    w.poisoned = false;
    if (c_.uninit) unset(w);
    if (c_.watcher) c_.watcher->begin_warp(w, code_);
    std::fill(std::begin(w.pc), std::end(w.pc), code_.entry);
    std::fill(std::begin(w.fence_epoch), std::end(w.fence_epoch), 0u);
    std::fill(std::begin(w.sync_epoch), std::end(w.sync_epoch), u16(0));
    if (!fresh && code_.calls.empty() && !code_.has_copies) return;
    for (u32 l = 0; l < warp_lanes; ++l) {
        w.sp[l] = w.copy_group[l] = 0;
        w.frames[l].clear();
        w.saved[l].clear();
        w.copies[l].clear();
    }
}

// Registers without a start value hold what shows in every format, and what comes of them is followed.
void Runner::unset(Warp& w) {
    for (const Code::Unset& x : code_.unset) {
        const bool is_pred = kind_of(x.op) == Kind::pred;
        const u32 slot = slot_of(x.op);
        if (!is_pred) std::fill_n(w.reg + size_t(slot) * warp_lanes, x.words * warp_lanes, u32(unset_poison));
        (is_pred ? w.pred_poison : w.poison)[slot] = w.exists;
        (is_pred ? w.pred_origin : w.poison_origin)[slot] = origin(Poison::local, x.insn);
        w.poisoned = true;
    }
}

// A warp's state that is kept between blocks of a launch.
void Runner::make(Warp& w) {
    const Dim3 n = launch_.block;
    for (u32 l = 0; l < warp_lanes; ++l) {
        const u32 t = w.index * warp_lanes + l;
        w.tid[0][l] = t % n.x;
        w.tid[1][l] = t / n.x % n.y;
        w.tid[2][l] = t / n.x / n.y;
    }
    w.registers.assign(size_t(code_.slots) * warp_lanes + 16, 0);
    w.reg = reinterpret_cast<u32*>((u64(w.registers.data()) + 63) & ~u64(63));
    w.predicates.resize(code_.preds + 1);
    w.poison.assign(code_.slots + 1, 0);
    w.poison_origin.resize(code_.slots + 1);
    w.pred_poison.assign(code_.preds + 1, 0);
    w.pred_origin.resize(code_.preds + 1);
}

}  // namespace kgsim
