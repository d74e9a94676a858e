// The turns of a block's warps: the warp furthest behind goes first.
#include <algorithm>

#include "run.hpp"

namespace kgsim {
namespace {

constexpr u32 quantum = 20000;      // blocks of code for each warp between two looks at budget and progress
constexpr u32 short_quantum = 512;  // the same, once blocks of the launch have waited for others

}  // namespace

Runner::Runner(Worker& worker, u64 number, std::unique_ptr<Block> block)
    : worker_(worker), launch_(*worker.launch), code_(*worker.launch->code), owned_(std::move(block)), block_(*owned_) {
    prepare(number);
}

Turn Runner::run(bool yields, bool hurried) {
    Block& b = block_;
    start_watching();
    make_ready();
    while (worker_.stop.status == Status::ok) {
        turns_ = std::min<u64>(u64(hurried ? short_quantum : quantum) * b.warps.size(), launch_.turns_between_looks);
        bool any = false;
        while (turns_ && !ready_.empty()) {
            any = true;
            u64 until;
            Warp& w = take_turn(until);
            const u64 light = light_turn(w);
            turns_ -= light;
            if (!light || (w.running && w.clock <= until)) turns_ -= run_warp(w, until, turns_);
            if (w.running) ready_.add(w.clock, w.index);
            if (worker_.stop.status != Status::ok) return Turn::done;
            if (!w.running) complete_barriers();
        }
        if (complete_barriers()) continue;
        const bool alive = std::any_of(b.warps.begin(), b.warps.end(), [](const Warp& w) { return w.live != 0; });
        if (!alive) return Turn::done;
        if (!any) {
            deadlock();
            return Turn::done;
        }
        if (!within_budget()) return Turn::done;
        if (const Turn turn = idles(yields); turn != Turn::done) return turn;
    }
    return Turn::done;
}

void Runner::make_ready() {
    ready_.clear();
    for (const Warp& w : block_.warps)
        if (w.running) ready_.add(w.clock, w.index);
}

// The warp that is behind all others that can run, and the clock of the next one.
Warp& Runner::take_turn(u64& until) {
    Warp& w = block_.warps[last_first_ ? ready_.take_last() : ready_.take_first()];
    last_first_ = false;
    until = ready_.clock();
    return w;
}

const Insn* Runner::next_insn(const Warp& w, u32 lane) const {
    return &code_.insns[std::min<size_t>(code_.blocks[w.pc[lane]].first, code_.insns.size() - 1)];
}

void Runner::add_places(std::map<u32, u32>& threads) const {
    for (const Warp& w : block_.warps)
        for (u32 rest = w.live; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            ++threads[w.running >> l & 1 ? next_insn(w, l)->id : w.wait_insn[l]];
        }
}

}  // namespace kgsim
