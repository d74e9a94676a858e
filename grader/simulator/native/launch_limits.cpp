#include "launch_limits.hpp"

#include <algorithm>

#include "occupancy.hpp"

namespace kgsim {
namespace {

Refusal check_shape(const dim3& grid, const dim3& block, const Gpu& gpu) {
    constexpr auto invalid = cudaErrorInvalidConfiguration;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return {invalid, words("the grid is %u x %u x %u blocks, that is none", grid.x, grid.y, grid.z), "grid"};
    if (block.x == 0 || block.y == 0 || block.z == 0)
        return {invalid, words("a block has %u x %u x %u threads, that is none", block.x, block.y, block.z), "block"};
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    if (threads > static_cast<uint64_t>(gpu.threads_per_block))
        return {invalid, words("a block has %llu threads (%u x %u x %u); the limit is %d",
                               static_cast<unsigned long long>(threads), block.x, block.y, block.z,
                               gpu.threads_per_block),
                "block", threads, static_cast<uint64_t>(gpu.threads_per_block)};
    if (block.z > 64) return {invalid, words("a block has %u layers in z; the limit is 64", block.z), "block", block.z, 64};
    if (grid.x > 0x7FFFFFFFu)
        return {invalid, words("the grid has %u blocks in x; the limit is 2147483647", grid.x), "grid", grid.x, 0x7FFFFFFFu};
    if (grid.y > 65535)
        return {invalid, words("the grid has %u blocks in y; the limit is 65535", grid.y), "grid", grid.y, 65535};
    if (grid.z > 65535)
        return {invalid, words("the grid has %u blocks in z; the limit is 65535", grid.z), "grid", grid.z, 65535};
    return {};
}

Refusal check_resources(const HostKernel& kernel, const dim3& block, size_t shared, const Gpu& gpu) {
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    const uint64_t allowed = kernel.dynamic_shared_limit > 0
                                 ? kernel.dynamic_shared_limit + uint64_t{kernel.info.static_shared}
                                 : gpu.shared_per_block;
    const uint64_t total = shared + kernel.info.static_shared;
    if (total > std::max<uint64_t>(allowed, gpu.shared_per_block))
        return {cudaErrorInvalidValue,
                words("a block asks for %llu bytes of shared memory (%zu dynamic, %u static); it may "
                      "have %llu%s",
                      static_cast<unsigned long long>(total), shared, kernel.info.static_shared,
                      static_cast<unsigned long long>(allowed),
                      total <= gpu.shared_per_block_optin && kernel.dynamic_shared_limit == 0
                          ? " without cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize)"
                          : ""),
                "shared-memory", total, allowed};
    const uint64_t bound = kernel.info.max_threads;
    if (bound && threads > bound)
        return {cudaErrorInvalidValue,
                words("a block has %llu threads; __launch_bounds__ allows %llu",
                      static_cast<unsigned long long>(threads), static_cast<unsigned long long>(bound)),
                "launch-bounds", threads, bound};
    const int registers = registers_of(kernel);
    const auto needed = block_registers(registers, static_cast<int>(threads));
    if (registers && needed > gpu.registers_per_block)
        return {cudaErrorLaunchOutOfResources,
                words("%llu threads of %d registers need %d registers; a block may have %d",
                      static_cast<unsigned long long>(threads), registers, needed,
                      gpu.registers_per_block),
                "registers", static_cast<uint64_t>(needed), static_cast<uint64_t>(gpu.registers_per_block)};
    return {};
}

}  // namespace

Refusal check(const HostKernel* kernel, const dim3& grid, const dim3& block, size_t shared) {
    const auto& gpu = runtime().settings.gpu;
    if (kernel == nullptr)
        return {cudaErrorInvalidDeviceFunction, "the launched function is no registered kernel"};
    if (auto refusal = check_shape(grid, block, gpu); refusal.error) return refusal;
    if (!kernel->program || kernel->name.empty())
        return {cudaErrorInvalidDeviceFunction, "the kernel's device code is not in the program"};
    return check_resources(*kernel, block, shared, gpu);
}

}  // namespace kgsim
