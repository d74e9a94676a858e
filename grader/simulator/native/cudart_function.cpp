// Attributes of kernels, and occupancy.

#include <algorithm>

#include "occupancy.hpp"
#include "runtime.hpp"

namespace kgsim {

int registers_of(const HostKernel& kernel) {
    const auto& known = runtime().registers;
    for (const auto& name : {kernel.name, kernel.readable})
        if (const auto found = known.find(name); found != known.end()) return found->second;
    return 0;
}

int block_registers(int registers, int threads) {
    const int warps = (threads + 31) / 32;
    return warps * ((registers * 32 + 255) / 256 * 256);
}

// As NVIDIA's occupancy calculator: each resource alone, the smallest count wins.
Occupancy occupancy(const HostKernel& kernel, int threads, size_t dynamic_shared) {
    const auto& gpu = runtime().settings.gpu;
    if (threads <= 0 || threads > gpu.threads_per_block) return {0, "threads"};
    const int warps = (threads + 31) / 32;
    Occupancy best{gpu.blocks_per_multiprocessor, "blocks"};
    const auto take = [&best](uint64_t blocks, const char* limiter) {
        if (blocks < static_cast<uint64_t>(best.blocks)) best = {static_cast<int>(blocks), limiter};
    };
    take(gpu.threads_per_multiprocessor / (warps * 32), "threads");
    if (const int registers = registers_of(kernel))
        take(gpu.registers_per_multiprocessor / std::max(block_registers(registers, threads), 1),
             "registers");
    const uint64_t shared = kernel.info.static_shared + dynamic_shared;
    if (shared > gpu.shared_per_block_optin) return {0, "shared memory"};
    const uint64_t per_block = (shared + gpu.shared_reserved + 127) / 128 * 128;
    if (per_block) take(gpu.shared_per_multiprocessor / per_block, "shared memory");
    return best;
}

}  // namespace kgsim

using namespace kgsim;

KG_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    KG_ENTER("cudaFuncSetAttribute");
    auto* kernel = kernel_of(function);
    if (kernel == nullptr) return finish(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (value < -1 || value > 100) return finish(cudaErrorInvalidValue);
        kernel->carveout = value;
        return finish(cudaSuccess);
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return finish(cudaSuccess);
    const auto& gpu = runtime().settings.gpu;
    const int64_t limit = static_cast<int64_t>(gpu.shared_per_block_optin) - kernel->info.static_shared;
    if (value < 0 || value > limit) return finish(cudaErrorInvalidValue);
    kernel->dynamic_shared_limit = value;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
    KG_ENTER("cudaFuncSetCacheConfig");
    return finish(kernel_of(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

KG_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
    KG_ENTER("cudaFuncGetAttributes");
    const auto* kernel = kernel_of(function);
    if (kernel == nullptr || out == nullptr) return finish(cudaErrorInvalidDeviceFunction);
    const auto& gpu = runtime().settings.gpu;
    *out = {};
    out->sharedSizeBytes = kernel->info.static_shared;
    out->localSizeBytes = kernel->info.local_bytes;
    out->numRegs = registers_of(*kernel);
    out->maxThreadsPerBlock = kernel->info.max_threads ? static_cast<int>(kernel->info.max_threads)
                                                       : gpu.threads_per_block;
    while (out->numRegs && block_registers(out->numRegs, out->maxThreadsPerBlock) > gpu.registers_per_block)
        out->maxThreadsPerBlock -= 32;
    out->ptxVersion = out->binaryVersion = gpu.major * 10 + gpu.minor;
    out->maxDynamicSharedSizeBytes =
        kernel->dynamic_shared_limit > 0
            ? kernel->dynamic_shared_limit
            : static_cast<int>(gpu.shared_per_block) - static_cast<int>(kernel->info.static_shared);
    out->preferredShmemCarveout = kernel->carveout;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                 int threads, size_t shared) {
    KG_ENTER("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const auto* kernel = kernel_of(function);
    if (kernel == nullptr) return finish(cudaErrorInvalidDeviceFunction);
    if (blocks == nullptr || threads <= 0) return finish(cudaErrorInvalidValue);
    *blocks = occupancy(*kernel, threads, shared).blocks;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                          const void* function,
                                                                          int threads, size_t shared,
                                                                          unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

KG_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                             int blocks, int) {
    KG_ENTER("cudaOccupancyAvailableDynamicSMemPerBlock");
    const auto* kernel = kernel_of(function);
    if (kernel == nullptr) return finish(cudaErrorInvalidDeviceFunction);
    if (bytes == nullptr || blocks <= 0) return finish(cudaErrorInvalidValue);
    const auto& gpu = runtime().settings.gpu;
    const auto share = static_cast<int64_t>(gpu.shared_per_multiprocessor / blocks / 128 * 128) -
                       static_cast<int64_t>(gpu.shared_reserved + kernel->info.static_shared);
    *bytes = static_cast<size_t>(std::max<int64_t>(share, 0));
    return finish(cudaSuccess);
}
