// The cuBLAS look-alike: handles, settings, and what the routines share.

#include "cublas.hpp"
#include "graph.hpp"

#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

namespace kgsim::blas {
namespace {

struct Handles {
    std::mutex mutex;
    std::set<void*> live;
};

Handles& handles() {
    static auto* all = new Handles;
    return *all;
}

double to_tf32(double value) {
    if (!std::isfinite(value)) return value;
    const u32 bits = bits_of(static_cast<float>(value));
    return as_f32((bits + 0x1000) & 0xffffe000);
}

// A dense copy of op(X) with `rows` rows, element (i, j) at [i * columns + j].
std::vector<double> gathered(const void* data, int type, int64_t stride, int op, int64_t rows,
                             int64_t columns, bool tf32) {
    std::vector<double> out(static_cast<size_t>(rows * columns));
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            const auto at = op == kPlain ? j * stride + i : i * stride + j;
            const double value = load(data, at, type);
            out[i * columns + j] = tf32 ? to_tf32(value) : value;
        }
    return out;
}

template <class Sum>
void accumulate(const Product& p, const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<Sum> row(static_cast<size_t>(p.n));
    for (int64_t i = 0; i < p.m; ++i) {
        std::fill(row.begin(), row.end(), Sum(0));
        for (int64_t k = 0; k < p.k; ++k) {
            const Sum left = static_cast<Sum>(a[i * p.k + k]);
            const double* right = &b[k * p.n];
            for (int64_t j = 0; j < p.n; ++j) row[j] += left * static_cast<Sum>(right[j]);
        }
        for (int64_t j = 0; j < p.n; ++j) {
            const auto at = j * p.ldc + i;
            double value = p.alpha * static_cast<double>(row[j]);
            // With beta 0 the old values are not read: they may be NaN.
            if (p.beta != 0) value += p.beta * load(p.c, at, p.c_type);
            store(p.c, at, p.c_type, value);
        }
    }
}

}  // namespace

Handle* known(void* handle) {
    auto& all = handles();
    std::lock_guard lock(all.mutex);
    return all.live.count(handle) ? static_cast<Handle*>(handle) : nullptr;
}

int enter(const char* name, void* handle) {
    count_call(name);
    if (known(handle) == nullptr) return kNotInitialised;
    if (capturing()) {
        missing("cuBLAS in a CUDA graph");
        return kNotSupported;
    }
    return runtime().sticky == cudaSuccess ? kSuccess : kExecutionFailed;
}

bool idle() { return runtime().settings.skip_kernels || runtime().settings.dry_run; }

size_t size_of(int type) { return type == kDouble ? 8 : type == kFloat ? 4 : 2; }

double load(const void* data, int64_t index, int type) {
    switch (type) {
        case kFloat: return static_cast<const float*>(data)[index];
        case kDouble: return static_cast<const double*>(data)[index];
        case kHalf: return half_to_float(static_cast<const uint16_t*>(data)[index]);
        default: return bf16_to_float(static_cast<const uint16_t*>(data)[index]);
    }
}

void store(void* data, int64_t index, int type, double value) {
    switch (type) {
        case kFloat: static_cast<float*>(data)[index] = static_cast<float>(value); break;
        case kDouble: static_cast<double*>(data)[index] = value; break;
        case kHalf: static_cast<uint16_t*>(data)[index] = double_to_half(value); break;
        default: static_cast<uint16_t*>(data)[index] = double_to_bf16(value); break;
    }
}

bool reachable(const char* name, const Matrix& matrix) {
    if (matrix.rows <= 0 || matrix.columns <= 0) return true;
    const auto elements = (matrix.columns - 1) * matrix.stride + matrix.rows;
    const auto bytes = static_cast<uint64_t>(elements) * size_of(matrix.type);
    const auto base = reinterpret_cast<uint64_t>(matrix.data);
    const auto region = find_region(base);
    note_read(base);
    if (region && region->kind != RegionKind::host && base + bytes <= region->base + region->size)
        return true;
    std::string reason = std::string(name) + " is given a matrix of " + std::to_string(bytes) + " bytes ";
    reason += region ? "where device memory holds " + std::to_string(region->base + region->size - base)
                     : "that is no device memory";
    make_sticky(cudaErrorIllegalAddress, reason);
    return false;
}

void written(const Matrix& matrix) {
    const auto size = size_of(matrix.type);
    for (int64_t j = 0; j < matrix.columns; ++j)
        kgsim_written(static_cast<const char*>(matrix.data) + j * matrix.stride * size,
                      matrix.rows * size);
}

int multiply(const char* name, const Product& p) {
    const auto a_rows = p.ta == kPlain ? p.m : p.k, b_rows = p.tb == kPlain ? p.k : p.n;
    if (p.m < 0 || p.n < 0 || p.k < 0) return kInvalidValue;
    if (p.lda < std::max<int64_t>(1, a_rows) || p.ldb < std::max<int64_t>(1, b_rows) ||
        p.ldc < std::max<int64_t>(1, p.m))
        return kInvalidValue;
    const Matrix a{p.a, a_rows, p.ta == kPlain ? p.k : p.m, p.lda, p.a_type};
    const Matrix b{p.b, b_rows, p.tb == kPlain ? p.n : p.k, p.ldb, p.b_type};
    const Matrix c{p.c, p.m, p.n, p.ldc, p.c_type};
    if (!reachable(name, a) || !reachable(name, b) || !reachable(name, c)) return kExecutionFailed;
    if (idle()) return kSuccess;
    const auto left = gathered(p.a, p.a_type, p.lda, p.ta, p.m, p.k, p.tf32);
    const auto right = gathered(p.b, p.b_type, p.ldb, p.tb, p.k, p.n, p.tf32);
    if (p.c_type == kDouble) accumulate<double>(p, left, right);
    else accumulate<float>(p, left, right);
    written(c);
    return kSuccess;
}

}  // namespace kgsim::blas

using namespace kgsim::blas;

KG_API int cublasCreate_v2(void** handle) {
    kgsim::count_call("cublasCreate");
    if (handle == nullptr) return kInvalidValue;
    auto* made = new Handle;
    auto& all = handles();
    std::lock_guard lock(all.mutex);
    all.live.insert(made);
    *handle = made;
    return kSuccess;
}

// The one that at::cuda::getCurrentCUDABlasHandle returns.
KG_API void* kgsim_blas_handle() {
    static void* handle = [] {
        void* made = nullptr;
        cublasCreate_v2(&made);
        return made;
    }();
    return handle;
}

KG_API int cublasDestroy_v2(void* handle) {
    auto& all = handles();
    std::lock_guard lock(all.mutex);
    if (all.live.erase(handle) == 0) return kNotInitialised;
    delete static_cast<Handle*>(handle);
    return kSuccess;
}

#define SETTER(function, type, field)                \
    KG_API int function(void* handle, type value) {  \
        auto* found = known(handle);                 \
        if (found == nullptr) return kNotInitialised; \
        found->field = value;                        \
        return kSuccess;                             \
    }
#define GETTER(function, type, field)                 \
    KG_API int function(void* handle, type* value) {  \
        auto* found = known(handle);                  \
        if (found == nullptr) return kNotInitialised; \
        *value = found->field;                        \
        return kSuccess;                              \
    }
SETTER(cublasSetStream_v2, void*, stream)
GETTER(cublasGetStream_v2, void*, stream)
SETTER(cublasSetPointerMode_v2, int, pointer_mode)
GETTER(cublasGetPointerMode_v2, int, pointer_mode)
SETTER(cublasSetMathMode, int, math)
GETTER(cublasGetMathMode, int, math)
SETTER(cublasSetAtomicsMode, int, atomics)
GETTER(cublasGetAtomicsMode, int, atomics)

KG_API int cublasSetWorkspace_v2(void* handle, void*, size_t) {
    return known(handle) ? kSuccess : kNotInitialised;
}

KG_API int cublasGetVersion_v2(void*, int* version) {
    *version = 130000;
    return kSuccess;
}

KG_API const char* cublasGetStatusName(int status) {
    switch (status) {
        case kSuccess: return "CUBLAS_STATUS_SUCCESS";
        case kNotInitialised: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
        case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
        default: return "CUBLAS_STATUS_UNKNOWN";
    }
}

KG_API const char* cublasGetStatusString(int status) { return cublasGetStatusName(status); }
