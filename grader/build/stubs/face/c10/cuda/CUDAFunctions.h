#pragma once
#include <c10/cuda/CUDAException.h>

namespace c10::cuda {
inline DeviceIndex device_count() noexcept {
  int count = 0;
  (void)cudaGetDeviceCount(&count);
  return static_cast<DeviceIndex>(count);
}
inline DeviceIndex device_count_ensure_non_zero() { return device_count(); }
inline DeviceIndex current_device() {
  int device = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  return static_cast<DeviceIndex>(device);
}
inline void set_device(DeviceIndex device, const bool = false) { C10_CUDA_CHECK(cudaSetDevice(device)); }
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
inline void stream_synchronize(cudaStream_t stream) { C10_CUDA_CHECK(cudaStreamSynchronize(stream)); }
inline void memcpy_and_sync(void *to, const void *from, int64_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}
inline DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  set_device(device);
  return before;
}
} // namespace c10::cuda
