// cuBLAS's products of matrices: one, many at a stride, many by pointers, and in mixed types.

#include "cublas.hpp"

using namespace kgsim::blas;

namespace {

template <class T>
double scalar(const T* value) {
    return load(value, 0, type_of<T>);
}

bool tf32_of(void* handle, int a_type) { return a_type == kFloat && known(handle)->math == kMathTf32; }

template <class T>
int one(const char* name, void* h, int ta, int tb, int64_t m, int64_t n, int64_t k, const T* alpha,
        const T* a, int64_t lda, const T* b, int64_t ldb, const T* beta, T* c, int64_t ldc,
        int64_t sa = 0, int64_t sb = 0, int64_t sc = 0, int count = 1) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (count < 0 || alpha == nullptr || beta == nullptr) return kInvalidValue;
    constexpr int type = type_of<T>;
    for (int i = 0; i < count; ++i) {
        const int status = multiply(name, {ta, tb, m, n, k, scalar(alpha), scalar(beta),
                                           a + i * sa, type, lda, b + i * sb, type, ldb,
                                           c + i * sc, type, ldc, tf32_of(h, type)});
        if (status != kSuccess) return status;
    }
    return kSuccess;
}

template <class T>
int by_pointers(const char* name, void* h, int ta, int tb, int m, int n, int k, const T* alpha,
                const T* const* a, int lda, const T* const* b, int ldb, const T* beta, T* const* c,
                int ldc, int count) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    const Matrix tables[] = {{a, count, 1, count, kDouble}, {b, count, 1, count, kDouble},
                             {c, count, 1, count, kDouble}};
    for (const auto& table : tables)
        if (!reachable(name, table)) return kExecutionFailed;
    for (int i = 0; i < count; ++i)
        if (const int status = one(name, h, ta, tb, m, n, k, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc))
            return status;
    return kSuccess;
}

// The type that alpha and beta have.
int scale_type(int compute) {
    if (compute == kComputeHalf || compute == kComputeHalfPedantic) return kHalf;
    return compute == kComputeDouble || compute == kComputeDouble + 1 ? kDouble : kFloat;
}

int mixed(const char* name, void* h, int ta, int tb, int64_t m, int64_t n, int64_t k,
          const void* alpha, const void* a, int at, int64_t lda, const void* b, int bt, int64_t ldb,
          const void* beta, void* c, int ct, int64_t ldc, int compute, int64_t sa = 0,
          int64_t sb = 0, int64_t sc = 0, int count = 1) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter(name, h)) return status;
    if (!is_plain(at) || !is_plain(bt) || !is_plain(ct)) {
        kgsim::missing("cuBLAS with integer or 8-bit types");
        return kNotSupported;
    }
    const int scale = scale_type(compute);
    const bool tf32 = at == kFloat && (compute == kComputeFastTf32 || known(h)->math == kMathTf32);
    for (int i = 0; i < count; ++i) {
        const auto* from_a = static_cast<const char*>(a) + i * sa * size_of(at);
        const auto* from_b = static_cast<const char*>(b) + i * sb * size_of(bt);
        auto* to = static_cast<char*>(c) + i * sc * size_of(ct);
        const int status = multiply(name, {ta, tb, m, n, k, load(alpha, 0, scale), load(beta, 0, scale),
                                           from_a, at, lda, from_b, bt, ldb, to, ct, ldc, tf32});
        if (status != kSuccess) return status;
    }
    return kSuccess;
}

}  // namespace

#define GEMM(letter, T)                                                                             \
    KG_API int cublas##letter##gemm##_v2(void* h, int ta, int tb, int m, int n, int k,              \
                                         const T* alpha, const T* a, int lda, const T* b, int ldb,  \
                                         const T* beta, T* c, int ldc) {                            \
        return one("cublas" #letter "gemm", h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
    }
#define GEMMS(letter, T)                                                                            \
    KG_API int cublas##letter##gemmStridedBatched(                                                  \
        void* h, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda,          \
        long long sa, const T* b, int ldb, long long sb, const T* beta, T* c, int ldc, long long sc, \
        int count) {                                                                                \
        return one("cublas" #letter "gemmStridedBatched", h, ta, tb, m, n, k, alpha, a, lda, b, ldb, \
                   beta, c, ldc, sa, sb, sc, count);                                                \
    }                                                                                               \
    KG_API int cublas##letter##gemmBatched(void* h, int ta, int tb, int m, int n, int k,            \
                                           const T* alpha, const T* const* a, int lda,              \
                                           const T* const* b, int ldb, const T* beta, T* const* c,  \
                                           int ldc, int count) {                                    \
        return by_pointers("cublas" #letter "gemmBatched", h, ta, tb, m, n, k, alpha, a, lda, b,    \
                           ldb, beta, c, ldc, count);                                               \
    }
GEMM(S, float)
GEMM(D, double)
GEMMS(S, float)
GEMMS(D, double)
GEMMS(H, uint16_t)

KG_API int cublasHgemm(void* h, int ta, int tb, int m, int n, int k, const uint16_t* alpha,
                       const uint16_t* a, int lda, const uint16_t* b, int ldb, const uint16_t* beta,
                       uint16_t* c, int ldc) {
    return one("cublasHgemm", h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

KG_API int cublasGemmEx(void* h, int ta, int tb, int m, int n, int k, const void* alpha,
                        const void* a, int at, int lda, const void* b, int bt, int ldb,
                        const void* beta, void* c, int ct, int ldc, int compute, int) {
    return mixed("cublasGemmEx", h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc,
                 compute);
}

KG_API int cublasSgemmEx(void* h, int ta, int tb, int m, int n, int k, const float* alpha,
                         const void* a, int at, int lda, const void* b, int bt, int ldb,
                         const float* beta, void* c, int ct, int ldc) {
    return mixed("cublasSgemmEx", h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct,
                 ldc, 68);
}

KG_API int cublasGemmStridedBatchedEx(void* h, int ta, int tb, int m, int n, int k,
                                      const void* alpha, const void* a, int at, int lda,
                                      long long sa, const void* b, int bt, int ldb, long long sb,
                                      const void* beta, void* c, int ct, int ldc, long long sc,
                                      int count, int compute, int) {
    return mixed("cublasGemmStridedBatchedEx", h, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb,
                 beta, c, ct, ldc, compute, sa, sb, sc, count);
}
