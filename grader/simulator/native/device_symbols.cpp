// Functions of libc10_cuda and libtorch_cuda whose signatures torch changed over time. Declared
// here instead of by torch's headers: an extension asks for the one that its headers declare.

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <string>

#include "guard_alloc.hpp"

#define KG_EXPORT __attribute__((visibility("default")))


namespace c10::cuda {

class KG_EXPORT CUDAErrorLogCapture {
 public:
  CUDAErrorLogCapture() noexcept;
  std::string get_error_log_suffix() noexcept;
};
CUDAErrorLogCapture::CUDAErrorLogCapture() noexcept = default;
std::string CUDAErrorLogCapture::get_error_log_suffix() noexcept { return ""; }

static void check(int error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // as torch does: the error is told once
  TORCH_CHECK(false, "CUDA error: ", cudaGetErrorString(static_cast<cudaError_t>(error)));
}

KG_EXPORT void c10_cuda_check_implementation(const int32_t error, const char*, const char*,
                                             const uint32_t, const bool, CUDAErrorLogCapture*) {
  check(error);
}
KG_EXPORT void c10_cuda_check_implementation(const int32_t error, const char*, const char*,
                                             const uint32_t, const bool) {
  check(error);
}
KG_EXPORT void c10_cuda_check_implementation(const int32_t error, const char*, const char*, const int,
                                             const bool) {
  check(error);
}
KG_EXPORT const char* get_cuda_check_suffix() noexcept { return ""; }
KG_EXPORT std::string get_cuda_error_help(cudaError_t) noexcept { return ""; }
KG_EXPORT std::string c10_retrieve_device_side_assertion_info() { return ""; }

}  // namespace c10::cuda

namespace at::cuda {

KG_EXPORT cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp* properties = [] {
    auto* made = new cudaDeviceProp;
    cudaGetDeviceProperties(made, 0);
    return made;
  }();
  return properties;
}
KG_EXPORT cudaDeviceProp* getDeviceProperties(signed char) { return getCurrentDeviceProperties(); }
KG_EXPORT cudaDeviceProp* getDeviceProperties(int64_t) { return getCurrentDeviceProperties(); }
KG_EXPORT int warp_size() { return 32; }
KG_EXPORT bool canDeviceAccessPeer(signed char, signed char) { return false; }
KG_EXPORT bool canDeviceAccessPeer(int64_t, int64_t) { return false; }
KG_EXPORT c10::Allocator* getCUDADeviceAllocator() { return c10::GetAllocator(c10::kCUDA); }

static void* library(const char* name) {
  kgsim_missing(name);
  TORCH_CHECK(false, name, " can't run on the simulator");
}

KG_EXPORT void* getCurrentCUDABlasHandle() { return library("cuBLAS"); }
KG_EXPORT void* getCurrentCUDABlasLtHandle() { return library("cuBLASLt"); }
KG_EXPORT void* getCurrentCUDASparseHandle() { return library("cuSPARSE"); }
KG_EXPORT void* getCurrentCUDASolverDnHandle() { return library("cuSOLVER"); }

}  // namespace at::cuda
