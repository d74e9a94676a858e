#include "residents.hpp"

#include <algorithm>

namespace kgsim {
namespace {

constexpr u64 most_bytes = u64(2) << 30;  // that blocks put aside may take

std::string many(u64 n, const char* one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); }

u64 scaled(u64 number, u64 by, u64 of) { return u64(static_cast<unsigned __int128>(number) * by / of); }

// Which block of `whole` is the `number`th of the `total` that run.
u64 chosen(const Options& options, u64 number, u64 total, u64 whole) {
    if (total == whole) return number;
    if (!options.block_seed) return total > 1 ? scaled(number, whole - 1, total - 1) : number;
    const u64 neighbours = total / 6, centre = scaled(options.block_at, whole, 1000000);
    if (number < neighbours)
        return std::min(centre > neighbours / 2 ? centre - neighbours / 2 : 0, whole - neighbours) + number;
    // SplitMix64 (Steele, Lea, Flood 2014).
    u64 z = options.block_seed + (number + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % whole;
}

}  // namespace

std::unique_ptr<Runner> Residents::next() {
    const u64 whole = launch_.grid.product();
    u64 total = launch_.options.max_blocks ? std::min(whole, launch_.options.max_blocks) : whole;
    u64 number = launch_.next_block.fetch_add(1);
    if (number >= total) {
        all_begun_ = true;
        return nullptr;
    }
    number = chosen(launch_.options, number, total, whole);
    std::unique_ptr<Block> block;
    if (free_.empty()) {
        const u64 stacks = u64(launch_.code->stack_bytes) * launch_.block.product();
        block = std::make_unique<Block>(stacks);
        if (stacks && !block->local) {
            worker_.stop = {Status::unsupported, "not enough memory for the threads' stacks", none, 0};
            return nullptr;
        }
    } else {
        block = std::move(free_.back());
        free_.pop_back();
    }
    ++worker_.blocks_run;
    return std::make_unique<Runner>(worker_, number, std::move(block));
}

bool Residents::full() const {
    return launch_.options.resident_blocks && waiting_.size() >= launch_.options.resident_blocks;
}

void Residents::turn(std::unique_ptr<Runner> runner) {
    const u64 before = runner->changes();
    const Turn turn = runner->run(launch_.grid.product() > 1, waited_);
    changes_ += runner->changes() - before + (turn == Turn::done);
    if (turn == Turn::done) {
        free_.push_back(runner->take_block());
        return;
    }
    waited_ = true;
    bytes_ += runner->bytes();
    waiting_.push_back({std::move(runner), changes_, turn == Turn::waits});
}

// Gives each waiting block a turn, if memory has changed since it began to wait; false where that woke none.
bool Residents::wake() {
    std::vector<Waiting> old;
    old.swap(waiting_);
    bytes_ = 0;
    const size_t before = old.size();
    const u64 changes = changes_;
    for (Waiting& w : old) {
        if (worker_.stop.status != Status::ok) break;
        if (w.seen == changes_ && w.proven) {
            bytes_ += w.runner->bytes();
            waiting_.push_back(std::move(w));
        } else {
            turn(std::move(w.runner));
        }
    }
    return waiting_.size() < before || changes_ != changes;
}

void Residents::run() {
    while (worker_.stop.status == Status::ok && !launch_.stop.load(std::memory_order_relaxed)) {
        const bool room = !all_begun_ && !full();
        if (room && waiting_.size() < next_pass_ && bytes_ < most_bytes) {
            if (auto runner = next()) turn(std::move(runner));
            continue;
        }
        if (waiting_.empty()) break;
        const bool moved = wake();
        next_pass_ = moved ? 4 : waiting_.size() * 2;
        if (moved || worker_.stop.status != Status::ok) continue;
        if (launch_.options.max_blocks) break;  // who they wait for may not be run
        if (room && bytes_ < most_bytes) continue;
        if (std::all_of(waiting_.begin(), waiting_.end(), [](const Waiting& w) { return w.proven; })) hang();
    }
}

void Residents::hang() {
    if (!all_begun_ && !full()) {
        worker_.stop = {Status::unsupported, many(waiting_.size(), "block") + " wait for others at once, more than fit into memory", none, 0};
        return;
    }
    std::map<u32, u32> threads;
    for (const Waiting& w : waiting_) w.runner->add_places(threads);
    std::string places;
    u32 first = none;
    for (const auto& [insn, count] : threads) {
        Event e{Found::grid_deadlock, insn};
        e.block = waiting_.front().runner->number();
        e.thread = 0;
        e.extent = i64(count);
        e.width = u32(waiting_.size());
        worker_.findings.add(e);
        const int line = launch_.module->line_of(launch_.code->insns[insn].loc);
        places += (places.empty() ? "" : ", ") + many(count, "thread") + (line ? " at line " + std::to_string(line) : "");
        if (first == none) first = insn;
    }
    std::string reason = many(waiting_.size(), "block") + (waiting_.size() == 1 ? " waits" : " wait") + " forever for what no running block writes (" + places + ")";
    if (const u64 begun = launch_.next_block.load(); full() && begun < launch_.grid.product())
        reason += "; " + many(launch_.grid.product() - begun, "block") + " can't begin before one of these ends: the GPU holds " +
                  std::to_string(launch_.options.resident_blocks) + " at once";
    worker_.stop = {Status::livelock, reason, first, waiting_.front().runner->number()};
}

}  // namespace kgsim
