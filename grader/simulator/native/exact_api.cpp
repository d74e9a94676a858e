// The exact algebra for torch's operators: arrays of residues, and the elements of memory (grader/guest/exact.py).
//
// A value is two words, its residues (exact_field.hpp); arrays hold the first words, then the second.
#include <cmath>

#include "exact.hpp"
#include "runtime.hpp"

namespace kgsim {
namespace {

template <uint64_t M> uint64_t joined(const double* parts, size_t count, size_t at, size_t n, bool product) {
    using F = Field<M>;
    uint64_t sum = M;
    for (size_t k = count; k-- > 0;)  // from the highest digits down
        sum = F::add(F::mul(sum, F::of(1 << 16)), F::kept(uint64_t(parts[k * n + at]) % M));
    return product ? F::reduce(sum) : sum;  // a product of two kept residues is 2^64 times too large
}

}  // namespace
}  // namespace kgsim

using namespace kgsim;

KG_API void kgsim_exact_begin(uint64_t key) {
    exact().clear();
    set_key(key);
}
KG_API void kgsim_exact_literals(size_t n, const double* values) { set_literals({values, n}); }
KG_API char* kgsim_exact_unfollowed() { return strdup(exact().unfollowed().c_str()); }
KG_API uint64_t kgsim_exact_cells(uint64_t address, uint64_t* count) { return uint64_t(exact().cells(address, count)); }

// By the name of a function (exact_field.hpp), or + - * / of two.
KG_API void kgsim_exact_map(const char* name, size_t n, const Residues* a, const Residues* b, Residues* out) {
    const Function f = function_of(name);
    for (size_t k = 0; k < n; ++k)
        out[k] = f ? f(a[k]) : *name == '+' ? a[k] + b[k] : *name == '-' ? a[k] - b[k] : *name == '*' ? a[k] * b[k] : a[k] * inverse(b[k]);
}
KG_API void kgsim_exact_power(size_t n, double exponent, const Residues* a, Residues* out) {
    for (size_t k = 0; k < n; ++k) out[k] = power(a[k], constant(exponent), exponent);
}
// Variables: of the same key and bits the same ones. What is no finite number has none.
KG_API void kgsim_exact_leaves(size_t n, const double* values, Residues* out) {
    for (size_t k = 0; k < n; ++k)
        out[k] = std::isfinite(values[k]) ? drawn(Symbol::leaf, std::bit_cast<uint64_t>(values[k] + 0.0)) : Residues{};
}
KG_API void kgsim_exact_constants(size_t n, const double* values, Residues* out) {
    for (size_t k = 0; k < n; ++k) out[k] = constant(values[k]);
}
// Residues from sums (or sums of products) of their 16-bit digits: `count` arrays of n, the lowest first.
KG_API void kgsim_exact_join(int product, size_t count, size_t n, const double* p, const double* q, Residues* out) {
    for (size_t k = 0; k < n; ++k)
        out[k] = {joined<prime_p>(p, count, k, n, product), q ? joined<prime_q>(q, count, k, n, product) : 0};
}
