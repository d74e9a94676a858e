// The allocator that every tensor and every cudaMalloc goes through; exported by libkgsim.so.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
// Whose memory it is: kernels may touch all but the host's.
enum KgsimKind { kKindHost = 0, kKindDevice = 1, kKindPinned = 2, kKindManaged = 3 };

// Memory of `bytes` bytes, aligned to 512, with guards on both sides, filled with a poison pattern;
// null when there is none (or more than the GPU has). Registered as a region of the simulator,
// its bytes unwritten.
void* kgsim_alloc(size_t bytes, int kind);
void kgsim_free(void* data);
// Memory that a CPU operator made becomes the device's when its tensor does.
void kgsim_to_device(void* data, int written);
int kgsim_kind(const void* address);  // -1 where nothing of ours is
// The host has written there.
void kgsim_written(const void* data, size_t bytes);
size_t kgsim_unwritten_in(const void* data, size_t bytes);
void kgsim_mark_input(void* data, size_t bytes, const char* name);
// Device memory in bytes: 0 allocated, 1 peak, 2 the largest request refused; 3 restarts the peak.
uint64_t kgsim_memory(int what);
// Whether large operators are to give shapes only (Settings::rehearsal in runtime.hpp).
int kgsim_rehearsal(void);
// The error that took the context, or one that a launch left; null if there is none.
const char* kgsim_lost(void);
const char* kgsim_launch_error(void);
}
