// Block barriers: who meets, what that orders, and what hangs.
#include <algorithm>

#include "access.hpp"
#include "link.hpp"
#include "run.hpp"

namespace kgsim {

// bar.arrive: counts without waiting.
void run_arrive(Ctx& c, const Insn& i) {
    const u32 *ids = c.src<u32>(i.a), *counts = c.src<u32>(i.b);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        Barrier& x = c.block->barriers[ids[l] & 15];
        ++x.arrived;
        c.block->barriers_in_use |= 1u << (ids[l] & 15);
        x.expected = counts[l];
        if (x.arrived_warps.empty() || x.arrived_warps.back() != c.warp->index) x.arrived_warps.push_back(c.warp->index);
    }
}

// Whether any is complete; the warps that it lets go are ready then.
bool Runner::complete_barriers() {
    bool any = false;
    for (u32 rest = block_.barriers_in_use; rest; rest &= rest - 1) {
        const u32 id = u32(std::countr_zero(rest));
        const Barrier& x = block_.barriers[id];
        const u32 there = block_.threads - block_.exited;
        const bool everyone = x.expected == 0 || x.expected >= block_.threads;
        // Threads that are gone count as arrived: that is what the hardware does since Volta.
        const u32 needed = x.expected == 0 ? there : x.expected;
        if (x.waiting + x.arrived < needed) continue;
        release(id, everyone);
        any = true;
    }
    if (any) make_ready();
    return any;
}

void Runner::report_meeting(u32 id, bool everyone) {
    if (!block_.barriers[id].mixed && !block_.exited) return;
    u32 first = none, first_thread = 0;
    for (const Warp& w : block_.warps)
        for (u32 rest = w.barrier_waiting; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            if (w.barrier[l] != id) continue;
            const u32 insn = w.wait_insn[l];
            if (first == none) {
                first = insn;
                first_thread = w.index * warp_lanes + l;
            } else if (insn != first && code_.insns[insn].loc != code_.insns[first].loc) {
                const Blob& m = *launch_.module;
                if (m.line_of(code_.insns[insn].loc) == m.line_of(code_.insns[first].loc)) continue;
                Event e{Found::barrier_divergence, first, insn};
                e.block = block_.number;
                e.thread = first_thread;
                e.other_thread = w.index * warp_lanes + l;
                worker_.findings.add(e);
                return;
            }
        }
    if (everyone && block_.barriers[id].expected == 0 && block_.exited && first != none) {
        Event e{Found::barrier_exited, first};
        e.block = block_.number;
        e.thread = first_thread;
        e.detail = block_.exited;
        e.extent = block_.threads;
        for (const Warp& w : block_.warps)
            if (e.other_thread == none && (w.exists & ~w.live)) e.other_thread = w.index * warp_lanes + u32(std::countr_zero(w.exists & ~w.live));
        worker_.findings.add(e);
    }
}

// The order that the barrier creates: a new epoch for a whole block, otherwise which warp has seen which.
void Runner::join(u32 id, bool everyone) {
    Block& b = block_;
    if (b.epoch > (1u << 20) - 4) {
        forget_accesses(b);
        b.epoch = b.full_epoch = 1;
        std::fill(b.seen.begin(), b.seen.end(), 0u);
    }
    const u32 epoch = ++b.epoch;
    if (everyone) {
        b.full_epoch = epoch;
        return;
    }
    const size_t n = b.warps.size();
    std::vector<u32> waiting, past = b.barriers[id].arrived_warps;
    for (const Warp& w : b.warps)
        for (u32 l = 0; l < warp_lanes; ++l)
            if (w.barrier_waiting >> l & 1 && w.barrier[l] == id) { waiting.push_back(w.index); past.push_back(w.index); break; }
    std::vector<u32> best(n, 0);
    for (u32 p : past) {
        for (size_t k = 0; k < n; ++k) best[k] = std::max(best[k], b.seen[p * n + k]);
        best[p] = epoch;
    }
    for (u32 w : waiting)
        for (size_t k = 0; k < n; ++k) b.seen[w * n + k] = std::max(b.seen[w * n + k], best[k]);
    // Lanes of one warp that meet at a partial barrier are ordered as by a warp barrier.
    for (u32 k : waiting) {
        Warp& w = b.warps[k];
        for (u32 l = 0; l < warp_lanes; ++l) if (w.barrier_waiting >> l & 1 && w.barrier[l] == id) ++w.sync_epoch[l];
    }
}

void Runner::release(u32 id, bool everyone) {
    report_meeting(id, everyone);
    join(id, everyone);
    Barrier& x = block_.barriers[id];
    const bool all_whole = everyone && !x.mixed && x.whole == x.waiting && x.whole == block_.threads - block_.exited;
    if (all_whole && turns_ > block_.warps.size()) pass_all(x);
    else for (Warp& w : block_.warps) {
        u32 lanes = 0;
        for (u32 l = 0; l < warp_lanes; ++l) lanes |= u32(w.barrier[l] == id) << l;
        lanes &= w.barrier_waiting;
        if (!lanes) continue;
        const u32 insn = w.wait_insn[std::countr_zero(lanes)];
        w.barrier_waiting &= ~lanes;
        w.skipped = 0;
        w.together = w.arrived_together && lanes == w.live;
        w.pc_together = w.pc[std::countr_zero(lanes)];
        w.running |= lanes;
        w.released |= lanes;
        w.clock = std::max(w.clock, x.latest);
        const u16 mode = code_.insns[insn].mode;
        w.barrier_result = mode == 2 ? x.count : mode == 3 ? x.all : x.any;
    }
    x = Barrier{};
    block_.barriers_in_use &= ~(1u << id);
    rounds_ = saved_round_ = idle_since_ = 0;
}

// Each warp's next turn when all of a block continue: it only passes the barrier. The last
// one's turn continues after that.
void Runner::pass_all(Barrier& x) {
    const BasicBlock& b = code_.blocks[x.block];
    BlockCount& count = worker_.block_counts[x.block];
    for (Warp& w : block_.warps) {
        if (!w.live) continue;
        w.barrier_waiting = w.skipped = 0;
        w.running = w.live;
        w.clock = x.latest + b.cycles;
        go(w, w.live, b.next);
        ++count.warps;
        --turns_;
    }
    count.lanes += x.whole;
    worker_.unflushed += u64(2) * x.whole;
    last_first_ = true;
}

void Runner::deadlock() {
    std::map<std::pair<u32, u32>, u32> waiting;  // (instruction, at a block barrier) -> threads
    std::map<std::pair<u32, u32>, u32> one;
    for (const Warp& w : block_.warps)
        for (u32 rest = w.barrier_waiting | w.warp_waiting; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            const std::pair key{w.wait_insn[l], w.barrier_waiting >> l & 1};
            ++waiting[key];
            one.try_emplace(key, w.index * warp_lanes + l);
        }
    std::string reason;
    const Insn* first = nullptr;
    for (const auto& [key, threads] : waiting) {
        const Insn& i = code_.insns[key.first];
        Event e{Found::deadlock, key.first};
        e.block = block_.number;
        e.thread = one[key];
        e.extent = threads;
        e.detail = key.second;
        worker_.findings.add(e);
        const int line = launch_.module->line_of(i.loc);
        reason += (reason.empty() ? "" : ", ") + std::to_string(threads) + (threads == 1 ? " thread waits at " : " threads wait at ") +
                  (key.second ? "a block barrier" : "a warp-wide operation") + (line ? " (line " + std::to_string(line) + ")" : "");
        if (!first) first = &i;
    }
    c_.halt(Status::deadlock, reason, first);
}

}  // namespace kgsim
