#pragma once
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

namespace at::cuda {
struct CUDAEvent {
  CUDAEvent(unsigned flags = cudaEventDisableTiming) { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags)); }
  CUDAEvent(const CUDAEvent &) = delete;
  ~CUDAEvent() { (void)cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  bool query() const { return cudaEventQuery(event_) == cudaSuccess; }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream &stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void recordOnce(const CUDAStream &stream) { record(stream); }
  void block(const CUDAStream &stream) { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }
  void synchronize() const { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }
  float elapsed_time(const CUDAEvent &other) const {
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, other.event_));
    return milliseconds;
  }

private:
  cudaEvent_t event_ = nullptr;
};
} // namespace at::cuda
