// Lanes that meet: at warp-wide instructions and at barriers of the block.
#include <algorithm>

#include "run.hpp"

namespace kgsim {

// Lanes at a warp-wide instruction run it once all living lanes of their mask are there.
u32 Runner::meet(Warp& w, u32 pc, u32 group) {
    const u32* masks = c_.src<u32>(code_.insns[code_.blocks[pc].sync].e);
    if (group == ~0u) {  // the usual case: all are here
        u32 differ = 0;
        for (u32 l = 0; l < warp_lanes; ++l) differ |= masks[l] ^ masks[0];
        if (!differ && !w.passing) return group;
    }
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
        group = 0;
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

// The barrier at which lanes have arrived, with its state.
Barrier& Runner::come(const Warp& w, const Insn& insn, u32 id, u32 pc) {
    Barrier& x = block_.barriers[id];
    block_.barriers_in_use |= 1u << id;
    x.mixed |= x.first_insn != none && x.first_insn != insn.id;
    x.first_insn = insn.id;
    x.block = pc;
    x.latest = std::max(x.latest, w.clock);
    return x;
}

// The barrier and the instruction at which the lanes of the mask wait.
void Runner::note_place(Warp& w, u32 group, u16 barrier, u32 insn) {
    if (group == ~0u) {
        std::fill(std::begin(w.barrier), std::end(w.barrier), barrier);
        std::fill(std::begin(w.wait_insn), std::end(w.wait_insn), insn);
        return;
    }
    for (u32 rest = group; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        w.barrier[l] = barrier;
        w.wait_insn[l] = insn;
    }
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
        Barrier& x = come(w, insn, ids[0] & 15, pc);
        x.waiting += u32(std::popcount(group));
        if (w.skipped & group || w.running != group) note_apart(w, insn, pc, group);
        note_place(w, group, u16(ids[0] & 15), insn.id);
    } else {
        for (u32 rest = group; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            Barrier& x = come(w, insn, ids[l] & 15, pc);
            w.barrier[l] = u16(ids[l] & 15);
            w.wait_insn[l] = insn.id;
            ++x.waiting;
            if (counts) x.expected = counts[l];
            if (insn.c == none) continue;
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

// The usual case of the same: all living lanes of the warp come at once to a __syncthreads() that they pass together.
bool Runner::arrives_whole(Warp& w) {
    if (!w.together || w.running != w.live || w.released || w.skipped) return false;
    const BasicBlock& b = code_.blocks[w.pc_together];
    if (!b.simple) return false;
    const Insn& insn = code_.insns[b.sync];
    const u32 id = *c_.src<u32>(insn.a) & 15, threads = u32(std::popcount(w.live));
    Barrier& x = come(w, insn, id, w.pc_together);
    x.waiting += threads;
    x.whole += threads;
    note_place(w, w.live, u16(id), insn.id);
    w.arrived_together = true;
    w.together = false;
    w.running = 0;
    w.barrier_waiting = w.live;
    return true;
}

// A barrier that only some lanes of a warp come to, while others may go past it: told once one of the others comes to
// a barrier all the same. (On an H200 such a kernel hangs or not, as the compiler has placed the reconvergence.)
// Lanes that ran out of order prove nothing: they need not have waited where the others would have met them.
void Runner::note_apart(Warp& w, const Insn& barrier, u32 pc, u32 group) {
    if (const u32 late = w.skipped & group) {
        Event e{Found::barrier_divergence, w.skipped_insn, barrier.id};
        e.other_thread = w.index * warp_lanes + u32(std::countr_zero(late));
        e.detail = 1;
        c_.report(e, u32(std::countr_zero(w.barrier_waiting ? w.barrier_waiting : group)));
        w.skipped = 0;
    }
    if (w.overtaken) return;
    for (u32 rest = w.running & ~group; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        if (w.frames[l].empty() && w.pc[l] != pc && !always_reaches(w.pc[l], pc)) {
            w.skipped |= 1u << l;
            w.skipped_insn = barrier.id;
        }
    }
}

// Whether every path from a block of code to the end passes another one.
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

}  // namespace kgsim
