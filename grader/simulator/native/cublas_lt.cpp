// cuBLASLt's product of matrices: descriptors, layouts in either order, batches, and the epilogues that
// add a bias and apply ReLU or GELU. https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api

#include <cmath>
#include <cstring>

#include "cublas.hpp"

using namespace kgsim::blas;

KG_API int cublasCreate_v2(void** handle);
KG_API int cublasDestroy_v2(void* handle);

namespace {

// cublasLtOrder_t
enum Order : int { kColumns = 0, kRows = 1 };
// cublasLtEpilogue_t, bit by bit
enum Epilogue : int { kNothing = 1, kRelu = 2, kBias = 4, kGelu = 32 };
// cublasLtMatrixLayoutAttribute_t
enum LayoutAttribute : int { kType, kOrder, kRowCount, kColumnCount, kLeading, kBatches, kBatchStride };
// cublasLtMatmulDescAttributes_t
enum ProductAttribute : int {
    kCompute = 0,
    kScale = 1,
    kTransA = 3,
    kTransB = 4,
    kTransC = 5,
    kEpilogue = 7,
    kBiasPointer = 8,
    kBiasStride = 10,
    kBiasType = 26,
};

// The target of cublasLtMatrixLayout_t; NVIDIA's header reserves 64 bytes for it.
struct Layout {
    int type, order = kColumns;
    uint64_t rows, columns;
    int64_t leading;
    int batches = 1;
    int64_t stride = 0;
};
static_assert(sizeof(Layout) <= 64);

// The target of cublasLtMatmulDesc_t; 256 bytes.
struct Description {
    int compute, scale;
    int ta = kPlain, tb = kPlain, tc = kPlain;
    int epilogue = kNothing, bias_type = -1;
    const void* bias = nullptr;
    int64_t bias_stride = 0;
};
static_assert(sizeof(Description) <= 256);

// cublasLtMatmulHeuristicResult_t
struct Heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

template <class T>
int set(T& field, const void* from, size_t size) {
    if (from == nullptr || size < sizeof(T)) return kInvalidValue;
    std::memcpy(&field, from, sizeof(T));
    return kSuccess;
}

template <class T>
int get(const T& field, void* to, size_t size, size_t* written) {
    if (written != nullptr) *written = sizeof(T);
    if (to == nullptr || size < sizeof(T)) return size == 0 ? kSuccess : kInvalidValue;
    std::memcpy(to, &field, sizeof(T));
    return kSuccess;
}

// Calls `use` with the field that an attribute names; what has no effect here is taken and forgotten.
template <class Use>
int with_field(Layout& layout, int attribute, Use use) {
    switch (attribute) {
        case kType: return use(layout.type);
        case kOrder: return use(layout.order);
        case kRowCount: return use(layout.rows);
        case kColumnCount: return use(layout.columns);
        case kLeading: return use(layout.leading);
        case kBatches: return use(layout.batches);
        case kBatchStride: return use(layout.stride);
        default: return kNotSupported;
    }
}

template <class Use>
int with_field(Description& product, int attribute, Use use) {
    switch (attribute) {
        case kCompute: return use(product.compute);
        case kScale: return use(product.scale);
        case kTransA: return use(product.ta);
        case kTransB: return use(product.tb);
        case kTransC: return use(product.tc);
        case kEpilogue: return use(product.epilogue);
        case kBiasPointer: return use(product.bias);
        case kBiasStride: return use(product.bias_stride);
        case kBiasType: return use(product.bias_type);
        default: return kSuccess;
    }
}

int swapped(int op) { return op == kPlain ? kTransposed : kPlain; }

const void* nth(const void* data, const Layout& layout, int batch) {
    const auto bytes = batch * layout.stride * static_cast<int64_t>(size_of(layout.type));
    return static_cast<const char*>(data) + bytes;
}

int64_t index_of(const Layout& layout, int64_t row, int64_t column) {
    return layout.order == kRows ? row * layout.leading + column : column * layout.leading + row;
}

double activated(double value, int epilogue) {
    if (epilogue & kRelu) return std::fmax(value, 0.0);
    if (!(epilogue & kGelu)) return value;
    const double inner = 0.7978845608028654 * (value + 0.044715 * value * value * value);
    return 0.5 * value * (1.0 + std::tanh(inner));
}

// Adds the bias, which has one number for each row of D, and applies the activation.
int finish(const Description& product, const Layout& d, void* data, int batch) {
    const int type = product.bias_type >= 0 ? product.bias_type : d.type;
    const auto rows = static_cast<int64_t>(d.rows), columns = static_cast<int64_t>(d.columns);
    const auto* bias = static_cast<const char*>(product.bias);
    if (product.epilogue & kBias) {
        if (bias == nullptr) return kInvalidValue;
        bias += batch * product.bias_stride * static_cast<int64_t>(size_of(type));
        if (!reachable("cublasLtMatmul", {bias, rows, 1, rows, type})) return kExecutionFailed;
    }
    if (idle()) return kSuccess;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            double value = load(data, index_of(d, i, j), d.type);
            if (product.epilogue & kBias) value += load(bias, i, type);
            store(data, index_of(d, i, j), d.type, activated(value, product.epilogue));
        }
    return kSuccess;
}

// D takes C's numbers where they count, so that the product can be made in place.
int take(const Layout& c, const void* from, const Layout& d, void* to) {
    const auto rows = static_cast<int64_t>(d.rows), columns = static_cast<int64_t>(d.columns);
    const bool by_rows = c.order == kRows;
    const Matrix source{from, by_rows ? columns : rows, by_rows ? rows : columns, c.leading, c.type};
    if (!reachable("cublasLtMatmul", source)) return kExecutionFailed;
    if (idle()) return kSuccess;
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            store(to, index_of(d, i, j), d.type, load(from, index_of(c, i, j), c.type));
    return kSuccess;
}

// One product, column by column: what lies row by row is the transposed matrix, and a D that does is
// made as its transpose, op(B)' op(A)'.
int one(const Description& product, double alpha, const void* a, const Layout& la, const void* b,
        const Layout& lb, double beta, void* d, const Layout& ld) {
    const bool tf32 = la.type == kFloat && product.compute == kComputeFastTf32;
    const auto m = static_cast<int64_t>(ld.rows), n = static_cast<int64_t>(ld.columns);
    const auto k = static_cast<int64_t>(product.ta == kPlain ? la.columns : la.rows);
    const int ta = la.order == kRows ? swapped(product.ta) : product.ta;
    const int tb = lb.order == kRows ? swapped(product.tb) : product.tb;
    if (ld.order == kColumns)
        return multiply("cublasLtMatmul", {ta, tb, m, n, k, alpha, beta, a, la.type, la.leading, b,
                                           lb.type, lb.leading, d, ld.type, ld.leading, tf32});
    return multiply("cublasLtMatmul", {swapped(tb), swapped(ta), n, m, k, alpha, beta, b, lb.type,
                                       lb.leading, a, la.type, la.leading, d, ld.type, ld.leading, tf32});
}

bool fits(const Description& product, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    const auto m = product.ta == kPlain ? a.rows : a.columns, ka = product.ta == kPlain ? a.columns : a.rows;
    const auto kb = product.tb == kPlain ? b.rows : b.columns, n = product.tb == kPlain ? b.columns : b.rows;
    return m == d.rows && n == d.columns && ka == kb && c.rows == d.rows && c.columns == d.columns &&
           a.batches == d.batches && b.batches == d.batches && c.batches == d.batches;
}

// Whether all of it is supported here; if not, the missing feature is reported by name.
bool supported(const Description& product, const Layout& a, const Layout& b, const Layout& c,
               const Layout& d) {
    const bool types = is_plain(a.type) && is_plain(b.type) && is_plain(c.type) && is_plain(d.type);
    const auto known_order = [](const Layout& layout) { return layout.order == kColumns || layout.order == kRows; };
    const bool orders = known_order(a) && known_order(b) && known_order(c) && known_order(d);
    const bool epilogue = (product.epilogue & ~(kNothing | kRelu | kBias | kGelu)) == 0;
    if (types && orders && epilogue && product.tc == kPlain) return true;
    kgsim::missing("cublasLtMatmul with this type, order or epilogue");
    return false;
}

int scale_type(const Description& product) { return is_plain(product.scale) ? product.scale : kFloat; }

}  // namespace

KG_API int cublasLtCreate(void** handle) { return cublasCreate_v2(handle); }
KG_API int cublasLtDestroy(void* handle) { return cublasDestroy_v2(handle); }
KG_API size_t cublasLtGetVersion() { return 130000; }

KG_API int cublasLtMatrixLayoutInit_internal(void* layout, size_t size, int type, uint64_t rows,
                                             uint64_t columns, int64_t leading) {
    if (layout == nullptr || size < sizeof(Layout)) return kInvalidValue;
    new (layout) Layout{type, kColumns, rows, columns, leading};
    return kSuccess;
}

KG_API int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading) {
    *layout = new Layout{type, kColumns, rows, columns, leading};
    return kSuccess;
}

KG_API int cublasLtMatmulDescInit_internal(void* product, size_t size, int compute, int scale) {
    if (product == nullptr || size < sizeof(Description)) return kInvalidValue;
    new (product) Description{compute, scale};
    return kSuccess;
}

KG_API int cublasLtMatmulDescCreate(Description** product, int compute, int scale) {
    *product = new Description{compute, scale};
    return kSuccess;
}

#define ATTRIBUTES(name, T)                                                                          \
    KG_API int name##Destroy(T* made) {                                                              \
        delete made;                                                                                 \
        return kSuccess;                                                                             \
    }                                                                                                \
    KG_API int name##SetAttribute(T* made, int attribute, const void* from, size_t size) {           \
        if (made == nullptr) return kInvalidValue;                                                   \
        return with_field(*made, attribute, [&](auto& field) { return set(field, from, size); });    \
    }                                                                                                \
    KG_API int name##GetAttribute(T* made, int attribute, void* to, size_t size, size_t* written) {  \
        if (made == nullptr) return kInvalidValue;                                                   \
        return with_field(*made, attribute, [&](auto& field) { return get(field, to, size, written); }); \
    }
ATTRIBUTES(cublasLtMatrixLayout, Layout)
ATTRIBUTES(cublasLtMatmulDesc, Description)

// There is one way to multiply here: preferences are taken, and the first algorithm is the only one.
KG_API int cublasLtMatmulPreferenceCreate(void** preference) {
    *preference = new uint64_t[8]();
    return kSuccess;
}
KG_API int cublasLtMatmulPreferenceInit_internal(void*, size_t) { return kSuccess; }
KG_API int cublasLtMatmulPreferenceDestroy(uint64_t* preference) {
    delete[] preference;
    return kSuccess;
}
KG_API int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) { return kSuccess; }

KG_API int cublasLtMatmulAlgoGetHeuristic(void* handle, const Description* product, const Layout* a,
                                          const Layout* b, const Layout* c, const Layout* d, void*,
                                          int wanted, Heuristic* results, int* found) {
    if (known(handle) == nullptr) return kNotInitialised;
    if (wanted < 1 || results == nullptr || found == nullptr) return kInvalidValue;
    if (!fits(*product, *a, *b, *c, *d)) return kInvalidValue;
    results[0] = {{}, 0, kSuccess, 1.0f, {}};
    *found = 1;
    return kSuccess;
}

KG_API int cublasLtMatmul(void* handle, const Description* product, const void* alpha, const void* a,
                          const Layout* la, const void* b, const Layout* lb, const void* beta,
                          const void* c, const Layout* lc, void* d, const Layout* ld, const void*, void*,
                          size_t, void*) {
    const kgsim::DeviceMemoryOpen open;
    if (const int status = enter("cublasLtMatmul", handle)) return status;
    if (!product || !alpha || !beta || !la || !lb || !lc || !ld) return kInvalidValue;
    if (!supported(*product, *la, *lb, *lc, *ld)) return kNotSupported;
    if (!fits(*product, *la, *lb, *lc, *ld)) return kInvalidValue;
    const double times = load(alpha, 0, scale_type(*product)), kept = load(beta, 0, scale_type(*product));
    for (int i = 0; i < ld->batches; ++i) {
        void* to = const_cast<void*>(nth(d, *ld, i));
        const bool other = c != d || lc->order != ld->order || lc->type != ld->type;
        int status = kept != 0 && other ? take(*lc, nth(c, *lc, i), *ld, to) : kSuccess;
        if (status == kSuccess) status = one(*product, times, nth(a, *la, i), *la, nth(b, *lb, i), *lb, kept, to, *ld);
        if (status == kSuccess && product->epilogue != kNothing) status = finish(*product, *ld, to, i);
        if (status != kSuccess) return status;
    }
    return kSuccess;
}
