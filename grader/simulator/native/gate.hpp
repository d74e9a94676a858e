// Keeps generated host code from accessing the GPU's memory, as on a machine with a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace kgsim {

// A place in device memory that host code accessed through a pointer.
struct HostAccess {
    bool seen = false, write = false;
    uint64_t offset = 0, bytes = 0;  // of the accessed byte in its tensor; of the tensor
};

// From now on, host code that accesses device memory is stopped and reported, and the context is lost.
void shut_gate();
// Pages of device memory, `bytes` of which from `data` on are a tensor's.
void gate_add(void* pages, size_t mapped, const void* data, size_t bytes);
void gate_remove(const void* pages);
HostAccess host_access();

}  // namespace kgsim
