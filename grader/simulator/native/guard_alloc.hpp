// The allocator that every tensor and every cudaMalloc goes through; exported by libkgsim.so.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
// The memory's owner: kernels may access all but the host's.
enum KgsimKind { kKindHost = 0, kKindDevice = 1, kKindPinned = 2, kKindManaged = 3 };

// Memory of `bytes` bytes, aligned to 512, with guards on both sides, filled with a poison pattern;
// null when there is none (or more than the GPU has). Registered as a region of the simulator,
// its bytes unwritten.
void* kgsim_alloc(size_t bytes, int kind);
// Memory of the host's for the result of an operator, which may become the device's.
void* kgsim_alloc_result(size_t bytes);
void kgsim_free(void* data);
// Memory of a graph, which outlives its tensors: recorded by the running capture, and freed with the graph.
void kgsim_keep(void* data);
void kgsim_unkeep(void* data);
// Whether a stream is being captured into a graph; `give` keeps work for it, which returns a cudaError_t. `drop` frees
// `data` with the graph.
int kgsim_capturing(void);
int kgsim_give(int (*run)(void*), void (*drop)(void*), void* data);
// Invalidates the capture, like a call that can't be captured, and returns the error.
int kgsim_refuse_in_capture(void);
// Memory allocated by a CPU operator becomes the device's when its tensor does.
void kgsim_to_device(void* data, int written);
int kgsim_kind(const void* address);  // -1 outside our memory
// The host has written there.
void kgsim_written(const void* data, size_t bytes);
// An operator or a copy reads the memory around the address.
void kgsim_note_read(const void* data);
size_t kgsim_unwritten_in(const void* data, size_t bytes);
// Sets out[i] where a kernel has stored to element i; kept only while `track_stores` is set.
void kgsim_stored(const void* data, size_t item, size_t count, uint8_t* out);
// Whether memory is so large that only its contents may cost memory, in a run that computes only a part.
int kgsim_is_vast(size_t bytes);
// Makes vast memory zero without touching it; 0 where it isn't vast.
int kgsim_zero(void* data, size_t bytes);
// Copies to vast memory of the device: pages of zeros stay untouched in the copy as well; 0 where it isn't vast.
int kgsim_copy(void* to, const void* from, size_t bytes);
// Bytes that kernels have stored to the allocation around the address, each store counted.
uint64_t kgsim_stored_bytes(const void* data);
// Counts as copies to the host what kernels have put into memory that the host reads as well.
void kgsim_note_values(void);
void kgsim_mark_input(void* data, size_t bytes, const char* name);
// Sets the name in findings of the memory around the address, unless it is an input.
void kgsim_name_memory(const void* data, const char* name);
// Device memory in bytes: 0 allocated, 1 peak, 2 the largest request refused; 3 restarts the peak.
uint64_t kgsim_memory(int what);
// Whether large operators return shapes only (Settings::dry_run in runtime.hpp).
int kgsim_dry_run(void);
// The named feature can't be simulated, and was used.
void kgsim_missing(const char* name);
// The error that destroyed the context, or one that a launch left; null if there is none.
const char* kgsim_lost(void);
const char* kgsim_launch_error(void);
// Between these two calls the grader's own code may access device memory (gate.hpp).
void kgsim_open(void);
void kgsim_close(void);
}

namespace kgsim {

// While one lives, device memory is accessible.
class DeviceMemoryOpen {
 public:
  DeviceMemoryOpen() { kgsim_open(); }
  ~DeviceMemoryOpen() { kgsim_close(); }
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
  DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

}  // namespace kgsim
