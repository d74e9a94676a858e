// Shared by the parts of the CUDA runtime stand-in: the GPU, the errors, the report.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim.hpp"

namespace kgsim {

// The GPU that the host code sees. Set from grader/simulator/gpus.py; sizes in bytes, clocks in kHz.
struct Gpu {
    std::string name = "NVIDIA H100 80GB HBM3";
    int major = 9, minor = 0;
    int multiprocessors = 132;
    uint64_t memory = 85029158912;
    uint64_t shared_per_block = 49152, shared_per_block_optin = 232448;
    uint64_t shared_per_multiprocessor = 233472, shared_reserved = 1024;
    int registers_per_block = 65536, registers_per_multiprocessor = 65536;
    int threads_per_block = 1024, threads_per_multiprocessor = 2048;
    int blocks_per_multiprocessor = 32;
    int clock = 1980000, memory_clock = 2619000, memory_bus = 5120;
    int l2_cache = 52428800;
};

struct Settings {
    Gpu gpu;
    Options options;           // of the interpreter
    bool skip_kernels = false; // check launch configurations only
    int larger = 0;            // launches have more blocks (1, 2, 3: one more along x, y, z) or threads (4, 5: twice as many along x, y)
    std::string larger_kernel; // only of kernels with this in their names
    // A dry_run at sizes that no CPU can compute: memory is zero and costs nothing until it is
    // touched, large operators of torch and of cuBLAS give shapes only, and a launch that is cut
    // short is no failure. It reports refused launches and lost contexts.
    bool dry_run = false;
    bool track_stores = false; // keep which bytes of device memory kernels have stored to
    bool gate = false;         // host code can't touch device memory (gate.hpp)
    double seconds = 0;        // of all launches of a workload together; 0: no limit
    uint64_t memory = 0;       // bytes that may be allocated together; 0: the GPU's
};

// A place in generated code where the host could have seen an error and didn't look.
struct LaunchError {
    std::string kernel, code, reason, limit;
    uint64_t asked = 0, most = 0;
    bool seen = false;
};

// A kernel that received a host address and accessed invalid memory.
struct HostPointer {
    std::string kernel;
    int parameter;  // from 0
    bool null;
};

// One kind of launch, and how full it can make a multiprocessor.
struct Fit {
    uint64_t threads, shared;
    int registers, blocks;
    std::string limiter;
};

struct Runtime {
    std::mutex mutex;
    Settings settings;
    cudaError_t last = cudaSuccess;    // cudaGetLastError resets it
    cudaError_t sticky = cudaSuccess;  // only the end of the process resets it
    std::string sticky_reason;
    std::string hung;                  // why the run can never end; empty: it can
    std::string over_budget;
    std::vector<LaunchError> launch_errors;
    std::map<std::string, uint64_t> not_run;  // features that the simulator lacks
    std::map<std::string, uint64_t> calls;    // runtime functions, by name
    std::map<std::string, int> registers;     // by kernel, as ptxas said
    std::vector<HostPointer> host_pointers;
    std::map<std::string, Fit> fits;          // by kernel, threads and shared bytes
    double device_seconds = 0;                // processor time inside launches, of the thread that took longest in each
    double device_time = 0;                   // made-up clock of events
    std::atomic<uint64_t> bytes_to_host{0};   // by copies
};

Runtime& runtime();

// Records an error as cudaGetLastError will see it, and returns it. A sticky one wins.
cudaError_t finish(cudaError_t error);
// Errors after which a context is lost.
void make_sticky(cudaError_t error, const std::string& reason);
// The program used a feature that the simulator lacks.
cudaError_t missing(const char* feature);
int missing_call(const char* name);  // the same, for functions that know no types
void count_call(const char* name);
// Whether kernels may access this memory.
bool on_device(const void* pointer);
// Bytes: more than flags and sizes, values that the host may compute with.
constexpr size_t kValues = 1024;

std::string json_text(const std::string& text);

}  // namespace kgsim

// Every entry point starts with this: it is counted, and refused once the context is lost.
#define KG_ENTER(name)                                                        \
    do {                                                                      \
        ::kgsim::count_call(name);                                            \
        if (::kgsim::runtime().sticky != cudaSuccess) return ::kgsim::runtime().sticky; \
    } while (0)
#define KG_API extern "C" __attribute__((visibility("default")))
