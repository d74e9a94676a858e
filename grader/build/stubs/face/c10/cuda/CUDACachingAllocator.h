#pragma once
#include <c10/cuda/CUDAStream.h>

namespace c10::cuda::CUDACachingAllocator {
inline void *raw_alloc(size_t bytes) {
  void *memory = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&memory, bytes));
  return memory;
}
inline void *raw_alloc_with_stream(size_t bytes, cudaStream_t) { return raw_alloc(bytes); }
inline void raw_delete(void *memory) { C10_CUDA_CHECK(cudaFree(memory)); }
inline void emptyCache() {}
template <class... A>
void recordStream(const A &...) {}
} // namespace c10::cuda::CUDACachingAllocator
