// Whether a block gets on: its budget, and whether it repeats itself or waits for another block.
#include <algorithm>

#include "run.hpp"

namespace kgsim {
namespace {

constexpr u32 idle_rounds = 40;     // without a change, until other blocks get a turn

}  // namespace

void Runner::start_watching() {
    rounds_ = saved_round_ = idle_since_ = 0;
    turn_changes_ = block_.changes;
    turn_reads_ = block_.global_reads;
}

// `done` where it continues.
Turn Runner::idles(bool yields) {
    const bool repeated = repeats();
    if (repeated && yields && block_.global_reads != saved_reads_) return Turn::waits;
    if (repeated) {
        const Insn* at = nullptr;
        for (const Warp& w : block_.warps)
            if (w.running && !at) at = next_insn(w, u32(std::countr_zero(w.running)));
        Event e{Found::livelock, at ? at->id : none};
        e.block = block_.number;
        e.thread = 0;
        worker_.findings.add(e);
        c_.halt(Status::livelock, "the threads go on forever without changing anything", at);
        return Turn::done;
    }
    const bool idle = block_.changes == turn_changes_ && block_.global_reads != turn_reads_;
    if (yields && idle && rounds_ >= idle_since_ + idle_rounds) return Turn::unsure;
    if (!idle) {
        turn_changes_ = block_.changes;
        turn_reads_ = block_.global_reads;
        idle_since_ = rounds_;
    }
    return Turn::done;
}

bool Runner::within_budget() {
    worker_.lane_steps += worker_.unflushed;
    const u64 total = launch_.steps.fetch_add(worker_.unflushed) + worker_.unflushed;
    worker_.unflushed = 0;
    if (launch_.stop.load(std::memory_order_relaxed)) {
        c_.halt(Status::budget, "stopped", nullptr);
    } else if (launch_.options.lane_steps && total > launch_.options.lane_steps) {
        c_.halt(Status::budget, "the budget of " + std::to_string(launch_.options.lane_steps) + " instructions is used up", nullptr);
    } else if (launch_.options.seconds > 0 && thread_seconds() - worker_.begun > launch_.options.seconds) {
        c_.halt(Status::budget, "the time limit of one launch is used up", nullptr);
    }
    return worker_.stop.status == Status::ok;
}

u64 Runner::state(const Warp& w) const {
    u64 h = 0xcbf29ce484222325ull;
    auto mix = [&](u64 v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull; h ^= h >> 29; };
    mix(w.running);
    mix(w.warp_waiting | u64(w.barrier_waiting) << 32);
    mix(w.carry);
    for (u32 l = 0; l < warp_lanes; ++l) if (w.live >> l & 1) mix(w.pc[l] | u64(w.frames[l].size()) << 32);
    for (u32 p : w.predicates) mix(p);
    const u64* r = reinterpret_cast<const u64*>(w.reg);
    for (size_t k = 0; k < size_t(code_.slots) * warp_lanes / 2; ++k) mix(r[k]);
    return h;
}

// Where memory doesn't change, a warp whose state recurs loops forever; once each warp does, the block does. Warps
// one by one, as their turns don't keep step (Brent's cycle detection over rounds).
bool Runner::repeats() {
    ++rounds_;
    if (rounds_ < 2) return false;
    const bool anew = !saved_round_ || saved_changes_ != block_.changes || (rounds_ & (rounds_ - 1)) == 0;
    bool all = true;
    for (Warp& w : block_.warps) {
        if (!w.live) continue;
        const u64 s = state(w);
        w.recurs = !anew && (w.recurs || s == w.saved_state);
        if (anew) w.saved_state = s;
        all &= w.recurs;
    }
    if (!anew) return all;
    saved_round_ = rounds_;
    saved_changes_ = block_.changes;
    saved_reads_ = block_.global_reads;
    return false;
}

}  // namespace kgsim
