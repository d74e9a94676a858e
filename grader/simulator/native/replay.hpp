// The launches of one call of forward, kept with the memory before each, to be run again without the host code.
#pragma once

#include "cudart_module.hpp"
#include "runtime.hpp"

namespace kgsim {

struct Recorded {
    HostKernel kernel;
    Dim3 grid, block;
    size_t shared = 0;
    bool cooperative = false;
    std::vector<std::vector<char>> values;
};

// While recording: adds a launch, and keeps memory that the host code would free.
bool recording();
void record_launch(Recorded launch);
void record_memory(void* data);
// An access to the GPU's memory outside launches: a replay doesn't repeat it.
void note_host_access();
// Runs a launch as it was (cudart_launch.cpp).
cudaError_t launch_again(const Recorded& launch);

// While one lives, memory is open for a launch.
class InLaunch {
 public:
    InLaunch();
    ~InLaunch();
    InLaunch(const InLaunch&) = delete;
    InLaunch& operator=(const InLaunch&) = delete;
};

}  // namespace kgsim
