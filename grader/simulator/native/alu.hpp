// Loops over the lanes of a warp: a function of values becomes a handler.
#pragma once

#include "core.hpp"

namespace kgsim {

template <class T> struct Storage { using type = std::conditional_t<sizeof(T) == 8, u64, u32>; };
template <class T> using Stored = typename Storage<T>::type;

// A value of type T in the low bits of its storage; sub-word results are zero-extended.
template <class T> inline T take(Stored<T> raw) {
    if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(raw);
    else return T(raw);
}
template <class T> inline Stored<T> give(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::bit_cast<Stored<T>>(value);
    else return Stored<T>(std::make_unsigned_t<T>(value));
}

template <class D, class A, D (*F)(A)> void unary(Ctx& c, const Insn& i) {
    auto* d = c.dst<Stored<D>>(i.d);
    const auto* a = c.src<Stored<A>>(i.a);
    if (c.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = give<D>(F(take<A>(a[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) {
            auto r = give<D>(F(take<A>(a[l])));
            d[l] = c.m[l] ? r : d[l];
        }
    }
}

template <class D, class A, class B, D (*F)(A, B)> void binary(Ctx& c, const Insn& i) {
    auto* d = c.dst<Stored<D>>(i.d);
    const auto* a = c.src<Stored<A>>(i.a);
    const auto* b = c.src<Stored<B>>(i.b);
    if (c.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = give<D>(F(take<A>(a[l]), take<B>(b[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) {
            auto r = give<D>(F(take<A>(a[l]), take<B>(b[l])));
            d[l] = c.m[l] ? r : d[l];
        }
    }
}

template <class D, class A, class B, class C, D (*F)(A, B, C)> void ternary(Ctx& c, const Insn& i) {
    auto* d = c.dst<Stored<D>>(i.d);
    const auto* a = c.src<Stored<A>>(i.a);
    const auto* b = c.src<Stored<B>>(i.b);
    const auto* e = c.src<Stored<C>>(i.c);
    if (c.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = give<D>(F(take<A>(a[l]), take<B>(b[l]), take<C>(e[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < warp_lanes; ++l) {
            auto r = give<D>(F(take<A>(a[l]), take<B>(b[l]), take<C>(e[l])));
            d[l] = c.m[l] ? r : d[l];
        }
    }
}

// A comparison gives a predicate (and its complement as second destination), combined with a third operand.
template <class A, bool (*F)(A, A)> void compare(Ctx& c, const Insn& i) {
    const auto* a = c.src<Stored<A>>(i.a);
    const auto* b = c.src<Stored<A>>(i.b);
    alignas(64) u32 bits[warp_lanes];
#pragma GCC ivdep
    for (u32 l = 0; l < warp_lanes; ++l) bits[l] = F(take<A>(a[l]), take<A>(b[l])) ? u32(1) << l : 0;
    u32 value = 0;
    for (u32 l = 0; l < warp_lanes; ++l) value |= bits[l];
    u32 other = ~value;
    if (i.c != none) {
        u32 with = c.truth(i.c);
        if (i.mode == 1) { value &= with; other &= with; }
        else if (i.mode == 2) { value |= with; other |= with; }
        else if (i.mode == 3) { value ^= with; other ^= with; }
    }
    c.put(i.d, value);
    c.put(i.d2, other);
}

}  // namespace kgsim
