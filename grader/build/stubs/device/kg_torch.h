// What nvcc needs of torch to parse a submission's host code and instantiate its kernels: types,
// AT_DISPATCH's instantiations, the real Half and BFloat16. Nothing here ever runs; a host compiler with the
// real headers judges host code. What the submission doesn't name is left out (KG_* are set by the driver).
#pragma once
#include <cuda_runtime.h>
// Under nvcc torch's complex numbers are thrust's, which bring FLT_MAX along; INT_MAX comes with any of its headers.
#include <cfloat>
#include <climits>

#if KG_LEAN
// Most sources name no more than this, and nvcc reads it in half of the time.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <type_traits>
#include <utility>
#if KG_BARE
#include "kg_library.h"
#else
#include <limits>
#include <optional>
#include <tuple>
#include <vector>
#if KG_STRING
#include <stdexcept>
#include <string>
#endif
#endif
namespace c10 {
struct Half;
struct BFloat16;
struct string_view {
  string_view(const char *);
};
} // namespace c10
#else
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#endif
#if KG_COMPLEX
#include <c10/util/complex.h>
#else
namespace c10 {
template <class T>
struct complex;
}
#endif
#if KG_ACCESSOR
#include <c10/util/ArrayRef.h>
#include <ATen/core/TensorAccessor.h>
#else
#include <c10/macros/Macros.h>
namespace c10 {
template <class T>
class ArrayRef {
public:
  using value_type = T;
  using iterator = const T *;
  ArrayRef() = default;
  ArrayRef(const T &);
  ArrayRef(const T *, size_t);
  ArrayRef(const T *, const T *);
  template <class C, class = decltype(std::declval<const C &>().data())>
  ArrayRef(const C &);
  template <size_t N>
  ArrayRef(const T (&)[N]);
  ArrayRef(const std::initializer_list<T> &);
  const T *begin() const;
  const T *end() const;
  const T *data() const;
  bool empty() const;
  size_t size() const;
  const T &front() const;
  const T &back() const;
  const T &operator[](size_t) const;
  const T &at(size_t) const;
  bool equals(ArrayRef) const;
  ArrayRef slice(size_t, size_t) const;
  ArrayRef slice(size_t) const;
  std::vector<T> vec() const;
};
template <class T>
bool operator==(ArrayRef<T>, ArrayRef<T>);
template <class T>
bool operator!=(ArrayRef<T>, ArrayRef<T>);
template <class T>
std::ostream &operator<<(std::ostream &, ArrayRef<T>);
using IntArrayRef = ArrayRef<int64_t>;
} // namespace c10
namespace at {
using c10::IntArrayRef;
} // namespace at
#endif

namespace c10 {
using std::nullopt;
using std::optional;
using std::make_optional;
using nullopt_t = std::nullopt_t;
#if !KG_LEAN
using string_view = std::string_view;
#endif
struct SymInt {
  SymInt(int64_t);
  operator int64_t() const;
};
using SymIntArrayRef = ArrayRef<SymInt>;
struct OptionalIntArrayRef {
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t);
  OptionalIntArrayRef(ArrayRef<int64_t>);
  OptionalIntArrayRef(const int64_t &);
  OptionalIntArrayRef(std::initializer_list<int64_t>);
  template <class C, class = decltype(std::declval<const C &>().data())>
  OptionalIntArrayRef(const C &);
};
#include "kg_scalar_types.inc"
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, HIP = 6, XPU = 12, MPS = 13, Meta = 14 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
using DeviceIndex = int8_t;
struct Device {
  Device(DeviceType, DeviceIndex = -1);
  Device(const std::string &);
  DeviceType type() const;
  DeviceIndex index() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool has_index() const;
  std::string str() const;
  bool operator==(const Device &) const;
  bool operator!=(const Device &) const;
};
std::ostream &operator<<(std::ostream &, const Device &);
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
struct Storage {
  void *mutable_data() const;
  const void *data() const;
  size_t nbytes() const;
};
struct Scalar {
  Scalar();
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_same_v<T, Half> ||
                                              std::is_same_v<T, BFloat16>>>
  Scalar(T);
  template <class T>
  T to() const;
  double toDouble() const;
  float toFloat() const;
  int toInt() const;
  int64_t toLong() const;
  bool toBool() const;
  Half toHalf() const;
  bool isFloatingPoint() const;
  bool isIntegral(bool) const;
  bool isBoolean() const;
  ScalarType type() const;
};
} // namespace c10

namespace caffe2 {
struct TypeMeta {
  TypeMeta() = default;
  template <class T>
  static TypeMeta Make();
  static TypeMeta fromScalarType(c10::ScalarType);
  c10::ScalarType toScalarType() const;
  size_t itemsize() const;
  c10::string_view name() const;
};
bool operator==(const TypeMeta &, const TypeMeta &);
bool operator!=(const TypeMeta &, const TypeMeta &);
bool operator==(c10::ScalarType, const TypeMeta &);
bool operator==(const TypeMeta &, c10::ScalarType);
bool operator!=(c10::ScalarType, const TypeMeta &);
bool operator!=(const TypeMeta &, c10::ScalarType);
std::ostream &operator<<(std::ostream &, const TypeMeta &);
} // namespace caffe2

namespace c10 {
ScalarType typeMetaToScalarType(caffe2::TypeMeta);
caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType);
size_t elementSize(ScalarType);
bool isFloatingType(ScalarType);
bool isIntegralType(ScalarType, bool);
bool isComplexType(ScalarType);
ScalarType promoteTypes(ScalarType, ScalarType);
struct TensorOptions {
  TensorOptions();
  explicit TensorOptions(Layout);
  template <class T, class = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device> ||
                                              std::is_same_v<std::decay_t<T>, DeviceType>>>
  TensorOptions(T &&);
  TensorOptions(caffe2::TypeMeta);
  TensorOptions(ScalarType);
  explicit TensorOptions(MemoryFormat);
  TensorOptions device(std::optional<Device>) const;
  template <class... A>
  TensorOptions device(A &&...) const;
  TensorOptions device_index(DeviceIndex) const;
  TensorOptions dtype(std::optional<caffe2::TypeMeta>) const;
  TensorOptions dtype(std::optional<ScalarType>) const;
  TensorOptions dtype(ScalarType) const;
  TensorOptions dtype(caffe2::TypeMeta) const;
  template <class T>
  TensorOptions &dtype();
  TensorOptions layout(std::optional<Layout>) const;
  TensorOptions requires_grad(std::optional<bool>) const;
  TensorOptions pinned_memory(std::optional<bool>) const;
  TensorOptions memory_format(std::optional<MemoryFormat>) const;
  Device device() const;
  caffe2::TypeMeta dtype() const;
  Layout layout() const;
  bool requires_grad() const;
  bool has_dtype() const;
  bool has_device() const;
};
TensorOptions dtype(ScalarType);
TensorOptions dtype(caffe2::TypeMeta);
template <class T>
TensorOptions dtype();
TensorOptions device(Device);
TensorOptions layout(Layout);
TensorOptions requires_grad(bool = true);
TensorOptions memory_format(MemoryFormat);
struct DispatchKeySet {};
struct Stream {};
struct Error : std::exception {
  Error(std::string);
};
struct ValueError : Error {};
struct IndexError : Error {};
template <class... A>
std::string str(const A &...);
template <class T>
struct kg_range {
  struct iterator {
    T operator*() const;
    iterator &operator++();
    bool operator!=(const iterator &) const;
  };
  iterator begin() const;
  iterator end() const;
};
template <class T>
kg_range<T> irange(T);
template <class T, class U>
kg_range<U> irange(T, U);
template <class T>
struct List {
  List();
  size_t size() const;
};
namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType;
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
} // namespace impl
template <class T>
struct CppTypeToScalarType;
} // namespace c10
#if !KG_ACCESSOR
template <class... A>
[[noreturn]] void kg_fail(const A &...);
#else
template <class... A>
[[noreturn]] void kg_fail(const A &...);
#endif

namespace at {
using namespace c10;
struct Tensor;
using TensorList = c10::ArrayRef<Tensor>;
struct ITensorListRef {
  template <class T>
  ITensorListRef(const T &);
};
struct DeprecatedTypeProperties {
  c10::ScalarType scalarType() const;
  bool is_cuda() const;
  std::string toString() const;
};
struct Dimname {};
using DimnameList = c10::ArrayRef<Dimname>;
struct Generator {};
using Stream = c10::Stream;
namespace indexing {
enum class TensorIndexType { None, Ellipsis, SymInt, Boolean, Slice, Tensor };
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};
inline constexpr std::nullopt_t None = std::nullopt;
struct Slice {
  Slice(std::optional<c10::SymInt> = std::nullopt, std::optional<c10::SymInt> = std::nullopt,
        std::optional<c10::SymInt> = std::nullopt);
};
struct TensorIndex {
  template <class T>
  TensorIndex(const T &);
  TensorIndex(const char *);
};
} // namespace indexing
struct TensorBase {
  int64_t dim() const;
  int64_t ndimension() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  int64_t sym_size(int64_t) const;
  c10::IntArrayRef sizes() const;
  c10::IntArrayRef strides() const;
  int64_t numel() const;
  int64_t storage_offset() const;
  size_t nbytes() const;
  size_t itemsize() const;
  int64_t element_size() const;
  size_t use_count() const;
  bool defined() const;
  bool has_storage() const;
  bool is_alias_of(const TensorBase &) const;
  bool is_contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_sparse() const;
  bool is_floating_point() const;
  bool is_complex() const;
  bool is_signed() const;
  bool is_quantized() const;
  bool is_same(const TensorBase &) const;
  bool is_leaf() const;
  bool requires_grad() const;
  c10::Device device() const;
  DeprecatedTypeProperties &type() const;
  int64_t get_device() const;
  c10::ScalarType scalar_type() const;
  caffe2::TypeMeta dtype() const;
  c10::Layout layout() const;
  c10::TensorOptions options() const;
  c10::MemoryFormat suggest_memory_format(bool = false) const;
  const c10::Storage &storage() const;
  std::string toString() const;
  void print() const;
  void reset();
  void *data_ptr() const;
  const void *const_data_ptr() const;
  void *mutable_data_ptr() const;
  template <class T>
  T *data_ptr() const;
  template <class T>
  T *data() const;
  template <class T>
  const T *const_data_ptr() const;
  template <class T>
  T *mutable_data_ptr() const;
#if KG_ACCESSOR
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const;
  template <class T, size_t N, template <class U> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> generic_packed_accessor() const;
  template <class T, size_t N, template <class U> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() const;
  template <class T, size_t N, template <class U> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() const;
  template <class T, size_t N, template <class U> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> packed_accessor() const;
#endif
};
struct Tensor : TensorBase {
  Tensor();
  Tensor(const Tensor &);
  Tensor &operator=(const Tensor &) &;
  Tensor &operator=(const Tensor &) &&;
  Tensor &operator=(const c10::Scalar &) &&;
  Tensor contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const;
  Tensor operator~() const;
  Tensor operator-() const;
  Tensor &operator+=(const Tensor &);
  Tensor &operator+=(const c10::Scalar &);
  Tensor &operator-=(const Tensor &);
  Tensor &operator-=(const c10::Scalar &);
  Tensor &operator*=(const Tensor &);
  Tensor &operator*=(const c10::Scalar &);
  Tensor &operator/=(const Tensor &);
  Tensor &operator/=(const c10::Scalar &);
  Tensor operator[](const c10::Scalar &) const;
  Tensor operator[](const Tensor &) const;
  Tensor operator[](int64_t) const;
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor data() const;
  Tensor &set_requires_grad(bool) const;
  Tensor &requires_grad_(bool = true) const;
  const Tensor &grad() const;
  Tensor &mutable_grad() const;
  void backward(const Tensor & = {}, std::optional<bool> = std::nullopt, bool = false) const;
  Tensor variable_data() const;
  Tensor toType(c10::ScalarType) const;
  Tensor tensor_data() const;
  Tensor index(std::initializer_list<at::indexing::TensorIndex>) const;
  Tensor &index_put_(std::initializer_list<at::indexing::TensorIndex>, const Tensor &);
  Tensor &index_put_(std::initializer_list<at::indexing::TensorIndex>, const c10::Scalar &);
  template <class T>
  T item() const;
  using TensorBase::data;
#include "kg_methods.inc"
};
std::ostream &operator<<(std::ostream &, const Tensor &);
#define KG_OPERATOR(op)                                                                            \
  Tensor operator op(const Tensor &, const Tensor &);                                              \
  Tensor operator op(const Tensor &, const c10::Scalar &);                                         \
  Tensor operator op(const c10::Scalar &, const Tensor &);
KG_OPERATOR(+) KG_OPERATOR(-) KG_OPERATOR(*) KG_OPERATOR(/) KG_OPERATOR(%) KG_OPERATOR(&)
KG_OPERATOR(|) KG_OPERATOR(^) KG_OPERATOR(<) KG_OPERATOR(<=) KG_OPERATOR(>) KG_OPERATOR(>=)
KG_OPERATOR(==) KG_OPERATOR(!=)
#undef KG_OPERATOR
// Where argument-dependent lookup finds it: `OptionalCUDAGuard guard(device_of(x))`.
std::optional<Device> device_of(const Tensor &);
std::optional<Device> device_of(const std::optional<Tensor> &);
std::optional<Device> device_of(ArrayRef<Tensor>);
struct NoGradGuard {
  NoGradGuard();
  ~NoGradGuard();
};
struct AutoDispatchBelowADInplaceOrView {
  AutoDispatchBelowADInplaceOrView();
};
struct TensorArg {
  TensorArg(const Tensor &, const char *, int);
};
using CheckedFrom = const char *;
#include "kg_functions.inc"
} // namespace at

namespace torch {
using namespace at;
using at::Tensor;
using c10::Device;
using c10::DeviceType;
using c10::TensorOptions;
using Dtype = at::ScalarType;
namespace indexing {
using namespace at::indexing;
}
constexpr auto kUInt8 = at::ScalarType::Byte, kU8 = kUInt8;
constexpr auto kInt8 = at::ScalarType::Char, kI8 = kInt8;
constexpr auto kInt16 = at::ScalarType::Short, kI16 = kInt16;
constexpr auto kInt32 = at::ScalarType::Int, kI32 = kInt32;
constexpr auto kInt64 = at::ScalarType::Long, kI64 = kInt64;
constexpr auto kFloat16 = at::ScalarType::Half, kF16 = kFloat16;
constexpr auto kFloat32 = at::ScalarType::Float, kF32 = kFloat32;
constexpr auto kFloat64 = at::ScalarType::Double, kF64 = kFloat64;
constexpr auto kUInt16 = at::ScalarType::UInt16;
constexpr auto kUInt32 = at::ScalarType::UInt32;
constexpr auto kUInt64 = at::ScalarType::UInt64;
template <class T>
Tensor tensor(std::initializer_list<T>, const at::TensorOptions & = {});
template <class T>
Tensor tensor(const T &, const at::TensorOptions & = {});
bool equal(const Tensor &, const Tensor &);
#include "kg_factories.inc"
namespace cuda {
bool is_available();
size_t device_count();
void synchronize(int64_t = -1);
} // namespace cuda
} // namespace torch

namespace detail {
inline at::ScalarType scalar_type(at::ScalarType s) { return s; }
#if KG_DISPATCH_TAKES_TYPE
inline at::ScalarType scalar_type(const at::DeprecatedTypeProperties &t) { return t.scalarType(); }
#endif
} // namespace detail

#define TORCH_CHECK(cond, ...)                                                                     \
  do {                                                                                             \
    if (!(cond)) kg_fail("" __VA_OPT__(, ) __VA_ARGS__);                                           \
  } while (false)
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_CHECK_WITH(error, cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define STD_TORCH_CHECK TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM(cond, ...) TORCH_CHECK(cond, __VA_ARGS__)
#define AT_ERROR(...) kg_fail(__VA_ARGS__)
#define TORCH_WARN(...) ((void)c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) ((void)c10::str(__VA_ARGS__))
#define AT_WARN(...) ((void)c10::str(__VA_ARGS__))
#define RECORD_KERNEL_FUNCTION_DTYPE(NAME, enum_type)
#undef TORCH_API
#define TORCH_API
#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...)                                      \
  case enum_type: {                                                                                \
    using HINT [[maybe_unused]] = c10::impl::ScalarTypeToCPPTypeT<enum_type>;                      \
    return __VA_ARGS__();                                                                          \
  }
#define AT_DISPATCH_CASE(enum_type, ...)                                                           \
  AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                        \
  [&] {                                                                                            \
    const auto &the_type = TYPE;                                                                   \
    constexpr const char *at_dispatch_name = NAME;                                                 \
    at::ScalarType _st = ::detail::scalar_type(the_type);                                          \
    switch (_st) {                                                                                 \
      __VA_ARGS__                                                                                  \
    default:                                                                                       \
      kg_fail(at_dispatch_name, int(_st));                                                         \
    }                                                                                              \
  }()
#include "kg_dispatch.inc"
