// The exact algebra: a value is a pair, its residue modulo the prime P and its residue modulo the prime Q, P = 2 Q + 1.
//
// Sums, products and quotients are taken in both fields. 2^x is the element 2^(x mod Q) of the first, in which 2 has
// the order Q: so 2^(a + b) = 2^a 2^b holds in every bit, and 2^n of a whole number n is n doublings. What it is
// modulo Q is lost then. Residues are kept in Montgomery's form (times 2^64), a zero as the prime itself: 0 is free
// to mean "nothing kept", or "lost" in the second place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kgsim {

template <uint64_t M> struct Field {
    using Word = uint64_t;
    static constexpr Word inverse_of_word() {
        Word x = 1;
        for (int k = 0; k < 6; ++k) x *= 2 - M * x;
        return 0 - x;
    }
    static constexpr Word kept(Word r) { return r ? r : M; }
    static constexpr Word reduce(unsigned __int128 t) {
        const Word m = Word(t) * inverse_of_word();
        const Word r = Word((t + static_cast<unsigned __int128>(m) * M) >> 64);
        return kept(r >= M ? r - M : r);
    }
    static constexpr Word mul(Word a, Word b) { return reduce(static_cast<unsigned __int128>(a) * b); }
    static constexpr Word add(Word a, Word b) { return a + b > M ? a + b - M : a + b; }
    static constexpr Word neg(Word a) { return kept(M - a); }
    static constexpr Word of(Word n) {
        Word r = n % M;
        for (int k = 0; k < 64; ++k) r = r * 2 % M;
        return kept(r);
    }
    static constexpr Word plain(Word a) { return reduce(a) % M; }
    static constexpr Word power(Word a, Word n) {
        Word r = of(1);
        for (; n; n >>= 1, a = mul(a, a)) if (n & 1) r = mul(r, a);
        return r;
    }
    static constexpr Word invert(Word a) { return power(a, M - 2); }
    // A root of a square, of the two the one that is a square itself; of others of its negative. Roots multiply.
    static constexpr Word root(Word a) { return power(a, (M + 1) / 4); }
};

constexpr uint64_t prime_p = 0x1ffffffffffff3af, prime_q = 0x0ffffffffffff9d7;
static_assert(prime_p == 2 * prime_q + 1 && prime_p % 8 == 7 && prime_q % 4 == 3);
using FieldP = Field<prime_p>;
using FieldQ = Field<prime_q>;

struct Residues {
    uint64_t p = 0, q = 0;
    explicit operator bool() const { return p != 0; }
};

inline Residues operator+(Residues a, Residues b) { return {FieldP::add(a.p, b.p), a.q && b.q ? FieldQ::add(a.q, b.q) : 0}; }
inline Residues operator*(Residues a, Residues b) { return {FieldP::mul(a.p, b.p), a.q && b.q ? FieldQ::mul(a.q, b.q) : 0}; }
inline Residues operator-(Residues a) { return {FieldP::neg(a.p), a.q ? FieldQ::neg(a.q) : 0}; }
inline Residues operator-(Residues a, Residues b) { return a + -b; }
// Functions about which only this is assumed: equal arguments give equal results (and the properties named here).
enum class Symbol : uint64_t { leaf = 1, log2, sine, cosine, erf, exponent, log2e, log2_of_10, pi };
void set_key(uint64_t key);
// Numbers that the reference is written with: a constant may be made of two of them, as compilers and authors fold them.
void set_literals(std::span<const double> values);
Residues drawn(Symbol f, uint64_t a, uint64_t b = 0);
Residues whole(int64_t n);
Residues log2e();
using Function = Residues (*)(Residues);
// By its name: inverse, sqrt, rsqrt; exp2, exp, exp10, expm1, and through them tanh, sinh, cosh; log2, log, log10, log1p;
// sin, erf (odd), cos (even), erfc, normcdf. Null where there is none.
Function function_of(std::string_view name);
Residues inverse(Residues a);
Residues power(Residues base, Residues exponent, std::optional<double> constant_exponent);
// The number that a rounded literal represents: the simplest fraction near it, alone or times log2(e), or a root.
Residues constant(double value);

}  // namespace kgsim
