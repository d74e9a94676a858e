// Running a warp: block of code after block of code, lanes of the lowest one first.
#include <algorithm>

#include "run.hpp"
#include "watcher.hpp"

namespace kgsim {
namespace {

constexpr u64 spread = 400;         // cycles by which reads of global memory differ at most
constexpr u32 patience = 512;       // blocks in a row that the lowest lanes run while others could

}  // namespace

// As on a GPU, where no warp gets far ahead: reads of global memory take long and not all the same, the rest a
// few cycles. A race then comes out right about as often as there; races are detected from accesses.
void Runner::pass(Warp& w, const BasicBlock& b, u32 pc) {
    w.clock += b.cycles;
    if (!b.far || code_.of_blocks) return;
    const u64 drawn = (block_.number * 64 + w.index + 1) * 0x9e3779b97f4a7c15ull ^ (w.clock + pc) * 0xbf58476d1ce4e5b9ull;
    w.clock += (drawn >> 40) % spread;
}

// The lanes that run next where not all are together: those with the lowest (or, for fairness, the highest) block.
u32 Runner::choose(Warp& w, u32& pc) {
    u32 best = w.highest_turn ? 0 : none;
    if (w.highest_turn) for (u32 l = 0; l < warp_lanes; ++l) best = std::max(best, w.pc[l] & (0 - (w.running >> l & 1)));
    else for (u32 l = 0; l < warp_lanes; ++l) best = std::min(best, w.pc[l] | ((w.running >> l & 1) - 1));
    u32 group = 0;
    for (u32 l = 0; l < warp_lanes; ++l) group |= u32(w.pc[l] == best) << l;
    pc = best;
    group &= w.running;
    if (group == w.running) {
        w.together = true;
        w.pc_together = pc;
        w.highest_turn = w.overtaken = false;
        w.steps_alone = 0;
    } else if (++w.steps_alone > patience) {
        w.highest_turn = !w.highest_turn;
        w.overtaken = true;
        w.steps_alone = 0;
    }
    return group;
}

void Runner::count(const BasicBlock& b, u32 pc, u32 lanes) {
    BlockCount& n = worker_.block_counts[pc];
    ++n.warps;
    n.lanes += lanes;
    worker_.unflushed += u64(b.last - b.first + 1) * lanes;
}

void Runner::execute(Warp& w, const BasicBlock& b, u32 group) {
    c_.set_mask(group);
    if (c_.watcher) [[unlikely]] return execute_watched(w, b, group);
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

// The same, calling a watcher before and after each instruction.
void Runner::execute_watched(Warp& w, const BasicBlock& b, u32 group) {
    for (u32 k = b.first; k < b.last; ++k) {
        const Insn& i = code_.insns[k];
        const u32 some = i.guard == none ? group : group & c_.truth(i.guard);
        if (some != group) {
            c_.set_mask(group & ~some);
            c_.watcher->left_out(c_, i);
        }
        if (!some) continue;
        c_.set_mask(some);
        c_.watcher->step(c_, i);
        i.run(c_, i);
        c_.watcher->computed(c_, i);
        if (w.poisoned) flow_poison(c_, i);
        c_.set_mask(group);
    }
    c_.set_mask(group);
}

void Runner::finish(Warp& w, const BasicBlock& b, u32 group) {
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

// A turn in which nothing is executed, if that is what comes next; the number of turns.
u64 Runner::light_turn(Warp& w) {
    if (!w.together) return 0;
    const u32 pc = w.pc_together;
    const BasicBlock& b = code_.blocks[pc];
    if (b.simple) return arrives_whole(w);
    if (!b.empty) return 0;
    count(b, pc, u32(std::popcount(w.running)));
    w.clock += b.cycles;
    go(w, w.running, b.next);
    return 1;
}

// Runs a warp until it waits, is gone, has passed the next one's clock or used up its turns; returns these.
u64 Runner::run_warp(Warp& w, u64 until, u64 most) {
    enter(w);
    u64 turns = 0;
    while (w.running && w.clock <= until && turns < most && worker_.stop.status == Status::ok) {
        ++turns;
        u32 pc = w.pc_together, group = w.together ? w.running : choose(w, pc);
        const BasicBlock& b = code_.blocks[pc];
        if (b.start == Start::warp_sync) group = meet(w, pc, group);
        else if (b.start == Start::barrier) group = arrives_whole(w) ? 0 : arrive(w, pc, group);
        if (!group) continue;
        count(b, pc, u32(std::popcount(group)));
        if (!b.empty) execute(w, b, group);
        pass(w, b, pc);
        finish(w, b, group);
        if (worker_.unflushed > launch_.between_looks) if (!within_budget()) break;
    }
    return turns;
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

void Runner::enter(Warp& w) {
    c_.warp = &w;
    c_.base[0] = w.reg;
    c_.pred = w.predicates.data();
}

}  // namespace kgsim
