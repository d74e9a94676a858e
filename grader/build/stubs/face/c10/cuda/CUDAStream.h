#pragma once
#include <c10/cuda/CUDAFunctions.h>

// The stream that is being captured into a graph, which torch's Python made current; null without one.
extern "C" cudaStream_t kgsim_capture_stream();

namespace c10::cuda {
class CUDAStream {
public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
  DeviceIndex device_index() const { return current_device(); }
  DeviceType device_type() const { return DeviceType::CUDA; }
  Device device() const { return Device(DeviceType::CUDA, device_index()); }
  bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  void synchronize() const { stream_synchronize(stream_); }
  int priority() const { return 0; }
  bool operator==(const CUDAStream &other) const noexcept { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream &other) const noexcept { return stream_ != other.stream_; }

private:
  cudaStream_t stream_;
};
inline CUDAStream &kg_current_stream() {
  thread_local CUDAStream current(nullptr);
  return current;
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) {
  const CUDAStream current = kg_current_stream();
  return current.stream() ? current : CUDAStream(kgsim_capture_stream());
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(nullptr); }
inline CUDAStream getStreamFromPool(const bool = false, DeviceIndex = -1) {
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return CUDAStream(stream);
}
inline CUDAStream getStreamFromPool(const int, DeviceIndex = -1) { return getStreamFromPool(false); }
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) { return CUDAStream(stream); }
inline void setCurrentCUDAStream(CUDAStream stream) { kg_current_stream() = stream; }
} // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromExternal;
using c10::cuda::getStreamFromPool;
using c10::cuda::setCurrentCUDAStream;
} // namespace at::cuda
