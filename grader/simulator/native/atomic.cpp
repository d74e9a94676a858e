// Atomic operations, and copies from global to shared memory that finish only when they are waited for.
#include "atomic.hpp"

#include "access.hpp"
#include "floats.hpp"

namespace kgsim {

int atomic_operation(std::string_view name) {
    static constexpr std::string_view names[] = {"exch", "add", "min", "max", "inc", "dec", "cas", "and", "or", "xor"};
    for (int k = 0; k < 10; ++k) if (names[k] == name) return k;
    return -1;
}
int atomic_type(std::string_view name) {
    static constexpr std::string_view names[] = {"b16", "u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"};
    if (name == "b32") return type_u32;
    if (name == "b64") return type_u64;
    for (int k = 0; k < 11; ++k) if (names[k] == name) return k;
    return -1;
}

namespace {

float half_of(u64 v, bool bf) { return bf ? bf16_to_float(u32(v) & 0xffff) : half_to_float(u32(v) & 0xffff); }
u32 add_half(u64 a, u64 b, bool bf) {
    const float r = half_of(a, bf) + half_of(b, bf);
    return bf ? float_to_bf16(r) : float_to_half(r);
}
template <class T> T least(T a, T b, bool low) { return (a < b) == low ? a : b; }

}  // namespace

u64 atomic_combine(int op, int type, u64 old, u64 value, u64 swap) {
    const u32 a = u32(old), b = u32(value);
    switch (op) {
        case atomic_exch: return value;
        case atomic_cas: return old == value ? swap : old;
        case atomic_and: return old & value;
        case atomic_or: return old | value;
        case atomic_xor: return old ^ value;
        case atomic_inc: return a >= b ? 0 : a + 1;
        case atomic_dec: return a == 0 || a > b ? b : a - 1;
        case atomic_add:
            switch (type) {
                case type_f32: return bits_of(as_f32(a) + as_f32(b));
                case type_f32_ftz: return bits_of(flush(flush(as_f32(a)) + flush(as_f32(b))));
                case type_f64: return bits_of(as_f64(old) + as_f64(value));
                case type_f16: return add_half(old, value, false);
                case type_bf16: return add_half(old, value, true);
                case type_f16x2: return add_half(old, value, false) | u64(add_half(old >> 16, value >> 16, false)) << 16;
                case type_bf16x2: return add_half(old, value, true) | u64(add_half(old >> 16, value >> 16, true)) << 16;
                default: return old + value;
            }
        default: {
            const bool low = op == atomic_min;
            switch (type) {
                case type_s32: return u32(least(i32(a), i32(b), low));
                case type_s64: return u64(least(i64(old), i64(value), low));
                case type_u64: return least(old, value, low);
                case type_f16: case type_bf16: {
                    const bool bf = type == type_bf16;
                    return (half_of(old, bf) < half_of(value, bf)) == low ? old : value;
                }
                case type_f32: return bits_of(low ? std::fmin(as_f32(a), as_f32(b)) : std::fmax(as_f32(a), as_f32(b)));
                default: return least(a, b, low);
            }
        }
    }
}

namespace {

template <class T> u64 update(u8* p, int op, int type, u64 value, u64 swap, bool& changed) {
    T* at = reinterpret_cast<T*>(p);
    T old = __atomic_load_n(at, __ATOMIC_RELAXED), fresh;
    do fresh = T(atomic_combine(op, type, old, T(value), T(swap)));
    while (!__atomic_compare_exchange_n(at, &old, fresh, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    changed = old != fresh;
    return old;
}

void apply(Ctx& c, const Insn& i, const u64* host, u32 lanes, bool global) {
    const bool wide = i.width == 8;
    const int op = i.mode >> 4 & 15;
    const u64 outside = c.launch->options.outside & ~u64(0) >> (64 - 8 * i.width);
    int type = i.mode >> 8;
    // PTX: a sum of f32 flushes subnormals in global memory, not in shared.
    if (global && type == type_f32 && op == atomic_add) type = type_f32_ftz;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        u64 old = outside;
        if (lanes >> l & 1) {
            const u64 value = wide ? c.src<u64>(i.b)[l] : c.src<u32>(i.b)[l];
            const u64 swap = i.c == none ? 0 : wide ? c.src<u64>(i.c)[l] : c.src<u32>(i.c)[l];
            bool changed = false;
            u8* p = reinterpret_cast<u8*>(host[l]);
            old = wide ? update<u64>(p, op, type, value, swap, changed) : i.width == 4 ? update<u32>(p, op, type, value, swap, changed)
                : update<u16>(p, op, type, value, swap, changed);
            c.block->changes += changed;
        }
        if (i.d == none) continue;
        if (wide) c.dst<u64>(i.d)[l] = old; else c.dst<u32>(i.d)[l] = u32(old);
    }
}

u32 collisions(const Addresses& a, u32 lanes) {
    u32 n = 0;
    for (u32 l = 1; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        for (u32 k = 0; k < l; ++k)
            if (lanes >> k & 1 && a.at[k] == a.at[l]) { ++n; break; }
    }
    return n;
}

void atomic_in(Ctx& c, const Insn& i, Addresses& a, Space space) {
    u32 good = 0, bad = 0;
    Poison kind = Poison::global;
    Addresses host = a;
    if (space == Space::shared) {
        good = check_shared(c, i, a, i.width, Access::atomic, footprint_of(c, a, i.width));
        if (c.shared_races) race_atomic(c, i, a, i.width, good);
        bad = c.uninit ? unwritten_shared(c, a, i.width, good) : 0;
        kind = Poison::shared;
        for (u64& at : host.at) at += u64(c.block->shared);
        if (c.uninit)
            for (u32 l = 0; l < warp_lanes; ++l) if (good >> l & 1) std::memset(c.block->shared_init.data() + a.at[l], 1, i.width);
    } else if (space == Space::local) {
        good = check_local(c, i, a, i.width);
    } else {
        // Unwritten memory is reported before the atomic counts as its writer.
        c.whole = nullptr;
        if (c.uninit) {
            bad = unwritten_global(c, a, i.width, c.mask);
        }
        good = check_global(c, i, a, i.width, Access::atomic, footprint_of(c, a, i.width));
        bad &= good;
        if (c.races) global_atomic(c, i, a, i.width, good);
        ++c.block->global_reads;
        c.block->fenced |= (i.flags & ordering) != 0;
    }
    if (bad && (i.mode >> 4 & 15) != atomic_exch) {
        Event e{kind == Poison::shared ? Found::uninit_shared : Found::uninit_global, i.id, i.id};
        e.detail = u32(Use::atomic);
        for (u32 l = 0; l < warp_lanes; ++l) if (bad >> l & 1) c.report(e, l);
    }
    if (c.counting && good) {
        InsnCount& n = c.worker->counts[i.id];
        if (space == Space::shared) count_shared(c, i, a, i.width, good);
        else count_global(c, i, a, i.width, good);
        n.collisions += collisions(a, good);
    }
    apply(c, i, host.at, good, space == Space::global);
}

}  // namespace

void run_atomic(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    if (c.warp->poisoned)
        for (u32 op : {i.a, i.b, i.c})
            if (u32 q = c.poison_of(op) & c.mask) c.accuse(op, q, i, op == i.a ? Use::address : Use::atomic);
    by_space(c, i, a, [&](Space space) {
        Addresses part = a;
        settle(c, part);
        if (space == Space::shared && i.space == Space::generic) for (u64& at : part.at) at -= u64(c.block->shared);
        atomic_in(c, i, part, space);
    });
    if (i.d != none && c.warp->poisoned) c.set_poison(i.d, 0, 0);
}

// ---------------------------------------------------------------- cp.async

void run_copy(Ctx& c, const Insn& i) {
    Addresses to, from;
    addresses_of(c, i, to);
    u64 offset;
    std::memcpy(&offset, c.code->lists.data() + i.list, 8);
    const u64* base = c.src<u64>(i.b);
    for (u32 l = 0; l < warp_lanes; ++l) from.at[l] = base[l] + offset;
    settle(c, from);
    const u32* sizes = i.c == none ? nullptr : c.src<u32>(i.c);
    u32 reading = 0;
    for (u32 l = 0; l < warp_lanes; ++l) if (c.mask >> l & 1 && (!sizes || sizes[l] >= i.width)) reading |= 1u << l;
    const u32 all = c.mask;
    const u32 good = check_shared(c, i, to, i.width, Access::store, footprint_of(c, to, i.width));
    u32 there = all;
    if (reading) {
        c.set_mask(reading);
        Addresses part = from;
        settle(c, part);
        there = ~reading | check_global(c, i, part, i.width, Access::load, footprint_of(c, part, i.width));
        if (c.counting) count_global(c, i, part, i.width, reading & good & there);
        c.set_mask(all);
    }
    if (c.shared_races) race_store(c, i, to, i.width, good, 0);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(good >> l & 1)) continue;
        const u8 source = u8(reading >> l & 1 ? i.width : sizes ? std::min<u32>(sizes[l], i.width) : i.width);
        c.warp->copies[l].push_back({u32(to.at[l]), there >> l & 1 ? from.at[l] : 0, i.width, source, i.id, none});
        // Until the wait, the bytes there belong to no thread.
        if (c.uninit) {
            std::memset(c.block->shared_init.data() + to.at[l], 0, i.width);
            for (u32 k = 0; k < i.width; k += 4) c.block->shared_origin[(to.at[l] + k) / 4] = origin(Poison::copy, i.id);
        }
    }
    c.set_mask(all);
}

void run_copy_commit(Ctx& c, const Insn&) {
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        const u32 group = c.warp->copy_group[l]++;
        for (AsyncCopy& x : c.warp->copies[l]) if (x.group == none) x.group = group;
    }
}

void run_copy_wait(Ctx& c, const Insn& i) {
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        auto& copies = c.warp->copies[l];
        const u32 groups = c.warp->copy_group[l];
        std::erase_if(copies, [&](const AsyncCopy& x) {
            const bool done = i.mode || (x.group != none && x.group + u64(i.imm) < groups);
            if (!done) return false;
            u8* to = c.block->shared + x.to;
            std::memset(to, 0, x.size);
            bool written = true;
            if (x.source) {
                const Region* r = c.launch->regions.find(x.from);
                if (!r || x.from + x.source > r->end) {
                    for (u32 k = 0; k < x.source; ++k) to[k] = u8(c.launch->options.outside >> k % 8 * 8);
                } else {
                    std::memcpy(to, reinterpret_cast<const void*>(x.from), x.source);
                    if (r->init) for (u32 k = 0; k < x.source; ++k) written &= r->init[x.from - r->base + k] != 0;
                }
            }
            ++c.block->changes;
            if (c.uninit) std::memset(c.block->shared_init.data() + x.to, written, x.size);
            if (c.uninit && !written) for (u32 k = 0; k < x.size; k += 4) c.block->shared_origin[(x.to + k) / 4] = 0;
            return true;
        });
    }
}

}  // namespace kgsim
