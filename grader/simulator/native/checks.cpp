// Bounds, alignment and initialisation.
#include <algorithm>

#include "access.hpp"

namespace kgsim {
namespace {

u32 aligned_lanes(Ctx& c, const Insn& i, const Addresses& a, u32 bytes) {
    u64 low = 0;
    for (u32 l = 0; l < warp_lanes; ++l) low |= a.at[l];
    if (!(low & (bytes - 1))) return c.mask;
    u32 good = c.mask;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1) || !(a.at[l] & (bytes - 1))) continue;
        good &= ~(1u << l);
        Event e{Found::misaligned, i.id};
        e.address = i64(a.at[l]);
        e.width = bytes;
        if (const Region* r = c.launch->regions.find(a.at[l])) e.region = r->id;
        c.report(e, l);
        c.worker->illegal = c.worker->misaligned = true;
    }
    return good;
}

// How far a GPU reads and writes on around a region without an error. torch's allocator puts tensors below 10 MiB into
// common pieces of 2 to 20 MiB; larger ones end with the driver's page of 2 MiB (c10/cuda/CUDACachingAllocator.cpp:
// kMinLargeAlloc, kRoundLarge), and the reading past that of a published answer stopped an RTX 4090. What lies before
// them may be another tensor.
constexpr u64 common_piece = u64(32) << 20, own_memory = u64(10) << 20, page = u64(2) << 20;

u64 mapped_around(const Region& r, u64 address) {
    const u64 size = r.end - r.base;
    if (address < r.base || size < own_memory) return common_piece;
    return (size + page - 1) / page * page - size;
}

void note_outside(Worker& worker, const RegionMap& map, u64 address) {
    const Region* near = map.nearest(address);
    const u64 by = !near ? ~u64(0) : address < near->base ? near->base - address : address - near->end + 1;
    worker.unmapped |= !near || by > mapped_around(*near, address);
    if (by <= worker.outside_by) return;
    worker.outside_address = address;
    worker.outside_by = by;
}

// Where the access would be if a signed 32-bit index had not wrapped around: the offset that a region of more than
// 2^31 elements has exactly 2^32 elements further on. Nothing smaller can be meant, so chance is no candidate.
Region* unwrapped(const RegionMap& map, u64 address, i64& offset) {
    for (u64 size = 1; size <= 16; size *= 2) {
        Region* r = map.find(address + (size << 32));
        if (!r || address + (size << 32) - r->base < size << 31) continue;
        offset = i64(address + (size << 32) - r->base);
        return r;
    }
    return nullptr;
}

void report_outside(Ctx& c, const Insn& i, u64 address, u32 bytes, u32 lane, Access how) {
    const RegionMap& map = c.launch->regions;
    Region* hint = c.worker->last_region[i.id];
    Event e{Found::out_of_bounds, i.id};
    e.width = bytes;
    e.detail = u32(how);
    if (!hint) {
        hint = map.nearest(address);
        const u64 gap = !hint ? ~u64(0) : address < hint->base ? hint->base - address : address - hint->end;
        if (gap > 512)
            for (Region* r : map.freed)
                if (address >= r->base && address < r->end) {
                    e.kind = Found::use_after_free;
                    hint = r;
                }
    }
    if (Region* r = unwrapped(map, address, e.meant)) hint = r;
    if (hint) {
        e.region = hint->id;
        e.address = i64(address - hint->base);
        e.extent = i64(hint->end - hint->base);
    } else {
        e.address = i64(address);
    }
    c.report(e, lane);
    c.worker->illegal = true;
    note_outside(*c.worker, map, address);
}

u32 check_each(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, Access how, u32 lanes) {
    u32 good = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        Region* r = c.worker->last_region[i.id];
        const u64 at = a.at[l];
        if (!r || at < r->base || at >= r->end) r = c.launch->regions.find(at);
        if (!r) continue;
        c.worker->last_region[i.id] = r;
        if (r->end - at >= bytes) good |= 1u << l;
    }
    // Told only now: the lanes that are inside name the region that the others meant.
    for (u32 l = 0; l < warp_lanes; ++l)
        if (lanes >> l & 1 && !(good >> l & 1)) report_outside(c, i, a.at[l], bytes, l, how);
    return good;
}

// Marks what a store or atomic writes; reports writes to inputs and constants.
void note_written(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 lanes) {
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        Region* r = c.worker->last_region[i.id];
        if (!r || a.at[l] < r->base || a.at[l] + bytes > r->end) r = c.launch->regions.find(a.at[l]);
        if (!r) continue;
        r->note_pages(a.at[l], a.at[l] + bytes);
        if (r->init) std::memset(r->init + (a.at[l] - r->base), 1, bytes);
        if (r->stored) std::memset(r->stored + (a.at[l] - r->base), 1, bytes);
        r->written.store(r->written.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
        if (r->read_only || r->kind == RegionKind::constant) {
            Event e{r->kind == RegionKind::constant ? Found::constant_written : Found::input_written, i.id};
            e.address = i64(a.at[l] - r->base);
            e.extent = i64(r->end - r->base);
            e.region = r->id;
            e.width = bytes;
            c.report(e, l);
        }
    }
}

void note_whole(Region& r, const Footprint& s, u32 bytes) {
    const u64 n = s.bytes(bytes);
    if (r.init) std::memset(r.init + (s.low - r.base), 1, n);
    if (r.stored) std::memset(r.stored + (s.low - r.base), 1, n);
    r.written.store(r.written.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

constexpr u64 near = 256;  // a footprint up to which all between its ends is looked at

bool all_set(const u8* init, u32 n) {
    switch (n) {
        case 1: return *init;
        case 2: { u16 v; std::memcpy(&v, init, 2); return v == 0x0101; }
        case 4: { u32 v; std::memcpy(&v, init, 4); return v == 0x01010101; }
        case 8: { u64 v; std::memcpy(&v, init, 8); return v == 0x0101010101010101ull; }
        default: {
            u8 all = 1;
            for (u32 k = 0; k < n; ++k) all &= init[k];
            return all;
        }
    }
}

}  // namespace

static void note_read(const Ctx& c, const Addresses& a, u32 lanes) {
    if (c.whole) return c.whole->note_read();
    for (u32 rest = lanes; rest; rest &= rest - 1)
        if (Region* r = c.launch->regions.find(a.at[std::countr_zero(rest)])) r->note_read();
}

u32 check_global(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, Access how, const Footprint& s) {
    const u64 low = s.low, high = s.high;
    Region*& last = c.worker->last_region[i.id];
    u32 good = c.mask;
    if (s.bits & (bytes - 1)) good = aligned_lanes(c, i, a, bytes);
    auto holds = [&](const Region* r) { return r && low >= r->base && high < r->end && high + bytes <= r->end; };
    if (!holds(last)) {
        Region* r = c.launch->regions.find(low);
        if (holds(r)) last = r;
        else good = check_each(c, i, a, bytes, how, good);
    }
    c.whole = good == c.mask && holds(last) ? last : nullptr;
    if (how != Access::store && good) note_read(c, a, good);
    if (how != Access::load && good) {
        if (good == c.mask && holds(last)) last->note_pages(low, high + bytes);
        if (good == c.mask && holds(last) && !last->init && !last->stored && !last->read_only && last->kind != RegionKind::constant)
            last->written.store(last->written.load(std::memory_order_relaxed) + bytes * u32(std::popcount(good)), std::memory_order_relaxed);
        else if (s && c.whole && !last->read_only && last->kind != RegionKind::constant)
            note_whole(*last, s, bytes);
        else
            note_written(c, i, a, bytes, good);
    }
    return good;
}

u32 unwritten_global(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    if (c.whole && !c.whole->init) return 0;
    const Region* r = c.whole;
    if (r && s && all_set(r->init + (s.low - r->base), u32(s.bytes(bytes)))) return 0;
    u32 bad = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        if (!r || a.at[l] < r->base || a.at[l] >= r->end) {
            r = c.launch->regions.find(a.at[l]);
            if (!r) continue;
        }
        if (!r->init) continue;
        if (!all_set(r->init + (a.at[l] - r->base), bytes)) bad |= 1u << l;
    }
    return bad;
}

u32 unwritten_shared(Ctx& c, const Addresses& a, u32 bytes, u32 lanes, const Footprint& s) {
    const u8* init = c.block->shared_init.data();
    if (s.high - s.low <= near && all_set(init + s.low, u32(s.high - s.low) + bytes)) return 0;
    u32 bad = 0;
    if (bytes == 4) {
        for (u32 l = 0; l < warp_lanes; ++l) {
            u32 v;
            std::memcpy(&v, init + (lanes >> l & 1 ? a.at[l] : 0), 4);
            bad |= u32(v != 0x01010101) << l;
        }
        return bad & lanes;
    }
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        if (!all_set(init + a.at[l], bytes)) bad |= 1u << l;
    }
    return bad;
}

namespace {

// Beyond what the block was given, in its granularity of 128 bytes, a GPU stops (an H200 did); wherever ptxas has
// placed the variable, an offset of that much from its start lies there.
bool stops_beyond(const Ctx& c, i64 offset) {
    u64 total = c.launch->dynamic_shared;
    for (const SharedVariable& v : c.code->shared) if (!v.dynamic) total = (total + 15) / 16 * 16 + v.size;
    return offset >= i64((total + 127) / 128 * 128);
}

}  // namespace

u32 check_shared(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, Access how, const Footprint& s) {
    const u64 low = s.low, high = s.high;
    u32 good = c.mask;
    if (s.bits & (bytes - 1)) good = aligned_lanes(c, i, a, bytes);
    const auto& variables = c.code->shared;
    auto end_of = [&](const SharedVariable& v) { return u64(v.dynamic ? c.block->window : v.offset + v.size); };
    for (const SharedVariable& v : variables)
        if (low >= v.offset && high < end_of(v) && high + bytes <= end_of(v)) return good;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(good >> l & 1)) continue;
        bool inside = false;
        const SharedVariable* before = nullptr;
        for (const SharedVariable& v : variables) {
            inside |= a.at[l] >= v.offset && a.at[l] < end_of(v) && a.at[l] + bytes <= end_of(v);
            if (a.at[l] >= v.offset) before = &v;
        }
        if (inside) continue;
        good &= ~(1u << l);
        if (!before && !variables.empty()) before = &variables[0];
        Event e{Found::shared_oob, i.id};
        e.address = i64(a.at[l]) - (before ? before->offset : 0);
        if (i.mode & 1 ? false : true) e.address = i64(i32(u32(a.at[l]))) - (before ? before->offset : 0);
        e.extent = before ? i64(end_of(*before)) - before->offset : 0;
        e.width = bytes;
        e.detail = u32(how);
        e.region = before ? before - variables.data() : -1;
        c.report(e, l);
        c.worker->shared_outside |= stops_beyond(c, e.address);
        c.worker->illegal = true;
    }
    return good;
}

bool in_own_stacks(const Ctx& c, const Addresses& a, u32 bytes) {
    const u64 stack = c.code->stack_bytes, base = u64(c.block->local) + stack * c.thread(0);
    const u32 first = u32(std::countr_zero(c.mask));
    const u64 offset = a.at[first] - base - stack * first;
    if (!stack || offset >= stack || offset + bytes > stack || offset & (bytes - 1)) return false;
    u64 apart = 0;
    for (u32 l = 0; l < warp_lanes; ++l) apart |= (a.at[l] - (base + offset + stack * l)) & u64(i64(i32(c.m[l])));
    return apart == 0;
}

u32 unwritten_local(const Ctx& c, const Addresses& a, u32 bytes, u32 lanes) {
    const u64 shadow = u64(c.block->local_init) - u64(c.block->local);
    u32 bad = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        bad |= u32(!all_set(reinterpret_cast<const u8*>(a.at[l] + shadow), bytes)) << l;
    }
    return bad;
}

u32 check_local(Ctx& c, const Insn& i, const Addresses& a, u32 bytes) {
    u32 good = (bytes & (bytes - 1)) ? c.mask : aligned_lanes(c, i, a, bytes);
    const u64 stack = c.code->stack_bytes;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(good >> l & 1)) continue;
        const u64 base = u64(c.block->local) + stack * c.thread(l);
        if (a.at[l] >= base && a.at[l] < base + stack && a.at[l] + bytes <= base + stack) continue;
        good &= ~(1u << l);
        Event e{Found::local_oob, i.id};
        e.address = i64(a.at[l] - base);
        e.extent = i64(stack);
        e.width = bytes;
        c.report(e, l);
        c.worker->illegal = true;
    }
    return good;
}

}  // namespace kgsim
