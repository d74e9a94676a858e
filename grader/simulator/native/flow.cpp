// Unwritten values ("poison"): from loads through registers to the uses that count.
#include "core.hpp"

namespace kgsim {

namespace {

// A register that other lanes poisoned keeps their origin; one origin a register is enough to name a line.
u32 gather(const Ctx& c, const Insn& i, u32& from) {
    u32 bad = 0;
    for (u32 op : {i.a, i.b, i.c, i.e}) {
        u32 q = c.poison_of(op) & c.mask;
        if (q) { bad |= q; from = c.origin_of(op); }
    }
    return bad;
}

}  // namespace

void flow_poison(Ctx& c, const Insn& i) {
    if (i.flow == Flow::own) return;
    u32 from = 0, bad = gather(c, i, from);
    if (bad) {
        const u32 pa = c.poison_of(i.a), pb = c.poison_of(i.b);
        if (i.flow == Flow::select) {
            const u32 choice = c.truth(i.c), pc = c.poison_of(i.c);
            bad = (choice & pa) | (~choice & pb) | pc;
            if (choice & pa) from = c.origin_of(i.a);
            else if (~choice & pb) from = c.origin_of(i.b);
        } else if (i.flow == Flow::conjunction || i.flow == Flow::disjunction) {
            // A known operand that decides alone makes the other one not matter.
            u32 va = c.truth(i.a), vb = c.truth(i.b);
            if (i.flow == Flow::disjunction) { va = ~va; vb = ~vb; }
            bad = (pa & pb) | (pa & vb) | (pb & va);
        } else if (i.klass == Class::convert && i.b != none) {
            bad = pa & pb;  // each half of the result is one source's: a half without one may be of no use
        }
    }
    c.set_poison(i.d, bad, from);
    c.set_poison(i.d2, bad, from);
}

void Ctx::accuse(u32 op, u32 bad_lanes, const Insn& use, Use how, const u64* at) {
    const u32 from = origin_of(op);
    Event e{};
    switch (Poison(from >> 24)) {
        case Poison::shared: e.kind = Found::uninit_shared; break;
        case Poison::global: e.kind = Found::uninit_global; break;
        case Poison::local: e.kind = Found::uninit_local; break;
        case Poison::shuffle: e.kind = Found::shuffle_absent; break;
        default: return;
    }
    e.insn = from & 0xffffff;
    e.other = use.id;
    if (const auto copy = worker->findings.pending.find(e.insn); copy != worker->findings.pending.end()) e.copy = copy->second;
    e.detail = u32(how);
    if (at && bad_lanes) e.address = i64(at[std::countr_zero(bad_lanes)]);
    for (u32 rest = at ? bad_lanes : 0; rest; rest &= rest - 1)
        if (Region* r = launch->regions.find(at[std::countr_zero(rest)])) r->note_taken();
    for (u32 l = 0; l < warp_lanes; ++l) if (bad_lanes >> l & 1) report(e, l);
    // Accused once is enough: what follows from this value is the same defect.
    const u32 keep = mask;
    set_mask(bad_lanes & keep);
    set_poison(op, 0, 0);
    set_mask(keep);
}

void Ctx::report(Event event, u32 lane) {
    event.block = block->number;
    event.thread = thread(lane);
    worker->findings.add(event);
    if (!(launch->options.findings >> u32(event.kind) & 1)) halt(Status::trapped, "a finding ended it", nullptr);
}

void Ctx::halt(Status status, std::string reason, const Insn* insn) {
    if (worker->stop.status != Status::ok) return;
    worker->stop = {status, std::move(reason), insn ? insn->id : none, block->number};
}

void Findings::add(const Event& event) {
    const std::array<u32, 3> key{u32(event.kind), event.insn, event.other};
    auto it = by_place.find(key);
    if (it != by_place.end()) { ++it->second.count; return; }
    if (by_place.size() >= most * 16) return;
    by_place.emplace(key, Tally{event, 1});
}

void Findings::merge(const Findings& from) {
    for (const auto& [key, tally] : from.by_place) {
        auto [it, fresh] = by_place.try_emplace(key, tally);
        if (fresh) continue;
        it->second.count += tally.count;
        if (tally.first.block < it->second.first.block) it->second.first = tally.first;
    }
}

const char* found_name(Found kind) {
    static constexpr const char* names[] = {
        "out-of-bounds", "use-after-free", "misaligned", "shared-out-of-bounds", "local-out-of-bounds", "uninit-shared-read",
        "uninit-global-read", "uninit-local-read", "race", "race-volatile", "global-race", "same-value-race", "input-written", "constant-written",
        "barrier-divergence", "barrier-exited", "sync-exited-lanes", "sync-lane-not-in-mask", "shuffle-absent-lane", "deadlock",
        "grid-deadlock", "livelock", "assert", "trap", "stack-overflow"};
    return names[size_t(kind)];
}

const char* class_name(Class c) {
    static constexpr const char* names[] = {
        "integer", "fp32", "fp64", "fp16", "special", "convert", "move", "control", "compare", "load_global", "store_global",
        "load_shared", "store_shared", "load_local", "store_local", "load_const", "atomic", "shuffle", "barrier", "tensor", "other"};
    return names[size_t(c)];
}

}  // namespace kgsim
