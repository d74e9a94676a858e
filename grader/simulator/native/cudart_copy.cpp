// Copies and fills of memory and of symbols.

#include <cstring>

#include "cudart_module.hpp"
#include "graph.hpp"
#include "guard_alloc.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

// Whether `bytes` from `pointer` lie in one allocation of device memory; host pointers are not checked.
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

// In a dry_run large memory stays untouched.
bool left_out(size_t bytes) { return runtime().settings.dry_run && bytes > (size_t{64} << 20); }

void note_copy_to_host(size_t bytes) {
    const auto so_far = runtime().bytes_to_host += bytes;
    if (bytes >= kValues || so_far >= 16 * kValues) count_call("values to the host");
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return finish(cudaSuccess);
    const auto error = check_copy(to, from, bytes, kind);
    if (error != cudaSuccess) return finish(error);
    if (on_device(from) && !on_device(to)) note_copy_to_host(bytes);
    note_read(address(from));
    const DeviceMemoryOpen open;
    if (!left_out(bytes) && !kgsim_copy(to, from, bytes)) std::memmove(to, from, bytes);
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

cudaError_t fill_rows(void* to, size_t pitch, int value, size_t width, size_t height) {
    for (size_t row = 0; row < height; ++row)
        if (const auto error = fill(static_cast<char*>(to) + row * pitch, value, width)) return error;
    return finish(cudaSuccess);
}

}  // namespace

KG_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    KG_ENTER("cudaMemcpy");
    if (const auto error = waits()) return error;
    return copy(to, from, bytes, kind);
}

KG_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    KG_ENTER("cudaMemcpyAsync");
    return give(stream, [=] { return copy(to, from, bytes, kind); });
}

KG_API cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    KG_ENTER("cudaMemcpyPeer");
    if (const auto error = waits()) return error;
    return copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

KG_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
    KG_ENTER("cudaMemcpy2D");
    if (const auto error = waits()) return error;
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}

KG_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
    KG_ENTER("cudaMemcpy2DAsync");
    return give(stream, [=] { return copy_rows(to, to_pitch, from, from_pitch, width, height, kind); });
}

KG_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    KG_ENTER("cudaMemset");
    return give(nullptr, [=] { return fill(to, value, bytes); });
}

KG_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    KG_ENTER("cudaMemsetAsync");
    return give(stream, [=] { return fill(to, value, bytes); });
}

KG_API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    KG_ENTER("cudaMemset2D");
    return give(nullptr, [=] { return fill_rows(to, pitch, value, width, height); });
}

KG_API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream) {
    KG_ENTER("cudaMemset2DAsync");
    return give(stream, [=] { return fill_rows(to, pitch, value, width, height); });
}

KG_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                      size_t offset, cudaMemcpyKind) {
    KG_ENTER("cudaMemcpyToSymbol");
    if (const auto error = waits()) return error;
    return to_symbol(symbol, from, bytes, offset);
}

KG_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                           size_t offset, cudaMemcpyKind,
                                           cudaStream_t stream) {
    KG_ENTER("cudaMemcpyToSymbolAsync");
    return give(stream, [=] { return to_symbol(symbol, from, bytes, offset); });
}

KG_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                        cudaMemcpyKind) {
    KG_ENTER("cudaMemcpyFromSymbol");
    if (const auto error = waits()) return error;
    return from_symbol(to, symbol, bytes, offset);
}

KG_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind,
                                             cudaStream_t stream) {
    KG_ENTER("cudaMemcpyFromSymbolAsync");
    return give(stream, [=] { return from_symbol(to, symbol, bytes, offset); });
}
