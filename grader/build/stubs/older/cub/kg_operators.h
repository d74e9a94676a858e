// The operators that CCCL 3 (CUDA 13) took out of cub, for answers written for CUDA 12: names and
// meaning as NVIDIA documented them.
#pragma once
#include <cub/version.cuh>
#if CUB_VERSION >= 300000
#include <cuda/std/type_traits>
namespace cub {
#define KG_OPERATOR(name, expression)                                                         \
  struct name {                                                                               \
    template <typename T, typename U>                                                         \
    __host__ __device__ __forceinline__ auto operator()(const T &a, const U &b) const {       \
      using Both = ::cuda::std::common_type_t<T, U>;                                          \
      const Both x = a, y = b;                                                                \
      return expression;                                                                      \
    }                                                                                         \
  };
KG_OPERATOR(Sum, Both(x + y))
KG_OPERATOR(Difference, Both(x - y))
KG_OPERATOR(Division, Both(x / y))
KG_OPERATOR(Max, Both(y > x ? y : x))
KG_OPERATOR(Min, Both(y < x ? y : x))
KG_OPERATOR(Equality, x == y)
KG_OPERATOR(Inequality, x != y)
#undef KG_OPERATOR
}  // namespace cub
#endif
