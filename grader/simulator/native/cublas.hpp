// Shared by the files of the cuBLAS stand-in. Declared without NVIDIA's headers, which a machine
// may lack: enums are ints, a handle is a pointer. Matrices are column-major, as in cuBLAS.
#pragma once

#include <cstdint>
#include <string>

#include "floats.hpp"
#include "guard_alloc.hpp"
#include "runtime.hpp"

namespace kgsim::blas {

// cublasStatus_t
enum Result : int {
    kSuccess = 0,
    kNotInitialised = 1,
    kInvalidValue = 7,
    kExecutionFailed = 13,
    kNotSupported = 15,
};
// cublasOperation_t
enum Op : int { kPlain = 0, kTransposed = 1, kConjugated = 2 };
// cudaDataType_t
enum Type : int { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat = 14 };
// cublasMath_t and cublasComputeType_t, where they select TF32
constexpr int kMathTf32 = 3, kComputeHalf = 64, kComputeHalfPedantic = 65, kComputeDouble = 70,
              kComputeFastTf32 = 77;

struct Handle {
    void* stream = nullptr;
    int pointer_mode = 0;
    int math = 0;
    int atomics = 0;
};

// Null for a handle that cublasCreate never returned, or that was destroyed.
Handle* known(void* handle);
// A call's status before its arguments are checked: counted, refused after a lost context.
int enter(const char* name, void* handle);

struct Matrix {
    const void* data;
    int64_t rows, columns, stride;  // stride: elements from one column to the next
    int type;
};

size_t size_of(int type);
// The type of a routine's own elements.
template <class T>
constexpr int type_of = sizeof(T) == 8 ? kDouble : sizeof(T) == 4 ? kFloat : kHalf;
inline bool is_plain(int type) { return type == kFloat || type == kDouble || type == kHalf || type == kBfloat; }
double load(const void* data, int64_t index, int type);
void store(void* data, int64_t index, int type, double value);
// Whether device memory holds all of it; where it doesn't, the context is lost as on a GPU.
bool reachable(const char* name, const Matrix& matrix);
void written(const Matrix& matrix);
// Whether nothing is computed: arguments are only checked.
bool idle();

// C = alpha op(A) op(B) + beta C; m x n x k. Sums are floats, or doubles for doubles.
struct Product {
    int ta, tb;
    int64_t m, n, k;
    double alpha, beta;
    const void* a;
    int a_type;
    int64_t lda;
    const void* b;
    int b_type;
    int64_t ldb;
    void* c;
    int c_type;
    int64_t ldc;
    bool tf32 = false;
};
int multiply(const char* name, const Product& product);

}  // namespace kgsim::blas
