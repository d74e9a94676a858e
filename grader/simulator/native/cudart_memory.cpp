// Memory: allocation, copies, fills, symbols, what a pointer is.

#include <algorithm>
#include <cstring>

#include "cudart_module.hpp"
#include "guard_alloc.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool on_device(const void* pointer) {
    const int kind = kgsim_kind(pointer);
    if (kind >= 0) return kind != kKindHost;
    const auto region = find_region(address(pointer));
    return region && region->kind != RegionKind::host;
}

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

// Whether `bytes` from `pointer` lie in one piece of device memory; a host pointer is its own risk.
bool within(const void* pointer, size_t bytes) {
    const auto region = find_region(address(pointer));
    if (!region) return true;
    return address(pointer) + bytes <= region->base + region->size;
}

cudaError_t check_copy(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
    if (!within(to, bytes) || !within(from, bytes)) return cudaErrorInvalidValue;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault || kind == cudaMemcpyHostToHost) return cudaSuccess;
    if (to_device != on_device(to) || from_device != on_device(from)) {
        const bool pinned = kgsim_kind(to) >= kKindPinned || kgsim_kind(from) >= kKindPinned;
        return pinned ? cudaSuccess : cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

// In a rehearsal large memory stays untouched.
bool left_out(size_t bytes) { return runtime().settings.rehearsal && bytes > (size_t{64} << 20); }

void note_copy_to_host(size_t bytes) {
    const auto so_far = runtime().bytes_to_host += bytes;
    if (bytes >= kValues || so_far >= 16 * kValues) count_call("values to the host");
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return finish(cudaSuccess);
    const auto error = check_copy(to, from, bytes, kind);
    if (error != cudaSuccess) return finish(error);
    if (on_device(from) && !on_device(to)) note_copy_to_host(bytes);
    const DeviceMemoryOpen open;
    if (!left_out(bytes)) std::memmove(to, from, bytes);
    copy_initialised(address(to), address(from), bytes);
    return finish(cudaSuccess);
}

cudaError_t fill(void* to, int value, size_t bytes) {
    if (bytes == 0) return finish(cudaSuccess);
    if (!on_device(to) || !within(to, bytes)) return finish(cudaErrorInvalidValue);
    const DeviceMemoryOpen open;
    const bool done = left_out(bytes) || (value == 0 && kgsim_zero(to, bytes));
    if (!done) std::memset(to, value, bytes);
    mark_initialised(address(to), bytes);
    return finish(cudaSuccess);
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, cudaMemcpyKind kind) {
    if (width > to_pitch || width > from_pitch) return finish(cudaErrorInvalidPitchValue);
    for (size_t row = 0; row < height; ++row) {
        const auto error = copy(static_cast<char*>(to) + row * to_pitch,
                                static_cast<const char*>(from) + row * from_pitch, width, kind);
        if (error != cudaSuccess) return error;
    }
    return finish(cudaSuccess);
}

cudaError_t symbol_range(const void* symbol, size_t offset, size_t bytes, char** out) {
    const auto variable = variable_of(symbol);
    if (!variable) return cudaErrorInvalidSymbol;
    if (offset > variable->size || bytes > variable->size - offset) return cudaErrorInvalidValue;
    *out = reinterpret_cast<char*>(variable->address) + offset;
    return cudaSuccess;
}

cudaError_t to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset) {
    char* to = nullptr;
    const auto error = symbol_range(symbol, offset, bytes, &to);
    if (error != cudaSuccess) return finish(error);
    if (from == nullptr && bytes) return finish(cudaErrorInvalidValue);
    const DeviceMemoryOpen open;
    std::memcpy(to, from, bytes);
    mark_initialised(address(to), bytes);
    return finish(cudaSuccess);
}

cudaError_t from_symbol(void* to, const void* symbol, size_t bytes, size_t offset) {
    char* from = nullptr;
    const auto error = symbol_range(symbol, offset, bytes, &from);
    if (error != cudaSuccess) return finish(error);
    if (to == nullptr && bytes) return finish(cudaErrorInvalidValue);
    const DeviceMemoryOpen open;
    std::memcpy(to, from, bytes);
    copy_initialised(address(to), address(from), bytes);
    return finish(cudaSuccess);
}

}  // namespace

KG_API cudaError_t cudaMalloc(void** out, size_t bytes) {
    KG_ENTER("cudaMalloc");
    return allocate(out, bytes, kKindDevice);
}

KG_API cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t) {
    KG_ENTER("cudaMallocAsync");
    return allocate(out, bytes, kKindDevice);
}

KG_API cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
    KG_ENTER("cudaMallocManaged");
    return allocate(out, bytes, kKindManaged);
}

KG_API cudaError_t cudaMallocHost(void** out, size_t bytes) {
    KG_ENTER("cudaMallocHost");
    return allocate(out, bytes, kKindPinned);
}

KG_API cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
    KG_ENTER("cudaHostAlloc");
    return allocate(out, bytes, kKindPinned);
}

KG_API cudaError_t cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
    KG_ENTER("cudaMallocPitch");
    if (pitch == nullptr) return finish(cudaErrorInvalidValue);
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, *pitch * height, kKindDevice);
}

KG_API cudaError_t cudaFree(void* data) {
    KG_ENTER("cudaFree");
    return release(data, false);
}

KG_API cudaError_t cudaFreeAsync(void* data, cudaStream_t) {
    KG_ENTER("cudaFreeAsync");
    return release(data, false);
}

KG_API cudaError_t cudaFreeHost(void* data) {
    KG_ENTER("cudaFreeHost");
    return release(data, true);
}

KG_API cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned) {
    KG_ENTER("cudaHostRegister");
    if (data == nullptr || bytes == 0) return finish(cudaErrorInvalidValue);
    add_region(address(data), bytes, "registered host memory", RegionKind::allocation);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaHostUnregister(void* data) {
    KG_ENTER("cudaHostUnregister");
    return finish(free_region(address(data)) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

KG_API cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned) {
    KG_ENTER("cudaHostGetDevicePointer");
    if (out == nullptr || !on_device(host)) return finish(cudaErrorInvalidValue);
    *out = host;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    KG_ENTER("cudaMemcpy");
    return copy(to, from, bytes, kind);
}

KG_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t) {
    KG_ENTER("cudaMemcpyAsync");
    return copy(to, from, bytes, kind);
}

KG_API cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    KG_ENTER("cudaMemcpyPeer");
    return copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

KG_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
    KG_ENTER("cudaMemcpy2D");
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}

KG_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t) {
    KG_ENTER("cudaMemcpy2DAsync");
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}

KG_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    KG_ENTER("cudaMemset");
    return fill(to, value, bytes);
}

KG_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
    KG_ENTER("cudaMemsetAsync");
    return fill(to, value, bytes);
}

KG_API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    KG_ENTER("cudaMemset2D");
    for (size_t row = 0; row < height; ++row)
        if (const auto error = fill(static_cast<char*>(to) + row * pitch, value, width)) return error;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t) {
    return cudaMemset2D(to, pitch, value, width, height);
}

KG_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                      size_t offset, cudaMemcpyKind) {
    KG_ENTER("cudaMemcpyToSymbol");
    return to_symbol(symbol, from, bytes, offset);
}

KG_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                           size_t offset, cudaMemcpyKind, cudaStream_t) {
    KG_ENTER("cudaMemcpyToSymbolAsync");
    return to_symbol(symbol, from, bytes, offset);
}

KG_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                        cudaMemcpyKind) {
    KG_ENTER("cudaMemcpyFromSymbol");
    return from_symbol(to, symbol, bytes, offset);
}

KG_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind, cudaStream_t) {
    KG_ENTER("cudaMemcpyFromSymbolAsync");
    return from_symbol(to, symbol, bytes, offset);
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
