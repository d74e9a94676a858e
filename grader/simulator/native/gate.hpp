// The GPU's memory is out of generated host code's reach, as on a machine with a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace kgsim {

// A place of the device's memory that host code touched through a pointer.
struct HostAccess {
    bool seen = false, write = false;
    uint64_t offset = 0, bytes = 0;  // of the byte touched in its tensor; of the tensor
};

// From here on host code that touches device memory is stopped, reported, and the context lost.
void shut_gate();
// Pages of device memory, `bytes` of which from `data` on are a tensor's.
void gate_add(void* pages, size_t mapped, const void* data, size_t bytes);
void gate_remove(const void* pages);
HostAccess host_access();

}  // namespace kgsim
