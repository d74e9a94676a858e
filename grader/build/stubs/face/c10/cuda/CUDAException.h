// torch's CUDA headers for the simulator: the same names, over the CUDA runtime that the extension links, and
// nothing of libc10_cuda, which would start a driver. Each is visible only where its header is included.
#pragma once
#include <cuda_runtime.h>
#include <torch/types.h>

namespace c10::cuda {
inline void c10_cuda_check_implementation(int32_t error, const char *file, const char *function,
                                          int line) {
  if (static_cast<cudaError_t>(error) == cudaSuccess) return;
  (void)cudaGetLastError();
  TORCH_CHECK(false, "CUDA error: ", cudaGetErrorString(static_cast<cudaError_t>(error)), " (", function,
              " at ", file, ":", line, ")");
}
} // namespace c10::cuda

#define C10_CUDA_CHECK(EXPR)                                                                       \
  do {                                                                                             \
    const cudaError_t __err = EXPR;                                                                \
    c10::cuda::c10_cuda_check_implementation(static_cast<int32_t>(__err), __FILE__, __func__,      \
                                             __LINE__);                                            \
  } while (0)
#define C10_CUDA_CHECK_WARN(EXPR)                                                                  \
  do {                                                                                             \
    const cudaError_t __err = EXPR;                                                                \
    if (__err != cudaSuccess) {                                                                    \
      (void)cudaGetLastError();                                                                    \
      TORCH_WARN("CUDA warning: ", cudaGetErrorString(__err));                                     \
    }                                                                                              \
  } while (0)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR)                                                                \
  do {                                                                                             \
    if ((EXPR) != cudaSuccess) (void)cudaGetLastError();                                           \
  } while (0)
#define C10_CUDA_CLEAR_ERROR() ((void)cudaGetLastError())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
