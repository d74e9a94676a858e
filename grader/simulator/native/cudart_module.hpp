// Kernels and variables as the host code knows them: by the address of a stub or of a shadow.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim.hpp"

namespace kgsim {

inline uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

struct HostKernel {
    ProgramRef program;  // null: the binary that registered it is not one of ours
    std::string name;    // as PTX has it; empty: the program has no such kernel
    std::string shown;   // as the host registered it
    std::string readable;  // demangled, as compilers' logs name it
    KernelInfo info;
    int dynamic_shared_limit = 0;  // what cudaFuncSetAttribute allowed beyond the default
    int carveout = -1;
};

struct HostVariable {
    uint64_t address = 0;
    uint64_t size = 0;
};

// Names of the kernels registered so far: mangled as in PTX, and as in the source.
std::map<std::string, std::string> demangled_names();

HostKernel* kernel_of(const void* function);
std::optional<HostVariable> variable_of(const void* symbol);

// clang's and nvcc's mangled names of one kernel, made equal: nvcc puts hashes into anonymous
// namespaces and drops the mark of internal linkage.
std::string canonical(const std::string& mangled);

// Keeps a launch's arguments, and replaces arguments and grid where a changed run sets others
// (cudart_changes.cpp); returns the values that `arguments` then point to.
std::vector<uint64_t> pass(const HostKernel& kernel, Dim3& grid, std::vector<void*>& arguments);
void note_steps(uint64_t steps);
// The launches before the `first` count as done, unchanged.
void pass_again(size_t first);
// Whether a kernel is of the program that was launched as this one, and may run this function of it.
bool runs(const HostKernel& kernel, size_t program, uint32_t function);

}  // namespace kgsim
