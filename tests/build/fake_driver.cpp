// Memory of the host in the place of a GPU's: what guard_zones.cpp asks of CUDA's driver.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {
size_t taken = 0, limit = SIZE_MAX;
int capturing = 0, lost = 0, mode = 0, waits = 0;
}  // namespace

extern "C" {
void fake_limit(size_t bytes) { limit = bytes; }
void fake_capture(int on) { capturing = on; }
void fake_lose(int on) { lost = on; }
size_t fake_taken() { return taken; }
int fake_mode() { return mode; }

int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
    if (lost || taken + bytes > limit || (capturing && mode != 2)) return 2;
    taken += bytes;
    void* const memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    *at = reinterpret_cast<uint64_t>(memory);
    return 0;
}
int cuMemsetD32Async(uint64_t at, unsigned value, size_t count, void*) {
    if (lost || at % 4) return 1;
    for (size_t k = 0; k < count; ++k) std::memcpy(reinterpret_cast<void*>(at + 4 * k), &value, 4);
    return 0;
}
int cuMemsetD8Async(uint64_t at, unsigned char value, size_t count, void*) {
    if (lost) return 1;
    std::memset(reinterpret_cast<void*>(at), value, count);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
    if (lost) return 1;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
}
int cuMemAllocHost_v2(void** memory, size_t bytes) { return (*memory = std::malloc(bytes)) ? 0 : 2; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &taken, 0; }
int cuStreamSynchronize(void*) { return lost; }
int cuStreamIsCapturing(void*, int* status) { return *status = capturing, lost; }
int cuThreadExchangeStreamCaptureMode(int* other) {
    const int before = mode;
    mode = *other;
    *other = before;
    return 0;
}
int cuCtxSynchronize() { return ++waits, lost || capturing; }
int cuCtxGetCurrent(void** context) { return *context = nullptr, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &taken, 0; }
}
