// What CCCL's kernels name beside CCCL: of headers that the host pass has no more than a namespace of, and C++'s own for devices.
#pragma once
#include <new>
__device__ inline void *operator new(std::size_t, void *place) noexcept { return place; }
__device__ inline void *operator new[](std::size_t, void *place) noexcept { return place; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
namespace cooperative_groups {
struct kg_block {};
__device__ kg_block this_thread_block();
template <class... A> __device__ void memcpy_async(A...);
template <class... A> __device__ void wait(A...);
}  // namespace cooperative_groups
