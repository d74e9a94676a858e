// Limits of a launch that the driver checks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "cudart_module.hpp"
#include "runtime.hpp"

namespace kgsim {

struct Refusal {
    cudaError_t error = cudaSuccess;
    std::string reason;
    const char* limit = "";  // the exceeded limit (`Limit` in grader/records/evidence.py)
    uint64_t asked = 0, most = 0;
};

// Formatted as by printf.
template <class... Values>
std::string words(const char* format, Values... values) {
    char text[400];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

// Why a launch of the kernel is refused, if it is; null kernel: the function is not a kernel.
Refusal check(const HostKernel* kernel, const dim3& grid, const dim3& block, size_t shared);

}  // namespace kgsim
