#include "footprint.hpp"

#include "access.hpp"

namespace kgsim {
namespace {

constexpr u16 is_signed = 2, wide = 4;  // of a load's and store's mode

template <class T> T read(const u8* memory, u32 index) {
    T v;
    std::memcpy(&v, memory + index * sizeof v, sizeof v);
    return v;
}

// Calls f<T, R, V>(): T as in memory, R as in registers, V elements a lane.
template <class F> auto by_type(const Insn& i, F&& f) {
    const auto by_count = [&]<class T, class R>() {
        switch (i.vec) {
            case 1: return f.template operator()<T, R, 1>();
            case 2: return f.template operator()<T, R, 2>();
            default: return f.template operator()<T, R, 4>();
        }
    };
    switch (i.width) {
        case 1: return by_count.template operator()<u8, u32>();
        case 2: return by_count.template operator()<u16, u32>();
        case 4: return by_count.template operator()<u32, u32>();
        default: return by_count.template operator()<u64, u64>();
    }
}

template <class T, class R, u32 V, u32 N> void bring(R* const (&to)[4], const u8* from, u32 lanes) {
    const u32 n = N ? N : lanes;
#pragma GCC ivdep
    for (u32 l = 0; l < n; ++l)
        for (u32 k = 0; k < V; ++k) to[k][l] = R(read<T>(from, l * V + k));
}

// Lanes whose W words differ.
template <class T, u32 W, u32 N> u32 differing(const u8* memory, const u8* values, u32 lanes) {
    const u32 n = N ? N : lanes;
    alignas(64) u32 bits[warp_lanes];
#pragma GCC ivdep
    for (u32 l = 0; l < n; ++l) {
        T differ = 0;
        for (u32 k = 0; k < W; ++k) differ |= read<T>(memory, l * W + k) ^ read<T>(values, l * W + k);
        bits[l] = differ ? 1u << l : 0;
    }
    u32 all = 0;
    for (u32 l = 0; l < n; ++l) all |= bits[l];
    return all;
}

template <u32 N> u32 differing(const u8* memory, const u8* values, u32 each, u32 lanes) {
    switch (each) {
        case 1: return differing<u8, 1, N>(memory, values, lanes);
        case 2: return differing<u16, 1, N>(memory, values, lanes);
        case 4: return differing<u32, 1, N>(memory, values, lanes);
        case 8: return differing<u64, 1, N>(memory, values, lanes);
        case 16: return differing<u64, 2, N>(memory, values, lanes);
        default: return differing<u64, 4, N>(memory, values, lanes);
    }
}

template <class T, class R, u32 V, u32 N> void put(u8* memory, const R* const (&values)[4], u32 lanes) {
    const u32 n = N ? N : lanes;
#pragma GCC ivdep
    for (u32 l = 0; l < n; ++l)
        for (u32 k = 0; k < V; ++k) {
            const T v = T(values[k][l]);
            std::memcpy(memory + (l * V + k) * sizeof v, &v, sizeof v);
        }
}

}  // namespace

Footprint footprint_of(const Ctx& c, const Addresses& a, u32 bytes) {
    const u32 first = u32(std::countr_zero(c.mask)), lanes = u32(std::popcount(c.mask));
    const u32 run = c.mask >> first;
    const u64 zeroth = a.at[first] - u64(first) * bytes;
    u64 differ = run & (run + 1);
    if (c.full)
        for (u32 l = 0; l < warp_lanes; ++l) differ |= a.at[l] ^ (zeroth + u64(l) * bytes);
    else
        for (u32 l = 0; l < warp_lanes; ++l) differ |= (a.at[l] ^ (zeroth + u64(l) * bytes)) & u64(i64(i32(c.m[l])));
    const u64 last = a.at[first] + u64(lanes - 1) * bytes;
    if (!differ && last >= a.at[first]) return {a.at[first], last, a.at[first], first, lanes};  // one misaligned, all misaligned
    Footprint f{~u64(0), 0, 0, first, 0};
    u64 far = 0;
    for (u32 l = 0; l < warp_lanes; ++l) far |= a.at[l] - a.at[0] + (u64(1) << 31);
    if (!(far >> 32)) {  // as they are near one another, halves of their words tell
        i32 low = 0, high = 0;
        u32 bits = 0;
        for (u32 l = 0; l < warp_lanes; ++l) {
            const i32 from = i32(u32(a.at[l]) - u32(a.at[0]));
            low = from < low ? from : low;
            high = from > high ? from : high;
            bits |= u32(a.at[l]);
        }
        const u64 begin = a.at[0] + u64(i64(low)), end = a.at[0] + u64(i64(high));
        if (begin <= end) return {begin, end, bits, first, 0};  // else some lie before 0
    }
    for (u32 l = 0; l < warp_lanes; ++l) {  // others have the first one's address
        f.low = a.at[l] < f.low ? a.at[l] : f.low;
        f.high = a.at[l] > f.high ? a.at[l] : f.high;
        f.bits |= a.at[l];
    }
    return f;
}

bool moves_whole(const Insn& i) {
    return bool(i.mode & wide) == (i.width == 8) && !(i.mode & is_signed && i.width < 4) && (i.vec <= 2 || i.vec == 4);
}

void load_whole(Ctx& c, const Insn& i, const Footprint& s, const void* host) {
    const u32* list = c.code->lists.data() + i.list;
    by_type(i, [&]<class T, class R, u32 V>() {
        R* to[4] = {};
        for (u32 k = 0; k < V; ++k) to[k] = c.dst<R>(list[k]) + s.first;
        const auto* from = static_cast<const u8*>(host);
        if (s.lanes == warp_lanes) bring<T, R, V, warp_lanes>(to, from, s.lanes);
        else bring<T, R, V, 0>(to, from, s.lanes);
    });
}

void pack_whole(const Ctx& c, const Insn& i, const Footprint& s, Packed& out) {
    const u32* list = c.code->lists.data() + i.list;
    by_type(i, [&]<class T, class R, u32 V>() {
        const R* values[4] = {};
        for (u32 k = 0; k < V; ++k) values[k] = c.src<R>(list[k]) + s.first;
        if (s.lanes == warp_lanes) put<T, R, V, warp_lanes>(out.bytes, values, s.lanes);
        else put<T, R, V, 0>(out.bytes, values, s.lanes);
    });
}

u32 changes_of_whole(const Packed& values, u32 each, const Footprint& s, const void* host) {
    const auto* memory = static_cast<const u8*>(host);
    if (s.lanes == warp_lanes) return differing<warp_lanes>(memory, values.bytes, each, s.lanes);
    return differing<0>(memory, values.bytes, each, s.lanes) << s.first;
}

}  // namespace kgsim
