// Elements of the exact algebra: constants, roots, powers of two, functions that stand for themselves.
#include "exact_field.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kgsim {
namespace {

using Wide = unsigned __int128;
uint64_t key = 0x9e3779b97f4a7c15;
std::unordered_map<uint32_t, Residues>& known() {
    static auto* m = new std::unordered_map<uint32_t, Residues>;
    return *m;
}

std::unordered_map<uint64_t, Residues>& logarithms() {  // what was taken the logarithm of, by the logarithm's second residue
    static auto* m = new std::unordered_map<uint64_t, Residues>;
    return *m;
}

std::vector<float>& literals() {
    static auto* v = new std::vector<float>;
    return *v;
}

uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct Fraction { Wide n, d; };

// The fraction of the smallest denominator in [a / b, c / d].
Fraction simplest(Wide a, Wide b, Wide c, Wide d) {
    const Wide whole = a / b;
    if (whole * b == a) return {whole, 1};
    if (whole < c / d) return {whole + 1, 1};
    const Fraction rest = simplest(d, c - whole * d, b, a - whole * b);
    return {whole * rest.n + rest.d, rest.n};
}

Residues square_root(Residues a) { return {FieldP::root(a.p), a.q ? FieldQ::root(a.q) : 0}; }

// The simplest fraction within some units of the last place of a positive f32; nothing where the numbers get too long.
std::optional<Fraction> fraction_near(float value, unsigned units = 1) {
    int e;
    const Wide m = Wide(std::ldexp(std::frexp(value, &e), 24));
    e -= 24;
    if (e < -96 || e > 0 || m <= units) return std::nullopt;
    const Wide d = Wide(1) << -e;
    return simplest(m - units, d, m + units, d);
}

Residues element(Fraction f) {
    const auto part = [](auto field, Fraction f, uint64_t prime) {
        return field.mul(field.of(uint64_t(f.n % prime)), field.invert(field.of(uint64_t(f.d % prime))));
    };
    return {part(FieldP{}, f, prime_p), part(FieldQ{}, f, prime_q)};
}

bool is_simple(const std::optional<Fraction>& f, Wide most = 1 << 12) { return f && f->n <= most && f->d <= most && f->n * f->d <= most; }

// m 2^e, exactly.
Residues dyadic(float value) {
    int e;
    const int64_t m = int64_t(std::ldexp(std::frexp(value, &e), 24));
    const int64_t by = e - 24;
    const Residues two = whole(2), scale{FieldP::power(two.p, uint64_t(std::abs(by))), FieldQ::power(two.q, uint64_t(std::abs(by)))};
    return whole(m) * (by < 0 ? inverse(scale) : scale);
}

Residues found(float value);

// A small fraction of a product or quotient of two literals, or of one.
std::optional<Residues> folded(float value) {
    const auto known = literals();
    for (const float a : known)
        for (const float b : known) {
            if (a == value || b == value) return std::nullopt;  // no other than itself
            if (const auto of = fraction_near(float(value / (double(a) * b)), 2); is_simple(of, 64)) return element(*of) * found(a) * found(b);
            if (const auto of = fraction_near(float(value / (double(a) / b)), 2); is_simple(of, 64)) return element(*of) * found(a) * inverse(found(b));
        }
    return std::nullopt;
}

// Of a positive number.
Residues found(float value) {
    constexpr float low_part_of_log2e = 1.92596299e-8f;  // what expf adds to its first 24 bits
    if (value == low_part_of_log2e) return whole(0);
    if (value == std::floor(value) && value < 0x1p24f) return whole(int64_t(value));
    const auto plain = fraction_near(value);
    if (is_simple(plain)) return element(*plain);
    if (const auto made = folded(value)) return *made;
    if (is_simple(plain, 1 << 18)) return element(*plain);
    const double square = double(value) * value;
    if (const auto squared = fraction_near(float(square)); is_simple(squared)) return square_root(element(*squared));
    // As where attention scales queries and keys each by the root of a root.
    if (const auto fourth = fraction_near(float(square * square), 2); is_simple(fourth)) return square_root(square_root(element(*fourth)));
    if (const auto times = fraction_near(float(value / std::numbers::log2e)); is_simple(times)) return element(*times) * log2e();
    if (const auto times = fraction_near(float(value * std::numbers::log2e)); is_simple(times)) return element(*times) * inverse(log2e());
    if (const auto times = fraction_near(float(square * std::numbers::pi)); is_simple(times))
        return square_root(element(*times) * inverse(drawn(Symbol::pi, 0)));
    return plain ? element(*plain) : dyadic(value);
}

}  // namespace

void set_key(uint64_t value) {
    key = mixed(value ^ 0x9e3779b97f4a7c15);
    known().clear();
    logarithms().clear();
    literals().clear();
}

void set_literals(std::span<const double> values) {
    literals().assign(1, 1.0f);
    for (const double value : values)
        if (const float narrow = std::fabs(float(value)); std::isnormal(narrow) && narrow != std::floor(narrow)) literals().push_back(narrow);
}

Residues drawn(Symbol f, uint64_t a, uint64_t b) {
    const uint64_t seed = mixed(key ^ mixed(a + mixed(b + mixed(uint64_t(f)))));
    const auto word = [&](uint64_t n) { return mixed(seed + n * 0xd1342543de82ef95); };
    const Wide one = Wide(word(1)) << 64 | word(2), two = Wide(word(3)) << 64 | word(4);
    return {FieldP::kept(uint64_t(one % prime_p)), FieldQ::kept(uint64_t(two % prime_q))};
}

Residues whole(int64_t n) {
    const Residues e{FieldP::of(uint64_t(std::abs(n))), FieldQ::of(uint64_t(std::abs(n)))};
    return n < 0 ? -e : e;
}
Residues inverse(Residues a) { return {FieldP::invert(a.p), a.q ? FieldQ::invert(a.q) : 0}; }

namespace {

Residues one() { return whole(1); }

// 2^(k log2(a)) = a^k, for k of 1, 2, -1 and -2.
std::optional<Residues> power_of_logarithm(Residues a) {
    if (logarithms().empty() || !a.q) return std::nullopt;
    const auto base = [](uint64_t log) {
        const auto it = logarithms().find(log);
        return it == logarithms().end() ? std::nullopt : std::optional(it->second);
    };
    static const uint64_t by_two = FieldQ::invert(FieldQ::of(2));
    const uint64_t half = FieldQ::mul(a.q, by_two);
    if (const auto b = base(a.q)) return *b;
    if (const auto b = base(half)) return *b * *b;
    if (const auto b = base(FieldQ::neg(a.q))) return inverse(*b);
    if (const auto b = base(FieldQ::neg(half))) return inverse(*b * *b);
    return std::nullopt;
}
Residues two_to(Residues a) {
    static const auto* table = [] {  // 2^(d 16^i) at [i][d]
        auto* t = new uint64_t[15][16];
        uint64_t step = FieldP::of(2);
        for (int i = 0; i < 15; ++i) {
            t[i][0] = FieldP::of(1);
            for (int d = 1; d < 16; ++d) t[i][d] = FieldP::mul(t[i][d - 1], step);
            step = FieldP::mul(t[i][15], step);
        }
        return t;
    }();
    if (const auto known = power_of_logarithm(a)) return *known;
    uint64_t n = FieldQ::plain(a.q ? a.q : drawn(Symbol::exponent, a.p % prime_p).q);
    uint64_t r = FieldP::of(1);
    for (int i = 0; n; ++i, n >>= 4) if (n & 15) r = FieldP::mul(r, table[i][n & 15]);
    return {r, 0};
}
Residues exponential(Residues a) { return two_to(a * log2e()); }
Residues two_log(Residues a) {
    const Residues log = drawn(Symbol::log2, a.p % prime_p);
    logarithms()[log.q] = a;
    return log;
}
Residues log_of_10() { return drawn(Symbol::log2_of_10, 0); }
Residues natural_log(Residues a) { return two_log(a) * inverse(log2e()); }
Residues error(Residues a) { return a * drawn(Symbol::erf, (a * a).p % prime_p); }
Residues half(Residues a) { return a * inverse(whole(2)); }

const std::unordered_map<std::string_view, Function> functions{
    {"inverse", inverse},
    {"sqrt", square_root},
    {"rsqrt", [](Residues a) { return inverse(square_root(a)); }},
    {"exp2", two_to},
    {"exp", exponential},
    {"exp10", [](Residues a) { return two_to(a * log_of_10()); }},
    {"expm1", [](Residues a) { return exponential(a) - one(); }},
    {"log2", two_log},
    {"log", natural_log},
    {"log10", [](Residues a) { return two_log(a) * inverse(log_of_10()); }},
    {"log1p", [](Residues a) { return natural_log(a + one()); }},
    {"tanh", [](Residues a) {
        const Residues e = exponential(a + a);
        return (e - one()) * inverse(e + one());
    }},
    {"sinh", [](Residues a) { return half(exponential(a) - exponential(-a)); }},
    {"cosh", [](Residues a) { return half(exponential(a) + exponential(-a)); }},
    {"sin", [](Residues a) { return a * drawn(Symbol::sine, (a * a).p % prime_p); }},
    {"cos", [](Residues a) { return drawn(Symbol::cosine, (a * a).p % prime_p); }},
    {"erf", error},
    {"erfc", [](Residues a) { return one() - error(a); }},
    {"normcdf", [](Residues a) { return half(one() + error(a * inverse(square_root(whole(2))))); }},
};

}  // namespace

Residues log2e() { return drawn(Symbol::log2e, 0); }

Function function_of(std::string_view name) {
    const auto it = functions.find(name);
    return it == functions.end() ? nullptr : it->second;
}

// Small powers, whole or with a half, are products and roots.
Residues power(Residues base, Residues exponent, std::optional<double> number) {
    if (!number || *number * 2 != std::round(*number * 2) || std::fabs(*number) > 64) return two_to(exponent * two_log(base));
    const uint64_t n = uint64_t(std::fabs(*number));
    Residues r{FieldP::power(base.p, n), base.q ? FieldQ::power(base.q, n) : 0};
    if (std::fabs(*number) != double(n)) r = r * square_root(base);
    return *number < 0 ? inverse(r) : r;
}

Residues constant(double value) {
    const float narrow = float(value);
    if (!std::isfinite(narrow)) return {};
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    const auto it = known().find(bits & 0x7fffffff);
    const Residues e = it != known().end() ? it->second
        : known()[bits & 0x7fffffff] = narrow == 0 ? whole(0) : found(std::fabs(narrow));
    return bits >> 31 ? -e : e;
}

}  // namespace kgsim
