// How many blocks of a kernel one multiprocessor holds, and what limits them.
#pragma once

#include "cudart_module.hpp"

namespace kgsim {

struct Occupancy {
    int blocks = 0;
    const char* limiter = "";  // "threads", "blocks", "registers", "shared memory"
};

// Registers of one thread according to ptxas; 0 where it didn't run.
int registers_of(const HostKernel& kernel);
// Registers that a block takes: allocated by warp, in units of 256.
int block_registers(int registers, int threads);
Occupancy occupancy(const HostKernel& kernel, int threads, size_t dynamic_shared);

}  // namespace kgsim
