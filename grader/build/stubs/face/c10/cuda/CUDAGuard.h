#pragma once
#include <c10/cuda/CUDACachingAllocator.h>

#include <optional>

namespace c10::cuda {
// One simulated GPU: a guard only checks that its device exists.
struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex index) : device_(index) {}
  explicit CUDAGuard(Device device) : device_(device.index()) {}
  CUDAGuard(const CUDAGuard &) = delete;
  CUDAGuard &operator=(const CUDAGuard &) = delete;
  void set_device(Device device) { device_ = device.index(); }
  void reset_device(Device device) { device_ = device.index(); }
  void set_index(DeviceIndex index) { device_ = index; }
  Device original_device() const { return Device(DeviceType::CUDA, 0); }
  Device current_device() const { return Device(DeviceType::CUDA, device_); }

private:
  DeviceIndex device_;
};
struct OptionalCUDAGuard {
  explicit OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device>) {}
  explicit OptionalCUDAGuard(std::optional<DeviceIndex>) {}
  OptionalCUDAGuard(const OptionalCUDAGuard &) = delete;
  void set_device(Device) {}
  void set_index(DeviceIndex) {}
  void reset() {}
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream stream) : before_(getCurrentCUDAStream()), now_(stream) {
    setCurrentCUDAStream(stream);
  }
  CUDAStreamGuard(const CUDAStreamGuard &) = delete;
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStream original_stream() const { return before_; }
  CUDAStream current_stream() const { return now_; }

private:
  CUDAStream before_, now_;
};
} // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::OptionalCUDAGuard;
} // namespace at::cuda
