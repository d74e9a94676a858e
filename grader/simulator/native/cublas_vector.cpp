// cuBLAS's routines of vectors, of a matrix and a vector, and of matrices that are symmetric,
// triangular, diagonal or added.

#include <cmath>
#include <vector>

#include "cublas.hpp"

using namespace kgsim::blas;

namespace {

// A vector as cuBLAS counts: element i of a negative step is counted from the end.
template <class T>
struct Vector {
    T* data;
    int64_t n, step;
    T& operator[](int64_t i) const { return data[step >= 0 ? i * step : (i - n + 1) * step]; }
    Matrix extent() const { return {data, 1, n, std::abs(step), type_of<T>}; }
};

template <class T>
bool there(const char* name, const Vector<T>& v) {
    return reachable(name, v.extent());
}

// Calls `body` where the handle is good and the vectors are in device memory.
template <class Body, class... Vectors>
int on(const char* name, void* h, Body body, const Vectors&... vectors) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (!(there(name, vectors) && ...)) return kExecutionFailed;
    if (!idle()) body();
    return kSuccess;
}

template <class T>
int gemv(const char* name, void* h, int op, int m, int n, const T* alpha, const T* a, int lda,
         const T* x, int incx, const T* beta, T* y, int incy) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (m < 0 || n < 0 || lda < std::max(1, m) || !incx || !incy) return kInvalidValue;
    const Vector<const T> from{x, op == kPlain ? n : m, incx};
    const Vector<T> to{y, op == kPlain ? m : n, incy};
    if (!reachable(name, {a, m, n, lda, type_of<T>}) || !there(name, from) || !there(name, to))
        return kExecutionFailed;
    if (idle()) return kSuccess;
    for (int64_t i = 0; i < to.n; ++i) {
        T sum = 0;
        for (int64_t j = 0; j < from.n; ++j)
            sum += a[op == kPlain ? j * lda + i : i * lda + j] * from[j];
        to[i] = *alpha * sum + (*beta != 0 ? *beta * to[i] : T(0));
    }
    written(to.extent());
    return kSuccess;
}

// A += alpha x y'
template <class T>
int ger(const char* name, void* h, int m, int n, const T* alpha, const T* x, int incx, const T* y,
        int incy, T* a, int lda) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (m < 0 || n < 0 || lda < std::max(1, m) || !incx || !incy) return kInvalidValue;
    const Vector<const T> left{x, m, incx}, right{y, n, incy};
    if (!reachable(name, {a, m, n, lda, type_of<T>}) || !there(name, left) || !there(name, right))
        return kExecutionFailed;
    if (idle()) return kSuccess;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) a[j * lda + i] += *alpha * left[i] * right[j];
    return kSuccess;
}

template <class T>
int geam(const char* name, void* h, int ta, int tb, int m, int n, const T* alpha, const T* a,
         int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (m < 0 || n < 0 || lda < (ta == kPlain ? m : n) || ldb < (tb == kPlain ? m : n) || ldc < m)
        return kInvalidValue;
    const bool with_a = *alpha != 0, with_b = *beta != 0;
    const Matrix ma{a, ta == kPlain ? m : n, ta == kPlain ? n : m, lda, type_of<T>};
    const Matrix mb{b, tb == kPlain ? m : n, tb == kPlain ? n : m, ldb, type_of<T>};
    const Matrix mc{c, m, n, ldc, type_of<T>};
    if ((with_a && !reachable(name, ma)) || (with_b && !reachable(name, mb)) || !reachable(name, mc))
        return kExecutionFailed;
    if (idle()) return kSuccess;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
            T value = with_a ? *alpha * a[ta == kPlain ? j * lda + i : i * lda + j] : T(0);
            if (with_b) value += *beta * b[tb == kPlain ? j * ldb + i : i * ldb + j];
            c[j * ldc + i] = value;
        }
    written(mc);
    return kSuccess;
}

template <class T>
int dgmm(const char* name, void* h, int side, int m, int n, const T* a, int lda, const T* x,
         int incx, T* c, int ldc) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (m < 0 || n < 0 || lda < m || ldc < m || (side != 0 && side != 1)) return kInvalidValue;
    const Vector<const T> diagonal{x, side == 0 ? m : n, incx};
    const Matrix ma{a, m, n, lda, type_of<T>}, mc{c, m, n, ldc, type_of<T>};
    if (!reachable(name, ma) || !there(name, diagonal) || !reachable(name, mc)) return kExecutionFailed;
    if (idle()) return kSuccess;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
            c[j * ldc + i] = a[j * lda + i] * diagonal[side == 0 ? i : j];
    written(mc);
    return kSuccess;
}

// The whole of a matrix that is stored in one triangle: mirrored, or zero elsewhere.
template <class T>
std::vector<T> whole(const T* a, int64_t lda, int64_t n, bool upper, bool mirrored, bool unit) {
    std::vector<T> out(static_cast<size_t>(n * n), T(0));
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i) {
            const bool inside = upper ? i <= j : i >= j;
            if (inside) out[j * n + i] = i == j && unit ? T(1) : a[j * lda + i];
            else if (mirrored) out[j * n + i] = a[i * lda + j];
        }
    return out;
}

// C = alpha op(A) B + beta C, or with A on the right; A is n x n and comes whole.
template <class T>
int product(bool left, const std::vector<T>& a, int op, int64_t m, int64_t n, T alpha, const T* b,
            int64_t ldb, T beta, T* c, int64_t ldc) {
    const int64_t order = left ? m : n;
    std::vector<T> out(static_cast<size_t>(m * n));
    const auto at = [&](int64_t i, int64_t j) { return op == kPlain ? a[j * order + i] : a[i * order + j]; };
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) {
            T sum = 0;
            for (int64_t k = 0; k < order; ++k)
                sum += left ? at(i, k) * b[j * ldb + k] : b[k * ldb + i] * at(k, j);
            out[j * m + i] = alpha * sum + (beta != 0 ? beta * c[j * ldc + i] : T(0));
        }
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) c[j * ldc + i] = out[j * m + i];
    written({c, m, n, ldc, type_of<T>});
    return kSuccess;
}

template <class T>
int of_triangle(const char* name, void* h, int side, int fill, int op, bool mirrored, bool unit,
                int m, int n, const T* alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c,
                int ldc) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    const int order = side == 0 ? m : n;
    if (m < 0 || n < 0 || lda < std::max(1, order) || ldb < std::max(1, m) || ldc < std::max(1, m))
        return kInvalidValue;
    if (!reachable(name, {a, order, order, lda, type_of<T>}) ||
        !reachable(name, {b, m, n, ldb, type_of<T>}) || !reachable(name, {c, m, n, ldc, type_of<T>}))
        return kExecutionFailed;
    if (idle()) return kSuccess;
    constexpr int kUpper = 1;
    const auto full = whole(a, lda, order, fill == kUpper, mirrored, unit);
    return product(side == 0, full, op, m, n, *alpha, b, ldb, beta, c, ldc);
}

}  // namespace

#define ROUTINES(L, T)                                                                              \
    KG_API int cublas##L##gemv_v2(void* h, int op, int m, int n, const T* alpha, const T* a, int lda, \
                                  const T* x, int incx, const T* beta, T* y, int incy) {            \
        return gemv("cublas" #L "gemv", h, op, m, n, alpha, a, lda, x, incx, beta, y, incy);        \
    }                                                                                               \
    KG_API int cublas##L##ger_v2(void* h, int m, int n, const T* alpha, const T* x, int incx,       \
                                 const T* y, int incy, T* a, int lda) {                             \
        return ger("cublas" #L "ger", h, m, n, alpha, x, incx, y, incy, a, lda);                    \
    }                                                                                               \
    KG_API int cublas##L##geam(void* h, int ta, int tb, int m, int n, const T* alpha, const T* a,   \
                               int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {        \
        return geam("cublas" #L "geam", h, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);      \
    }                                                                                               \
    KG_API int cublas##L##dgmm(void* h, int side, int m, int n, const T* a, int lda, const T* x,    \
                               int incx, T* c, int ldc) {                                           \
        return dgmm("cublas" #L "dgmm", h, side, m, n, a, lda, x, incx, c, ldc);                    \
    }                                                                                               \
    KG_API int cublas##L##symm_v2(void* h, int side, int fill, int m, int n, const T* alpha,        \
                                  const T* a, int lda, const T* b, int ldb, const T* beta, T* c,    \
                                  int ldc) {                                                        \
        const kgsim::DeviceMemoryOpen open; /* beta may be there */                                 \
        return of_triangle("cublas" #L "symm", h, side, fill, kPlain, true, false, m, n, alpha, a,  \
                           lda, b, ldb, *beta, c, ldc);                                             \
    }                                                                                               \
    KG_API int cublas##L##trmm_v2(void* h, int side, int fill, int op, int diagonal, int m, int n,  \
                                  const T* alpha, const T* a, int lda, const T* b, int ldb, T* c,   \
                                  int ldc) {                                                        \
        return of_triangle("cublas" #L "trmm", h, side, fill, op, false, diagonal == 1, m, n, alpha, \
                           a, lda, b, ldb, T(0), c, ldc);                                           \
    }                                                                                               \
    KG_API int cublas##L##dot_v2(void* h, int n, const T* x, int incx, const T* y, int incy, T* r) { \
        const Vector<const T> a{x, n, incx}, b{y, n, incy};                                         \
        return on("cublas" #L "dot", h, [&] {                                                       \
            T sum = 0;                                                                              \
            for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];                                     \
            *r = sum;                                                                               \
            kgsim_written(r, sizeof(T));                                                            \
        }, a, b);                                                                                   \
    }                                                                                               \
    KG_API int cublas##L##nrm2_v2(void* h, int n, const T* x, int incx, T* r) {                     \
        const Vector<const T> a{x, n, incx};                                                        \
        return on("cublas" #L "nrm2", h, [&] {                                                      \
            double sum = 0;                                                                         \
            for (int64_t i = 0; i < n; ++i) sum += double(a[i]) * a[i];                             \
            *r = T(std::sqrt(sum));                                                                 \
            kgsim_written(r, sizeof(T));                                                            \
        }, a);                                                                                      \
    }                                                                                               \
    KG_API int cublas##L##asum_v2(void* h, int n, const T* x, int incx, T* r) {                     \
        const Vector<const T> a{x, n, incx};                                                        \
        return on("cublas" #L "asum", h, [&] {                                                      \
            double sum = 0;                                                                         \
            for (int64_t i = 0; i < n; ++i) sum += std::fabs(a[i]);                                 \
            *r = T(sum);                                                                            \
            kgsim_written(r, sizeof(T));                                                            \
        }, a);                                                                                      \
    }                                                                                               \
    KG_API int cublas##L##scal_v2(void* h, int n, const T* alpha, T* x, int incx) {                 \
        const Vector<T> a{x, n, incx};                                                              \
        return on("cublas" #L "scal", h, [&] {                                                      \
            for (int64_t i = 0; i < n; ++i) a[i] *= *alpha;                                         \
        }, a);                                                                                      \
    }                                                                                               \
    KG_API int cublas##L##axpy_v2(void* h, int n, const T* alpha, const T* x, int incx, T* y,       \
                                  int incy) {                                                       \
        const Vector<const T> a{x, n, incx};                                                        \
        const Vector<T> b{y, n, incy};                                                              \
        return on("cublas" #L "axpy", h, [&] {                                                      \
            for (int64_t i = 0; i < n; ++i) b[i] += *alpha * a[i];                                  \
        }, a, b);                                                                                   \
    }                                                                                               \
    KG_API int cublas##L##copy_v2(void* h, int n, const T* x, int incx, T* y, int incy) {           \
        const Vector<const T> a{x, n, incx};                                                        \
        const Vector<T> b{y, n, incy};                                                              \
        return on("cublas" #L "copy", h, [&] {                                                      \
            for (int64_t i = 0; i < n; ++i) b[i] = a[i];                                            \
            written(b.extent());                                                                    \
        }, a, b);                                                                                   \
    }
ROUTINES(S, float)
ROUTINES(D, double)
