// Instructions by which the lanes of a warp talk to each other, and special registers.
#include <chrono>

#include "atomic.hpp"
#include "blob.hpp"
#include "link.hpp"

namespace kgsim {
namespace {

// Lanes that the membermask names and that take part now.
u32 members(const Ctx& c, const Insn& i, u32 lane) { return c.src<u32>(i.e)[lane]; }

void report_mask(Ctx& c, const Insn& i) {
    const u32 lane = u32(std::countr_zero(c.mask)), named = members(c, i, lane);
    const Warp& w = *c.warp;
    if (u32 outside = c.mask & ~named) {
        Event e{Found::sync_not_in_mask, i.id};
        e.detail = named;
        c.report(e, u32(std::countr_zero(outside)));
    }
    if (u32 left = named & w.exists & ~w.live) {
        Event e{Found::sync_exited, i.id};
        e.detail = named;
        e.other_thread = c.thread(u32(std::countr_zero(left)));
        c.report(e, lane);
    }
}

// The result of a shuffle from an absent lane is undefined in PTX: an H200 returns 0 for a lane that has
// returned or that the block never had, so a sum is right there. For a lane elsewhere it is unknown.
u32 undefined(const Warp& w, int lane) { return w.live >> lane & 1 ? ~0u : 0u; }

// Gives each lane f(lane).
template <class F> void put_each(const Ctx& c, u32 d, bool wide, F&& f) {
    const auto put = [&](auto* to) {
        using T = std::remove_reference_t<decltype(*to)>;
        if (c.full)
            for (u32 l = 0; l < warp_lanes; ++l) to[l] = T(f(l));
        else
            for (u32 l = 0; l < warp_lanes; ++l) to[l] = c.m[l] ? T(f(l)) : to[l];
    };
    if (wide) put(c.dst<u64>(d));
    else put(c.dst<u32>(d));
}

u64 nanoseconds() {
    return u64(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace

u32 shuffle_source(const Ctx& c, const Insn& i, u32 l, bool& inside) {
    const u32 *b = c.src<u32>(i.b), *limits = c.src<u32>(i.c);
    const int lane = int(l), by = int(b[l] & 31), clamp = int(limits[l] & 31), segment = int(limits[l] >> 8 & 31);
    const int top = (lane & segment) | (clamp & ~segment), bottom = lane & segment;
    int j = 0;
    switch (i.mode) {
        case 0: j = lane - by; inside = j >= top; break;
        case 1: j = lane + by; inside = j <= top; break;
        case 2: j = lane ^ by; inside = j <= top; break;
        default: j = bottom | (by & ~segment); inside = j <= top; break;
    }
    return u32(inside ? j : lane);
}

void run_shuffle(Ctx& c, const Insn& i) {
    report_mask(c, i);
    const u32* a = c.src<u32>(i.a);
    u32 out[warp_lanes], inside = 0, absent = 0;
    int from[warp_lanes];
    for (u32 l = 0; l < warp_lanes; ++l) {
        bool ok = false;
        const int j = int(shuffle_source(c, i, l, ok));
        from[l] = j;
        out[l] = a[j];
        inside |= u32(ok) << l;
        if (!(c.mask >> j & 1)) absent |= 1u << l;
    }
    absent &= c.mask;
    if (c.warp->poisoned || absent) {
        const u32 q = c.poison_of(i.a);
        u32 bad = 0;
        for (u32 l = 0; l < warp_lanes; ++l) bad |= (q >> from[l] & 1) << l;
        bad &= c.mask & ~absent;
        u32 origin_of_source = bad ? c.origin_of(i.a) : 0;
        c.set_poison(i.d, bad | absent, bad ? origin_of_source : origin(Poison::shuffle, i.id));
    }
    u32* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? (absent >> l & 1 ? undefined(*c.warp, from[l]) : out[l]) : d[l];
    c.put(i.d2, inside);
}

void run_vote(Ctx& c, const Insn& i) {
    report_mask(c, i);
    const u32 p = c.truth(i.a) & c.mask;
    const u32 q = c.poison_of(i.a) & c.mask;
    if (i.mode == 3) {
        u32* d = c.dst<u32>(i.d);
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? p : d[l];
    } else {
        const bool r = i.mode == 0 ? p == c.mask : i.mode == 1 ? p != 0 : p == 0 || p == c.mask;
        c.put(i.d, r ? ~0u : 0);
    }
    if (c.warp->poisoned) c.set_poison(i.d, q ? c.mask : 0, q ? c.origin_of(i.a) : 0);
}

void run_match(Ctx& c, const Insn& i) {
    report_mask(c, i);
    u64 v[warp_lanes];
    for (u32 l = 0; l < warp_lanes; ++l) v[l] = i.mode & 2 ? c.src<u64>(i.a)[l] : c.src<u32>(i.a)[l];
    u32 out[warp_lanes] = {}, all = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        for (u32 k = 0; k < warp_lanes; ++k) out[l] |= u32(c.mask >> k & 1 && v[k] == v[l]) << k;
        if (out[l] == c.mask) all |= 1u << l;
        if (i.mode & 1) out[l] = out[l] == c.mask ? c.mask : 0;
    }
    u32* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? out[l] : d[l];
    c.put(i.d2, all);
    if (c.warp->poisoned) c.set_poison(i.d, c.poison_of(i.a) & c.mask ? c.mask : 0, c.poison_of(i.a) ? c.origin_of(i.a) : 0);
}

void run_reduce(Ctx& c, const Insn& i) {
    report_mask(c, i);
    const u32* a = c.src<u32>(i.a);
    u32 r = 0;
    bool first = true;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        const u32 v = a[l];
        if (first) { r = v; first = false; continue; }
        const bool is_signed = i.mode & 8, less = is_signed ? i32(v) < i32(r) : v < r;
        switch (i.mode & 7) {
            case 0: r += v; break;
            case 1: r = less ? v : r; break;
            case 2: r = less ? r : v; break;
            case 3: r &= v; break;
            case 4: r |= v; break;
            default: r ^= v; break;
        }
    }
    const u32 q = c.poison_of(i.a) & c.mask;
    if (c.warp->poisoned) c.set_poison(i.d, q ? c.mask : 0, q ? c.origin_of(i.a) : 0);
    u32* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? r : d[l];
}

void run_elect(Ctx& c, const Insn& i) {
    report_mask(c, i);
    const u32 leader = u32(std::countr_zero(c.mask));
    u32* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? leader : d[l];
    c.put(i.d2, 1u << leader);
}

void run_active_mask(Ctx& c, const Insn& i) {
    u32* d = c.dst<u32>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? c.mask : d[l];
    if (c.warp->poisoned) c.set_poison(i.d, 0, 0);
}

void run_warp_barrier(Ctx& c, const Insn& i) {
    report_mask(c, i);
    u16 latest = 0;
    for (u32 l = 0; l < warp_lanes; ++l) if (c.mask >> l & 1 && c.warp->sync_epoch[l] > latest) latest = c.warp->sync_epoch[l];
    for (u32 l = 0; l < warp_lanes; ++l) if (c.mask >> l & 1) c.warp->sync_epoch[l] = u16(latest + 1);
}

void run_fence(Ctx& c, const Insn&) {
    c.block->fenced = true;
    for (u32 l = 0; l < warp_lanes; ++l)
        if (c.mask >> l & 1) {
            ++c.warp->sync_epoch[l];
            c.warp->fence_epoch[l] = c.block->epoch;
        }
}

void run_nothing(Ctx&, const Insn&) {}

void run_unsupported(Ctx& c, const Insn& i) {
    std::string text = c.launch->module->strings[i.opcode];
    if (!text.empty() && text[0] == '!') text.erase(0, 1);
    c.halt(Status::unsupported, "instruction not supported: " + text, &i);
}

void run_trap(Ctx& c, const Insn& i) {
    c.report(Event{Found::trapped, i.id}, u32(std::countr_zero(c.mask)));
    c.halt(Status::trapped, "the kernel executed a trap", &i);
}

// ---------------------------------------------------------------- special registers and addresses

void run_special(Ctx& c, const Insn& i) {
    const Block& b = *c.block;
    const Launch& launch = *c.launch;
    const Dim3 n = launch.block, g = launch.grid;
    auto each = [&](auto f) { put_each(c, i.d, i.width == 8, f); };
    auto fill = [&](u64 value) { each([=](u32) { return value; }); };
    switch (i.mode) {
        case tid_x: case tid_y: case tid_z: each([tid = c.warp->tid[i.mode - tid_x]](u32 l) { return tid[l]; }); break;
        case ntid_x: fill(n.x); break;
        case ntid_y: fill(n.y); break;
        case ntid_z: fill(n.z); break;
        case ctaid_x: fill(b.index[0]); break;
        case ctaid_y: fill(b.index[1]); break;
        case ctaid_z: fill(b.index[2]); break;
        case nctaid_x: fill(g.x); break;
        case nctaid_y: fill(g.y); break;
        case nctaid_z: fill(g.z); break;
        case laneid: each([](u32 l) { return l; }); break;
        case warpid: fill(c.warp->index); break;
        case nwarpid: fill(64); break;
        case smid: fill(b.number % (launch.options.sm_count ? launch.options.sm_count : 1)); break;
        case nsmid: fill(launch.options.sm_count); break;
        case mask_eq: each([](u32 l) { return 1u << l; }); break;
        case mask_lt: each([](u32 l) { return (1u << l) - 1; }); break;
        case mask_le: each([](u32 l) { return u32((u64(2) << l) - 1); }); break;
        case mask_gt: each([](u32 l) { return u32(~((u64(2) << l) - 1)); }); break;
        case mask_ge: each([](u32 l) { return ~((1u << l) - 1); }); break;
        case clock_: fill(u32(c.worker->clock += 8)); break;
        case clock_hi: fill((c.worker->clock += 8) >> 32); break;
        case clock64: fill(c.worker->clock += 8); break;
        case timer: fill(nanoseconds()); break;
        case timer_lo: fill(u32(nanoseconds())); break;
        case timer_hi: fill(nanoseconds() >> 32); break;
        case dynamic_smem: fill(launch.dynamic_shared); break;
        case total_smem: fill(launch.dynamic_shared + c.code->static_window); break;
        case grid_high: fill(launch.options.cooperative ? u64(launch.grid_barrier) >> 32 : 0); break;
        case grid_low: fill(launch.options.cooperative ? u32(u64(launch.grid_barrier)) : 0); break;
        case one_: fill(1); break;
        default: fill(0); break;
    }
}

void run_local_address(Ctx& c, const Insn& i) {
    u64* d = c.dst<u64>(i.d);
    const u64 stack = c.code->stack_bytes;
    for (u32 l = 0; l < warp_lanes; ++l)
        if (c.mask >> l & 1) d[l] = u64(c.block->local) + stack * c.thread(l) + c.warp->sp[l] + u64(i.imm);
}

// The whole address of local memory from its lower half (LLVM's short pointers); with a mode, of what may be whole already.
void run_local_pointer(Ctx& c, const Insn& i) {
    u64* d = c.dst<u64>(i.d);
    const u32* half = i.mode ? nullptr : c.src<u32>(i.a);
    const u64* whole = i.mode ? c.src<u64>(i.a) : nullptr;
    const u64 base = u64(c.block->local);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        const u64 a = half ? half[l] : whole[l];
        d[l] = a >> 32 ? a : base + u32(u32(a) - u32(base));
    }
}

void run_parameter(Ctx& c, const Insn& i) {
    const auto& bytes = c.launch->parameters;
    const u32* list = c.code->lists.data() + i.list;
    for (u32 k = 0; k < i.vec; ++k) {
        u64 v = 0;
        const u64 at = u64(i.imm) + k * i.width;
        if (at + i.width <= bytes.size()) std::memcpy(&v, bytes.data() + at, i.width);
        if (i.mode & 2 && i.width < 8) v = u64(i64(v << (64 - i.width * 8)) >> (64 - i.width * 8));
        if (i.mode & 8) v &= 0xffff;
        put_each(c, list[k], i.mode & 4, [=](u32) { return v; });
        if (c.warp->poisoned) c.set_poison(list[k], 0, 0);
    }
}

void run_parameter_address(Ctx& c, const Insn& i) {
    u64* d = c.dst<u64>(i.d);
    for (u32 l = 0; l < warp_lanes; ++l) if (c.mask >> l & 1) d[l] = u64(c.launch->parameters.data()) + u64(i.imm);
}

void run_shared_base(Ctx& c, const Insn& i) {
    u64* d = c.dst<u64>(i.d);
    const u64* a = c.src<u64>(i.a);
    const u64 base = u64(c.block->shared);
    for (u32 l = 0; l < warp_lanes; ++l) if (c.mask >> l & 1) d[l] = i.mode ? a[l] - base : a[l] + base;
}

void run_is_space(Ctx& c, const Insn& i) {
    const u64* a = c.src<u64>(i.a);
    const Block& b = *c.block;
    u32 value = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        const bool shared = a[l] - u64(b.shared) < b.window, local = a[l] - u64(b.local) < b.local_bytes;
        const Region* r = shared || local ? nullptr : c.launch->regions.find(a[l]);
        const bool constant = r && r->kind == RegionKind::constant;
        const bool yes = i.mode == 0 ? !shared && !local && !constant : i.mode == 1 ? shared : i.mode == 2 ? local : i.mode == 3 ? constant : false;
        value |= u32(yes) << l;
    }
    c.put(i.d, value);
}

void run_barrier_result(Ctx& c, const Insn& i) {
    if (i.d == none) return;
    const u32 result = c.warp->barrier_result;
    if (i.mode == 2) {
        u32* d = c.dst<u32>(i.d);
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? result : d[l];
    } else {
        c.put(i.d, result ? ~0u : 0);
    }
    if (c.warp->poisoned) c.set_poison(i.d, 0, 0);
}

}  // namespace kgsim
