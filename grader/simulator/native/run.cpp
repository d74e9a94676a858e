#include "run.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "access.hpp"

namespace kgsim {
namespace {

constexpr u32 quantum = 20000;      // blocks of code for each warp between two looks at budget and progress
constexpr u64 spread = 400;         // cycles by which reads of global memory differ at most
constexpr u32 short_quantum = 512;  // the same, once blocks of the launch have waited for others
constexpr u32 idle_rounds = 40;     // without a change, until other blocks get a turn
constexpr u32 patience = 512;       // blocks that the lowest lanes run while others could
constexpr u32 last_epoch = (1u << 20) - 2;

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

Runner::Runner(Worker& worker, u64 number, std::unique_ptr<Block> block)
    : worker_(worker), launch_(*worker.launch), code_(*worker.launch->code), owned_(std::move(block)), block_(*owned_) {
    prepare(number);
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
    b.window = launch_.window;
    if (b.shared_store.size() != b.window + 64 + 2 * shared_margin) {
        b.shared_store.assign(b.window + 64 + 2 * shared_margin, 0xff);
        b.shared_init.assign(b.window + 64, 0);
        b.shared_origin.assign(b.window / 4 + 16, 0);
        b.cells.assign(b.window / code_.granule + 16);
        b.shared = reinterpret_cast<u8*>((u64(b.shared_store.data()) + shared_margin + 63) & ~u64(63));
    } else {
        std::memset(b.shared, 0xff, b.window);
        std::fill(b.shared_init.begin(), b.shared_init.end(), u8(0));
        std::fill(b.shared_origin.begin(), b.shared_origin.end(), 0u);
    }
    b.full_epoch = ++b.epoch;
    const u32 warps = (b.threads + warp_lanes - 1) / warp_lanes;
    const bool fresh = b.warps.size() != warps;  // a Block serves blocks of one launch only
    b.warps.resize(warps);
    b.seen.assign(size_t(warps) * warps, 0);
    b.barriers = {};
    b.changes = b.global_reads = 0;
    b.fenced = false;
    b.local_origin.clear();
    if (code_.has_local) std::memset(b.local_init, 0, b.local_bytes);
    for (u32 k = 0; k < warps; ++k) {
        Warp& w = b.warps[k];
        const u32 lanes = std::min(warp_lanes, b.threads - k * warp_lanes);
        w.index = k;
        w.clock = 0;
        w.exists = w.live = w.running = lanes == 32 ? ~0u : (1u << lanes) - 1;
        w.warp_waiting = w.barrier_waiting = w.released = 0;
        w.steps_alone = 0;
        w.highest_turn = w.poisoned = w.together = false;
        w.carry = 0;
        w.passing = w.skipped = 0;
        w.barrier_result = 0;
        if (fresh) {
            for (u32 l = 0; l < warp_lanes; ++l) {
                const u32 t = k * warp_lanes + l;
                w.tid[0][l] = t % launch_.block.x;
                w.tid[1][l] = t / launch_.block.x % launch_.block.y;
                w.tid[2][l] = t / launch_.block.x / launch_.block.y;
            }
        }
        if (w.registers.size() < size_t(code_.slots) * warp_lanes + 16) {
            w.registers.assign(size_t(code_.slots) * warp_lanes + 16, 0);
            w.reg = reinterpret_cast<u32*>((u64(w.registers.data()) + 63) & ~u64(63));
        }
        w.predicates.resize(code_.preds + 1);
        w.poison.assign(code_.slots + 1, 0);
        w.poison_origin.resize(code_.slots + 1);
        w.pred_poison.assign(code_.preds + 1, 0);
        w.pred_origin.resize(code_.preds + 1);
        for (u32 l = 0; l < warp_lanes; ++l) {
            w.pc[l] = code_.entry;
            w.sp[l] = 0;
            w.sync_epoch[l] = 0;
            w.fence_epoch[l] = 0;
            w.copy_group[l] = 0;
        }
        if (code_.calls.empty() && !code_.has_copies) continue;
        for (u32 l = 0; l < warp_lanes; ++l) {
            w.frames[l].clear();
            w.saved[l].clear();
            w.copies[l].clear();
        }
    }
    if (b.epoch > last_epoch - 1) {
        forget_accesses(b);
        b.epoch = b.full_epoch = 1;
    }
    c_.worker = &worker_;
    c_.launch = &launch_;
    c_.code = &code_;
    c_.block = &b;
    c_.races = launch_.options.check_races;
    c_.uninit = launch_.options.check_uninitialised;
    c_.counting = launch_.options.count_lines;
    c_.base[1] = const_cast<u32*>(code_.constants.data());
}

void Runner::enter(Warp& w) {
    c_.warp = &w;
    c_.base[0] = w.reg;
    c_.pred = w.predicates.data();
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
            clocks_[w->index] = w->running ? w->clock : ~0ull;
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

void Runner::start_watching() {
    rounds_ = saved_round_ = idle_since_ = 0;
    turn_changes_ = block_.changes;
    turn_reads_ = block_.global_reads;
}

// `done` where it goes on.
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

void Runner::set_clocks() {
    clocks_.resize(block_.warps.size());
    for (const Warp& w : block_.warps) clocks_[w.index] = w.running ? w.clock : ~0ull;
}

// The warp that is behind all others that can run, and the clock of the next one.
Warp* Runner::earliest(u64& until) {
    u64 first = ~0ull, second = ~0ull;
    size_t at = 0;
    for (size_t k = 0; k < clocks_.size(); ++k) {
        const u64 clock = clocks_[k];
        const bool before = clock < first;
        second = before ? first : clock < second ? clock : second;
        at = before ? k : at;
        first = before ? clock : first;
    }
    until = second;
    return first == ~0ull ? nullptr : &block_.warps[at];
}

// As on a GPU, where no warp gets far ahead: reads of global memory take long and not all the same, the rest a
// few cycles. What races is then about as often right or wrong as there; whether it races is told from its accesses.
void Runner::pass(Warp& w, const BasicBlock& b, u32 pc) {
    w.clock += b.cycles;
    if (!b.far) return;
    const u64 drawn = (block_.number * 64 + w.index + 1) * 0x9e3779b97f4a7c15ull ^ (w.clock + pc) * 0xbf58476d1ce4e5b9ull;
    w.clock += (drawn >> 40) % spread;
}

// The lanes that run next: those with the lowest (or, for fairness, the highest) block.
u32 Runner::choose(Warp& w, u32& pc) {
    if (w.together) {
        pc = w.pc_together;
        return w.running;
    }
    u32 best = w.highest_turn ? 0 : none;
    for (u32 l = 0; l < warp_lanes; ++l)
        if (w.running >> l & 1) best = w.highest_turn ? std::max(best, w.pc[l]) : std::min(best, w.pc[l]);
    u32 group = 0;
    for (u32 l = 0; l < warp_lanes; ++l) group |= u32(w.pc[l] == best) << l;
    pc = best;
    group &= w.running;
    if (group == w.running) {
        w.together = true;
        w.pc_together = pc;
    }
    if (group != w.running && ++w.steps_alone > patience) {
        w.highest_turn = !w.highest_turn;
        w.steps_alone = 0;
    }
    return group;
}

// Runs a warp until it waits, is gone, has passed the next one's clock or used up its turns; returns these.
u64 Runner::run_warp(Warp& w, u64 until, u64 most) {
    enter(w);
    u64 turns = 0;
    while (w.running && w.clock <= until && turns < most && worker_.stop.status == Status::ok) {
        ++turns;
        u32 pc, group = choose(w, pc);
        const BasicBlock* b = &code_.blocks[pc];
        if (b->start == Start::warp_sync) group = meet(w, pc, group);
        else if (b->start == Start::barrier) group = arrive(w, pc, group);
        if (!group) continue;
        execute(w, *b, group);
        pass(w, *b, pc);
        finish(w, *b, pc, group);
        if (worker_.unflushed > 1u << 24) if (!within_budget()) break;
    }
    return turns;
}

// Lanes at a warp-wide instruction run it once all living lanes of their mask are there.
u32 Runner::meet(Warp& w, u32 pc, u32) {
    const u32* masks = c_.src<u32>(code_.insns[code_.blocks[pc].sync].e);
    u32 here = 0;
    for (u32 l = 0; l < warp_lanes; ++l) here |= u32(w.pc[l] == pc) << l;
    here &= w.running | w.warp_waiting;
    if (const u32 through = here & w.passing) {
        w.passing &= ~through;
        w.together &= through == w.running;
        return through;
    }
    for (u32 rest = here; rest;) {
        const u32 mask = masks[std::countr_zero(rest)];
        u32 group = 0;
        for (u32 l = 0; l < warp_lanes; ++l) group |= u32(masks[l] == mask) << l;
        group &= rest;
        rest &= ~group;
        u32 others = 0;  // named by the mask, and waiting at another line: the hardware lets them meet
        for (u32 l = 0; l < warp_lanes; ++l)
            if (mask & w.warp_waiting & ~group & 1u << l && w.wait_mask[l] == mask && w.pc[l] != pc) others |= 1u << l;
        if (!(mask & w.live & ~group & ~others)) {
            w.passing |= others;
            w.running |= others;
            w.warp_waiting &= ~others;
            w.together &= group == w.running;
            w.warp_waiting &= ~group;
            w.running |= group;
            return group;
        }
        w.together = false;
        w.running &= ~group;
        w.warp_waiting |= group;
        for (u32 l = 0; l < warp_lanes; ++l)
            if (group >> l & 1) { w.wait_mask[l] = mask; w.wait_insn[l] = code_.blocks[pc].sync; }
    }
    return 0;
}

// Lanes at a block barrier wait; those that it has released go through.
u32 Runner::arrive(Warp& w, u32 pc, u32 group) {
    if (u32 through = group & w.released) {
        w.released &= ~through;
        w.together &= through == w.running;
        return through;
    }
    const Insn& insn = code_.insns[code_.blocks[pc].sync];
    c_.set_mask(group);
    const u32* ids = c_.src<u32>(insn.a);
    const u32* counts = insn.b == none ? nullptr : c_.src<u32>(insn.b);
    const u32 truth = insn.c == none ? 0 : c_.truth(insn.c);
    if (!counts && insn.c == none && kind_of(insn.a) == Kind::constant) {  // __syncthreads()
        Barrier& x = block_.barriers[ids[0] & 15];
        x.waiting += u32(std::popcount(group));
        x.mixed |= x.first_insn != none && x.first_insn != insn.id;
        x.first_insn = insn.id;
        x.in_use = true;
        x.latest = std::max(x.latest, w.clock);
        if (w.skipped & group || w.running != group) note_apart(w, insn, pc, group);
        for (u32 l = 0; l < warp_lanes; ++l) w.barrier[l] = group >> l & 1 ? u16(ids[0] & 15) : w.barrier[l];
        for (u32 l = 0; l < warp_lanes; ++l) w.wait_insn[l] = c_.m[l] ? insn.id : w.wait_insn[l];
        w.arrived_together = group == w.live;
        w.together = false;
        w.running &= ~group;
        w.barrier_waiting |= group;
        return 0;
    }
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(group >> l & 1)) continue;
        Barrier& x = block_.barriers[ids[l] & 15];
        w.barrier[l] = u16(ids[l] & 15);
        w.wait_insn[l] = insn.id;
        ++x.waiting;
        x.mixed |= x.first_insn != none && x.first_insn != insn.id;
        x.first_insn = insn.id;
        x.in_use = true;
        x.latest = std::max(x.latest, w.clock);
        if (counts) x.expected = counts[l];
        if (insn.c != none) {
            x.count += truth >> l & 1;
            x.all &= truth >> l & 1;
            x.any |= truth >> l & 1;
        }
    }
    w.arrived_together = group == w.live;
    w.together = false;
    w.running &= ~group;
    w.barrier_waiting |= group;
    return 0;
}

// A barrier that only some lanes of a warp come to, while others may go past it: told once one of the others comes to
// a barrier all the same. (On an H200 such a kernel hangs or not, as the compiler has placed the reconvergence.)
void Runner::note_apart(Warp& w, const Insn& barrier, u32 pc, u32 group) {
    if (const u32 late = w.skipped & group) {
        Event e{Found::barrier_divergence, w.skipped_insn, barrier.id};
        e.other_thread = w.index * warp_lanes + u32(std::countr_zero(late));
        e.detail = 1;
        c_.report(e, u32(std::countr_zero(w.barrier_waiting ? w.barrier_waiting : group)));
        w.skipped = 0;
    }
    for (u32 rest = w.running & ~group; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        if (w.frames[l].empty() && w.pc[l] != pc && !always_reaches(w.pc[l], pc)) {
            w.skipped |= 1u << l;
            w.skipped_insn = barrier.id;
        }
    }
}

// Whether every way from a block of code to the end goes by another one.
bool Runner::always_reaches(u32 from, u32 block) {
    const auto [known, fresh] = reaches_.try_emplace({from, block}, true);
    if (!fresh) return known->second;
    std::vector<bool> seen(code_.blocks.size());
    std::vector<u32> rest{from};
    while (!rest.empty()) {
        const u32 at = rest.back();
        rest.pop_back();
        if (at >= code_.blocks.size() || at == block || seen[at]) continue;
        seen[at] = true;
        const BasicBlock& b = code_.blocks[at];
        switch (b.end) {
            case End::fall: case End::call: rest.push_back(b.next); break;
            case End::jump: rest.push_back(b.target); break;
            case End::branch: rest.push_back(b.next); rest.push_back(b.target); break;
            case End::table:
                for (u32 k = 0; k < code_.tables[b.target]; ++k) rest.push_back(code_.tables[b.target + 1 + k]);
                break;
            case End::leave: case End::ret: return known->second = false;
            default: break;
        }
    }
    return true;
}

void Runner::execute(Warp& w, const BasicBlock& b, u32 group) {
    c_.set_mask(group);
    const u32 lanes = u32(std::popcount(group));
    BlockCount& count = worker_.block_counts[size_t(&b - code_.blocks.data())];
    ++count.warps;
    count.lanes += lanes;
    worker_.unflushed += u64(b.last - b.first + 1) * lanes;
    const Insn* const insns = code_.insns.data();
    for (const Insn* i = insns + b.first; i != insns + b.last; ++i) {
        if (i->guard == none) [[likely]] {
            i->run(c_, *i);
            if (w.poisoned) [[unlikely]] flow_poison(c_, *i);
            continue;
        }
        if (w.poisoned)
            if (u32 bad = c_.poison_of(i->guard) & group) c_.accuse(i->guard & ~(1u << 29), bad, *i, Use::branch);
        const u32 some = group & c_.truth(i->guard);
        if (!some) continue;
        c_.set_mask(some);
        i->run(c_, *i);
        if (w.poisoned) flow_poison(c_, *i);
        c_.set_mask(group);
    }
}

void Runner::go(Warp& w, u32 lanes, u32 pc) {
    w.together = lanes == w.running;
    w.pc_together = pc;
    for (u32 l = 0; l < warp_lanes; ++l) w.pc[l] = lanes >> l & 1 ? pc : w.pc[l];
}

void Runner::finish(Warp& w, const BasicBlock& b, u32 pc, u32 group) {
    u32 taken = group;
    if (b.terminator != none) {
        const Insn& t = code_.insns[b.terminator];
        if (t.guard != none) {
            if (w.poisoned)
                if (u32 bad = c_.poison_of(t.guard) & group) c_.accuse(t.guard & ~(1u << 29), bad, t, Use::branch);
            taken &= c_.truth(t.guard);
            InsnCount& n = worker_.counts[t.id];
            ++n.requests;
            n.divergent += taken && taken != group;
        }
    }
    (void)pc;
    switch (b.end) {
        case End::fall: go(w, group, b.next); return;
        case End::jump: go(w, group, b.target); return;
        case End::branch:
            if (taken) go(w, taken, b.target);
            if (taken != group) go(w, group & ~taken, b.next);
            return;
        case End::leave:
        case End::ret:
            if (taken != group) go(w, group & ~taken, b.next);
            if (!taken) return;
            w.together = false;
            if (b.end == End::leave) leave(w, taken);
            else ret(w, taken);
            return;
        case End::table: {
            w.together = false;
            const Insn& t = code_.insns[b.terminator];
            const u32* index = c_.src<u32>(t.a);
            const u32 n = code_.tables[b.target];
            for (u32 l = 0; l < warp_lanes; ++l) {
                if (!(group >> l & 1)) continue;
                if (index[l] >= n) return c_.halt(Status::trapped, "an indexed branch outside of its table", &t);
                w.pc[l] = code_.tables[b.target + 1 + index[l]];
            }
            return;
        }
        case End::call: w.together = false; return call(w, b, group);
        default: return leave(w, group);
    }
}

void Runner::leave(Warp& w, u32 lanes) {
    w.together = false;
    w.live &= ~lanes;
    w.running &= ~lanes;
    block_.exited += u32(std::popcount(lanes));
    // Whoever waited for these lanes looks again.
    w.running |= w.warp_waiting;
    w.warp_waiting = 0;
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

// Where memory doesn't change, a warp whose state comes back goes on so forever; once each has, the block does. Warps
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
