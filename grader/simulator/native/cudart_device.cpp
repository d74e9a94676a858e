// The GPU's properties, as host code queries them.

#include <cstring>

#include "graph.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

// Fields that some versions of the struct have and others don't.
#define KG_FIELD(properties, field, value)                             \
    [&](auto& p) {                                                     \
        if constexpr (requires { p.field; }) p.field = value;          \
    }(properties)

template <class Properties>
void fill(Properties& out) {
    const auto& gpu = runtime().settings.gpu;
    std::memset(&out, 0, sizeof out);
    std::strncpy(out.name, gpu.name.c_str(), sizeof out.name - 1);
    std::memcpy(&out.uuid, "kernel-grader-sm", 16);
    out.totalGlobalMem = gpu.memory;
    out.sharedMemPerBlock = gpu.shared_per_block;
    out.regsPerBlock = gpu.registers_per_block;
    out.warpSize = 32;
    out.memPitch = 2147483647;
    out.maxThreadsPerBlock = gpu.threads_per_block;
    out.maxThreadsDim[0] = out.maxThreadsDim[1] = 1024;
    out.maxThreadsDim[2] = 64;
    out.maxGridSize[0] = 2147483647;
    out.maxGridSize[1] = out.maxGridSize[2] = 65535;
    out.totalConstMem = 65536;
    out.major = gpu.major;
    out.minor = gpu.minor;
    out.textureAlignment = 512;
    out.texturePitchAlignment = 32;
    out.multiProcessorCount = gpu.multiprocessors;
    out.canMapHostMemory = 1;
    out.maxTexture1D = 131072;
    out.maxTexture2D[0] = 131072;
    out.maxTexture2D[1] = 65536;
    out.maxTexture3D[0] = out.maxTexture3D[1] = out.maxTexture3D[2] = 16384;
    out.surfaceAlignment = 512;
    out.concurrentKernels = 1;
    out.ECCEnabled = 1;
    out.pciBusID = 1;
    out.asyncEngineCount = 3;
    out.unifiedAddressing = 1;
    out.memoryBusWidth = gpu.memory_bus;
    out.l2CacheSize = gpu.l2_cache;
    out.persistingL2CacheMaxSize = gpu.major >= 8 ? gpu.l2_cache / 8 * 5 : 0;
    out.maxThreadsPerMultiProcessor = gpu.threads_per_multiprocessor;
    out.streamPrioritiesSupported = 1;
    out.globalL1CacheSupported = out.localL1CacheSupported = 1;
    out.sharedMemPerMultiprocessor = gpu.shared_per_multiprocessor;
    out.regsPerMultiprocessor = gpu.registers_per_multiprocessor;
    out.managedMemory = out.concurrentManagedAccess = 1;
    out.computePreemptionSupported = 1;
    out.cooperativeLaunch = 1;
    out.sharedMemPerBlockOptin = gpu.shared_per_block_optin;
    out.maxBlocksPerMultiProcessor = gpu.blocks_per_multiprocessor;
    out.accessPolicyMaxWindowSize = gpu.major >= 8 ? 134217728 : 0;
    out.reservedSharedMemPerBlock = gpu.shared_reserved;
    KG_FIELD(out, clockRate, gpu.clock);
    KG_FIELD(out, memoryClockRate, gpu.memory_clock);
    KG_FIELD(out, singleToDoublePrecisionPerfRatio, 2);
    KG_FIELD(out, deviceOverlap, 1);
    KG_FIELD(out, cooperativeMultiDeviceLaunch, 1);
    KG_FIELD(out, hostRegisterSupported, 1);
    KG_FIELD(out, memoryPoolsSupported, 1);
    KG_FIELD(out, clusterLaunch, gpu.major >= 9 ? 1 : 0);
}

// The value of an attribute, or -1 for one that isn't known.
int64_t value_of(cudaDeviceAttr attribute) {
    const auto& gpu = runtime().settings.gpu;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return gpu.threads_per_block;
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: return 1024;
        case cudaDevAttrMaxBlockDimZ: return 64;
        case cudaDevAttrMaxGridDimX: return 2147483647;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: return 65535;
        case cudaDevAttrMaxSharedMemoryPerBlock: return gpu.shared_per_block;
        case cudaDevAttrTotalConstantMemory: return 65536;
        case cudaDevAttrWarpSize: return 32;
        case cudaDevAttrMaxPitch: return 2147483647;
        case cudaDevAttrMaxRegistersPerBlock: return gpu.registers_per_block;
        case cudaDevAttrClockRate: return gpu.clock;
        case cudaDevAttrMemoryClockRate: return gpu.memory_clock;
        case cudaDevAttrGlobalMemoryBusWidth: return gpu.memory_bus;
        case cudaDevAttrTextureAlignment:
        case cudaDevAttrSurfaceAlignment: return 512;
        case cudaDevAttrMultiProcessorCount: return gpu.multiprocessors;
        case cudaDevAttrL2CacheSize: return gpu.l2_cache;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return gpu.threads_per_multiprocessor;
        case cudaDevAttrAsyncEngineCount: return 3;
        case cudaDevAttrComputeCapabilityMajor: return gpu.major;
        case cudaDevAttrComputeCapabilityMinor: return gpu.minor;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return gpu.shared_per_multiprocessor;
        case cudaDevAttrMaxRegistersPerMultiprocessor: return gpu.registers_per_multiprocessor;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return gpu.shared_per_block_optin;
        case cudaDevAttrMaxBlocksPerMultiprocessor: return gpu.blocks_per_multiprocessor;
        case cudaDevAttrReservedSharedMemoryPerBlock: return gpu.shared_reserved;
        case cudaDevAttrMaxPersistingL2CacheSize:
            return gpu.major >= 8 ? gpu.l2_cache / 8 * 5 : 0;
        case cudaDevAttrMaxAccessPolicyWindowSize: return gpu.major >= 8 ? 134217728 : 0;
        case cudaDevAttrGpuOverlap:
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrEccEnabled:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrGlobalL1CacheSupported:
        case cudaDevAttrLocalL1CacheSupported:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrHostRegisterSupported: return 1;
        case cudaDevAttrClusterLaunch: return gpu.major >= 9;
        case cudaDevAttrIntegrated:
        case cudaDevAttrKernelExecTimeout:
        case cudaDevAttrComputeMode:
        case cudaDevAttrTccDriver:
        case cudaDevAttrPageableMemoryAccess:
        case cudaDevAttrIsMultiGpuBoard:
        case cudaDevAttrPciDomainId:
        case cudaDevAttrPciDeviceId: return 0;
        case cudaDevAttrPciBusId: return 1;
        default: return -1;
    }
}

}  // namespace

#undef cudaGetDeviceProperties  // CUDA 12's headers rename it to the _v2 below

KG_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
    KG_ENTER("cudaGetDeviceProperties");
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    if (device != 0) return finish(cudaErrorInvalidDevice);
    fill(*out);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* out, int device) {
    return cudaGetDeviceProperties(out, device);
}

KG_API cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int device) {
    KG_ENTER("cudaDeviceGetAttribute");
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    if (device != 0) return finish(cudaErrorInvalidDevice);
    const auto value = value_of(attribute);
    if (value < 0)
        return missing(("device attribute " + std::to_string(static_cast<int>(attribute))).c_str());
    *out = static_cast<int>(value);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGetDeviceCount(int* count) {
    KG_ENTER("cudaGetDeviceCount");
    if (count == nullptr) return finish(cudaErrorInvalidValue);
    *count = 1;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGetDevice(int* device) {
    KG_ENTER("cudaGetDevice");
    if (device == nullptr) return finish(cudaErrorInvalidValue);
    *device = 0;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaSetDevice(int device) {
    KG_ENTER("cudaSetDevice");
    return finish(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

// Launches have finished when they return, so asynchronous errors have already been reported.
KG_API cudaError_t cudaDeviceSynchronize() {
    KG_ENTER("cudaDeviceSynchronize");
    return forbidden();
}

KG_API cudaError_t cudaDeviceReset() {
    KG_ENTER("cudaDeviceReset");
    return forbidden();
}

KG_API cudaError_t cudaRuntimeGetVersion(int* version) {
    KG_ENTER("cudaRuntimeGetVersion");
    *version = CUDART_VERSION;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaDriverGetVersion(int* version) {
    KG_ENTER("cudaDriverGetVersion");
    *version = CUDART_VERSION;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    KG_ENTER("cudaDeviceCanAccessPeer");
    *can = 0;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    KG_ENTER("cudaDeviceGetLimit");
    if (value == nullptr) return finish(cudaErrorInvalidValue);
    *value = limit == cudaLimitStackSize          ? 1024
             : limit == cudaLimitPrintfFifoSize   ? 1048576
             : limit == cudaLimitMallocHeapSize   ? 8388608
                                                  : 0;
    return finish(cudaSuccess);
}
