// Memory: allocation, what a pointer is.

#include <algorithm>

#include "cudart_module.hpp"
#include "graph.hpp"
#include "guard_alloc.hpp"
#include "runtime.hpp"

namespace kgsim {

bool on_device(const void* pointer) {
    const int kind = kgsim_kind(pointer);
    if (kind >= 0) return kind != kKindHost;
    const auto region = find_region(reinterpret_cast<uint64_t>(pointer));
    return region && region->kind != RegionKind::host;
}

}  // namespace kgsim

using namespace kgsim;

namespace {

cudaError_t allocate(void** out, size_t bytes, int kind) {
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    *out = nullptr;
    if (bytes == 0) return finish(cudaSuccess);
    *out = kgsim_alloc(bytes, kind);
    return finish(*out == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t release(void* data, bool host) {
    if (data == nullptr) return finish(cudaSuccess);
    const int kind = kgsim_kind(data);
    const auto region = find_region(address(data));
    if (kind < 0 || (kind == kKindPinned) != host || (region && region->base != address(data)))
        return finish(cudaErrorInvalidValue);
    kgsim_free(data);
    return finish(cudaSuccess);
}

}  // namespace

KG_API cudaError_t cudaMalloc(void** out, size_t bytes) {
    KG_ENTER("cudaMalloc");
    if (const auto error = unsafe()) return error;
    return allocate(out, bytes, kKindDevice);
}

KG_API cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t) {
    KG_ENTER("cudaMallocAsync");
    return allocate(out, bytes, kKindDevice);
}

KG_API cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
    KG_ENTER("cudaMallocManaged");
    if (const auto error = unsafe()) return error;
    return allocate(out, bytes, kKindManaged);
}

KG_API cudaError_t cudaMallocHost(void** out, size_t bytes) {
    KG_ENTER("cudaMallocHost");
    if (const auto error = unsafe()) return error;
    return allocate(out, bytes, kKindPinned);
}

KG_API cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
    KG_ENTER("cudaHostAlloc");
    if (const auto error = unsafe()) return error;
    return allocate(out, bytes, kKindPinned);
}

KG_API cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
    KG_ENTER("cudaMallocPitch");
    if (const auto error = unsafe()) return error;
    if (pitch == nullptr) return finish(cudaErrorInvalidValue);
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, *pitch * height, kKindDevice);
}

KG_API cudaError_t cudaFree(void* data) {
    KG_ENTER("cudaFree");
    if (const auto error = unsafe()) return error;
    return release(data, false);
}

KG_API cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    KG_ENTER("cudaFreeAsync");
    return give(stream, [=] { return release(data, false); });
}

KG_API cudaError_t cudaFreeHost(void* data) {
    KG_ENTER("cudaFreeHost");
    if (const auto error = unsafe()) return error;
    return release(data, true);
}

KG_API cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned) {
    KG_ENTER("cudaHostRegister");
    if (const auto error = unsafe()) return error;
    if (data == nullptr || bytes == 0) return finish(cudaErrorInvalidValue);
    add_region(address(data), bytes, "registered host memory", RegionKind::allocation);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaHostUnregister(void* data) {
    KG_ENTER("cudaHostUnregister");
    if (const auto error = unsafe()) return error;
    return finish(free_region(address(data)) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

KG_API cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned) {
    KG_ENTER("cudaHostGetDevicePointer");
    if (out == nullptr || !on_device(host)) return finish(cudaErrorInvalidValue);
    *out = host;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGetSymbolAddress(void** out, const void* symbol) {
    KG_ENTER("cudaGetSymbolAddress");
    const auto variable = variable_of(symbol);
    if (!variable || out == nullptr) return finish(cudaErrorInvalidSymbol);
    *out = reinterpret_cast<void*>(variable->address);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGetSymbolSize(size_t* out, const void* symbol) {
    KG_ENTER("cudaGetSymbolSize");
    const auto variable = variable_of(symbol);
    if (!variable || out == nullptr) return finish(cudaErrorInvalidSymbol);
    *out = variable->size;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* pointer) {
    KG_ENTER("cudaPointerGetAttributes");
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    *out = {};
    const int kind = kgsim_kind(pointer);
    out->device = kind > kKindHost ? 0 : -2;
    out->type = kind == kKindDevice    ? cudaMemoryTypeDevice
                : kind == kKindManaged ? cudaMemoryTypeManaged
                : kind == kKindPinned  ? cudaMemoryTypeHost
                                       : cudaMemoryTypeUnregistered;
    if (kind > kKindHost) out->devicePointer = const_cast<void*>(pointer);
    if (kind >= kKindPinned) out->hostPointer = const_cast<void*>(pointer);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    KG_ENTER("cudaMemGetInfo");
    if (free_bytes == nullptr || total == nullptr) return finish(cudaErrorInvalidValue);
    *total = runtime().settings.gpu.memory;
    *free_bytes = *total - std::min<size_t>(*total, kgsim_memory(0));
    return finish(cudaSuccess);
}
