#pragma once
#include <c10/cuda/CUDAFunctions.h>
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#else
typedef struct cublasContext *cublasHandle_t;
#endif

extern "C" void *kgsim_blas_handle(void);

namespace at::cuda {
inline cudaDeviceProp *getDeviceProperties(c10::DeviceIndex device) {
  static cudaDeviceProp properties = [device] {
    cudaDeviceProp read;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&read, device));
    return read;
  }();
  return &properties;
}
inline cudaDeviceProp *getCurrentDeviceProperties() { return getDeviceProperties(c10::cuda::current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline int64_t getNumGPUs() { return c10::cuda::device_count(); }
inline bool is_available() { return c10::cuda::device_count() > 0; }
inline cublasHandle_t getCurrentCUDABlasHandle(bool = true) {
  return static_cast<cublasHandle_t>(kgsim_blas_handle());
}
using c10::cuda::current_device;
using c10::cuda::device_count;
using c10::cuda::set_device;
} // namespace at::cuda
