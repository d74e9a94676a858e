// The turns of a block's warps: whoever is furthest behind goes first.
#include <algorithm>

#include "run.hpp"

namespace kgsim {
namespace {

constexpr u32 quantum = 20000;      // blocks of code for each warp between two looks at budget and progress
constexpr u32 short_quantum = 512;  // the same, once blocks of the launch have waited for others
constexpr u32 index_bits = 6;       // of a warp's number, below its clock
constexpr u64 resting = ~u64(0);    // for a clock: the warp can't run

// The two least of numbers.
struct Two {
    u64 first = resting, second = resting;
    void add(u64 number) {
        second = std::min(second, std::max(first, number));
        first = std::min(first, number);
    }
};

}  // namespace

Runner::Runner(Worker& worker, u64 number, std::unique_ptr<Block> block)
    : worker_(worker), launch_(*worker.launch), code_(*worker.launch->code), owned_(std::move(block)), block_(*owned_) {
    prepare(number);
}

Turn Runner::run(bool yields, bool hurried) {
    Block& b = block_;
    start_watching();
    set_clocks();
    while (worker_.stop.status == Status::ok) {
        u64 turns = u64(hurried ? short_quantum : quantum) * b.warps.size();
        bool any = false;
        while (turns) {
            u64 until;
            Warp* w = earliest(until);
            if (!w) break;
            any = true;
            turns -= run_warp(*w, until, turns);
            note_clock(*w);
            if (worker_.stop.status != Status::ok) return Turn::done;
            if (!w->running && complete_barriers()) set_clocks();
        }
        if (complete_barriers()) {
            set_clocks();
            continue;
        }
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

void Runner::set_clocks() {
    clocks_.resize(block_.warps.size());
    for (const Warp& w : block_.warps) note_clock(w);
}

void Runner::note_clock(const Warp& w) {
    clocks_[w.index] = w.running ? w.clock << index_bits | w.index : resting;
}

// The warp that is behind all others that can run, and the clock of the next one.
Warp* Runner::earliest(u64& until) {
    Two even, odd;  // apart, so that neither has to wait for the other
    const size_t n = clocks_.size();
    for (size_t k = 0; k + 1 < n; k += 2) {
        even.add(clocks_[k]);
        odd.add(clocks_[k + 1]);
    }
    if (n % 2) even.add(clocks_[n - 1]);
    const u64 first = std::min(even.first, odd.first);
    until = std::min({std::max(even.first, odd.first), even.second, odd.second}) >> index_bits;
    return first == resting ? nullptr : &block_.warps[first & ((1u << index_bits) - 1)];
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
