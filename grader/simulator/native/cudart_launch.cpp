// Launches: the way into the interpreter.

#include <chrono>
#include <cstring>

#include "cudart_module.hpp"
#include "graph.hpp"
#include "guard_alloc.hpp"
#include "launch_limits.hpp"
#include "occupancy.hpp"
#include "program.hpp"
#include "replay.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

thread_local std::vector<Configuration> pushed;

cudaError_t refuse(const HostKernel* kernel, const Refusal& refusal) {
    auto& state = runtime();
    {
        std::lock_guard lock(state.mutex);
        if (state.launch_errors.size() < 50)
            state.launch_errors.push_back({kernel ? kernel->shown : "", cudaGetErrorName(refusal.error),
                                           refusal.reason, refusal.limit, refusal.asked, refusal.most, false});
    }
    return finish(refusal.error);
}

constexpr const char* kIllegal = "CUDA error: an illegal memory access was encountered";
constexpr const char* kMisaligned = "CUDA error: misaligned address";
constexpr uint64_t kNull = uint64_t{1} << 20;

// Parameters whose address led there: null, or the host's memory.
std::vector<HostPointer> culprits(const HostKernel& kernel, void** args, uint64_t address) {
    std::vector<HostPointer> found;
    const bool null = address < kNull;
    for (size_t i = 0; i < kernel.info.params.size(); ++i) {
        if (kernel.info.params[i].size != sizeof(void*)) continue;
        const void* value;
        std::memcpy(&value, args[i], sizeof value);
        if (null ? value == nullptr : kgsim_kind(value) == kKindHost)
            found.push_back({kernel.name, static_cast<int>(i), null});
    }
    return found;
}

// A GPU stops at addresses that it has not mapped; what lies a little outside of a tensor is mapped,
// and stays a finding only.
void note_illegal_access(const HostKernel& kernel, void** args, const LaunchResult& result) {
    const auto address = result.outside_address;
    if (result.misaligned) make_sticky(cudaErrorMisalignedAddress, kMisaligned);
    if (result.shared_outside) make_sticky(cudaErrorIllegalAddress, kIllegal);
    const bool host = kgsim_kind(reinterpret_cast<const void*>(address)) == kKindHost;
    if (result.outside_by == 0 || (!host && !result.unmapped)) return;
    if (host || address < kNull) {
        auto& state = runtime();
        std::lock_guard lock(state.mutex);
        for (const auto& pointer : culprits(kernel, args, address))
            if (state.host_pointers.size() < 50) state.host_pointers.push_back(pointer);
    }
    make_sticky(cudaErrorIllegalAddress, kIllegal);
}

// A launch's outcome for the host code, from its `result`.
cudaError_t conclude(const LaunchResult& result) {
    auto& state = runtime();
    // Blocks wait for others that were left out, and zeros are no data: only memory is judged.
    if (state.settings.dry_run) return finish(state.sticky);
    switch (result.status) {
        case Status::ok:
            return finish(cudaSuccess);
        case Status::deadlock:
        case Status::livelock:
            state.hung = result.reason;
            make_sticky(cudaErrorLaunchTimeout, result.reason);
            return state.sticky;
        case Status::budget:
            state.over_budget = result.reason;
            make_sticky(cudaErrorLaunchTimeout, result.reason);
            return state.sticky;
        case Status::trapped:
            make_sticky(result.reason.find("assert") != std::string::npos ? cudaErrorAssert
                                                                           : cudaErrorLaunchFailure,
                        result.reason);
            return state.sticky;
        case Status::unsupported: {
            std::lock_guard lock(state.mutex);
            ++state.not_run[result.reason];
        }
            make_sticky(cudaErrorNotSupported, result.reason);
            return state.sticky;
        case Status::invalid:
            break;
    }
    return finish(cudaErrorInvalidValue);
}

// Seconds of one launch in a dry_run.
constexpr double kDryRun = 0.5;

Options options_of_launch() {
    auto& state = runtime();
    auto options = state.settings.options;
    if (state.settings.seconds > 0)
        options.seconds = std::max(state.settings.seconds - state.device_seconds, 0.01);
    if (state.settings.dry_run) options.seconds = std::min(options.seconds, kDryRun);
    return options;
}

void note_fit(const HostKernel& kernel, const dim3& block, size_t shared) {
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    const auto fit = occupancy(kernel, static_cast<int>(threads), shared);
    auto& state = runtime();
    std::lock_guard lock(state.mutex);
    if (state.fits.size() < 200)
        state.fits[kernel.name + ' ' + std::to_string(threads) + ' ' + std::to_string(shared)] = {
            threads, shared, registers_of(kernel), fit.blocks, fit.limiter};
}

uint64_t resident_blocks(const HostKernel& kernel, const dim3& block, size_t shared) {
    const auto each = occupancy(kernel, static_cast<int>(block.x * block.y * block.z), shared).blocks;
    return uint64_t(each) * runtime().settings.gpu.multiprocessors;
}

// A launch with more blocks or threads, where Settings::larger is set.
void enlarge(const HostKernel& kernel, Dim3& grid, Dim3& block) {
    const auto& settings = runtime().settings;
    if (kernel.name.find(settings.larger_kernel) == std::string::npos) return;
    uint32_t* const blocks[] = {&grid.x, &grid.y, &grid.z};
    uint32_t* const threads[] = {&block.x, &block.y};
    if (settings.larger >= 1 && settings.larger <= 3) ++*blocks[settings.larger - 1];
    const bool fits = 2 * block.product() <= uint64_t(runtime().settings.gpu.threads_per_block);
    if (settings.larger >= 4 && settings.larger <= 5 && fits) *threads[settings.larger - 4] *= 2;
}

Recorded recorded(const HostKernel& kernel, const dim3& grid, const dim3& block, void** args, size_t shared, bool cooperative) {
    Recorded one{kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, cooperative, {}};
    for (size_t k = 0; k < kernel.info.params.size(); ++k) {
        const auto* value = static_cast<const char*>(args[k]);
        one.values.emplace_back(value, value + kernel.info.params[k].size);
    }
    return one;
}

cudaError_t run(const HostKernel& kernel, const dim3& grid, const dim3& block, void** args,
                size_t shared, bool cooperative = false) {
    auto& state = runtime();
    note_fit(kernel, block, shared);
    if (state.settings.skip_kernels) return finish(cudaSuccess);
    note_launched(kernel.program);
    auto options = options_of_launch();
    options.resident_blocks = resident_blocks(kernel, block, shared);
    options.cooperative = cooperative;
    const InLaunch in_launch;
    const DeviceMemoryOpen open;
    if (recording()) record_launch(recorded(kernel, grid, block, args, shared, cooperative));
    Dim3 blocks{grid.x, grid.y, grid.z}, threads{block.x, block.y, block.z};
    enlarge(kernel, blocks, threads);
    std::vector<void*> given(args, args + kernel.info.params.size());
    const auto values = pass(kernel, blocks, given);
    const auto result = launch(kernel.program, kernel.name, blocks, threads, shared, given.data(), options);
    note_steps(result.lane_steps);
    state.device_seconds += result.seconds;
    // Events need a clock that goes forward: one made-up nanosecond for each 1000 lane steps.
    state.device_time += 2e-6 + 1e-12 * static_cast<double>(result.lane_steps);
    if (result.illegal_access) note_illegal_access(kernel, args, result);
    return conclude(result);
}

// A launch into a stream that may be captured: its arguments are what they are now.
cudaError_t hand_over(const HostKernel& kernel, const dim3& grid, const dim3& block, void** args,
                      size_t shared, cudaStream_t stream, bool cooperative = false) {
    if (!capturing()) return run(kernel, grid, block, args, shared, cooperative);
    return give(stream, [one = recorded(kernel, grid, block, args, shared, cooperative)] { return launch_again(one); });
}

cudaError_t launch_any(const void* function, const dim3& grid, const dim3& block, void** args,
                       size_t shared, cudaStream_t stream) {
    const auto* kernel = kernel_of(function);
    const auto refusal = check(kernel, grid, block, shared);
    if (refusal.error != cudaSuccess) return refuse(kernel, refusal);
    return hand_over(*kernel, grid, block, args, shared, stream);
}

}  // namespace

cudaError_t kgsim::launch_again(const Recorded& launch) {
    std::vector<void*> pointers;
    for (const auto& value : launch.values) pointers.push_back(const_cast<char*>(value.data()));
    const auto &grid = launch.grid, &block = launch.block;
    return run(launch.kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, pointers.data(), launch.shared, launch.cooperative);
}

KG_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
    pushed.push_back({grid, block, shared, static_cast<cudaStream_t>(stream)});
    return 0;
}

KG_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (pushed.empty()) return finish(cudaErrorInvalidConfiguration);
    const auto top = pushed.back();
    pushed.pop_back();
    *grid = top.grid;
    *block = top.block;
    *shared = top.shared;
    *static_cast<cudaStream_t*>(stream) = top.stream;
    return cudaSuccess;
}

KG_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                                    size_t shared, cudaStream_t stream) {
    KG_ENTER("cudaLaunchKernel");
    return launch_any(function, grid, block, args, shared, stream);
}

// nvcc 13's stubs ask for a handle once and launch by it; ours is the stub itself.
KG_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
}

KG_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                      size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, args, shared, stream);
}

KG_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                       void** args) {
    KG_ENTER("cudaLaunchKernelExC");
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const auto& attribute = config->attrs[i];
        if (attribute.id == cudaLaunchAttributeClusterDimension &&
            attribute.val.clusterDim.x * attribute.val.clusterDim.y * attribute.val.clusterDim.z > 1)
            return missing("thread block clusters");
        if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative)
            return cudaLaunchCooperativeKernel(function, config->gridDim, config->blockDim, args,
                                               config->dynamicSmemBytes, config->stream);
    }
    return launch_any(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                      config->stream);
}

KG_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                                               size_t shared, cudaStream_t stream) {
    KG_ENTER("cudaLaunchCooperativeKernel");
    const auto* kernel = kernel_of(function);
    const auto refusal = check(kernel, grid, block, shared);
    if (refusal.error != cudaSuccess) return refuse(kernel, refusal);
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    const uint64_t resident = resident_blocks(*kernel, block, shared);
    if (blocks > resident)
        return refuse(kernel, {cudaErrorCooperativeLaunchTooLarge,
                               words("%llu blocks are launched together; %llu fit on the GPU",
                                     static_cast<unsigned long long>(blocks),
                                     static_cast<unsigned long long>(resident)),
                               "resident-blocks", blocks, resident});
    return hand_over(*kernel, grid, block, args, shared, stream, true);
}
