// The interface of the simulator core: memory regions, programs, launches, findings.
//
// The CUDA runtime stand-in (cudart*.cpp, alloc*.cpp) uses this header only. Guest pointers
// are host addresses: the host side allocates freely and registers the memory that kernels may access.
// All functions may be called from any thread; launches are executed one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kgsim {

// ---------------------------------------------------------------- memory

// The values read from unwritten memory, and from memory that isn't there: quiet NaNs in every float format, half to
// double, and huge numbers in integers of 16 bits and more, neither zeros nor indices. They differ so that a result which
// holds one shows where it comes from (judge/patterns.py).
constexpr uint64_t fresh_poison = 0x7FFD7FFD7FFD7FFD;
constexpr uint64_t unset_poison = 0x7FF97FF97FF97FF9;  // of a register that was never set
constexpr uint64_t outside_poison = 0x7FFB7FFB7FFB7FFB;

enum class RegionKind : uint8_t { tensor, allocation, variable, constant, host };

struct RegionFlags {
    bool read_only = false;      // an input: a write to it is a finding (and is carried out)
    bool uninitialised = false;  // torch.empty, cudaMalloc: reads before the first write are findings
    bool stores = false;         // keep which bytes kernels have stored to
};

using RegionId = int64_t;  // never reused; negative: refused

constexpr const char* kUnnamed = "device memory";  // allocated by the host code

struct RegionInfo {
    RegionId id = -1;
    uint64_t base = 0;
    uint64_t size = 0;  // exact bytes, not rounded to the allocator's granularity
    std::string name;
    RegionKind kind = RegionKind::allocation;
    bool live = false;
    bool read_only = false;
    uint64_t bytes_written_by_kernels = 0;  // plain count of store bytes, overwrites included
};

// Registers [base, base + size). A region that overlaps a live one replaces it (the old one is freed).
RegionId add_region(uint64_t base, uint64_t size, const std::string& name, RegionKind kind, RegionFlags flags = {});
// Marks the region that starts at base as freed; a later access to it is a use after free.
// The caller may unmap or reuse the memory afterwards. False where none is live there.
bool free_region(uint64_t base);
void rename_region(RegionId id, const std::string& name);
void set_read_only(RegionId id, bool read_only);
// The host wrote (cudaMemcpy, cudaMemset, a torch operator on the CPU): those bytes count as initialised.
void mark_initialised(uint64_t address, uint64_t size);
// The host copied size bytes: initialised bytes stay so, unwritten bytes stay unwritten.
void copy_initialised(uint64_t to, uint64_t from, uint64_t size);
// Zeroes memory by returning its pages; false where they are not private to the process.
bool make_zero(uint8_t* data, uint64_t bytes);
// Copies; pages that hold only zeros stay untouched.
bool copy_what_is_there(uint8_t* to, const uint8_t* from, uint64_t bytes);
// Unwritten bytes of the live region around the address; 0 for regions not flagged uninitialised.
uint64_t unwritten_bytes(uint64_t address);
// Unwritten bytes within [address, address + size).
uint64_t unwritten_bytes(uint64_t address, uint64_t size);
// Sets out[i] where a kernel has stored to the i-th of the elements of `item` bytes at `address`.
void stored_elements(uint64_t address, uint64_t item, uint64_t count, uint8_t* out);
// The live region that holds the address (or starts there, for empty ones).
std::optional<RegionInfo> find_region(uint64_t address);
// Something other than a kernel reads the memory around the address.
void note_read(uint64_t address);
// Whether that region was freed, and nothing had read the unwritten values that a kernel stored there.
bool freed_unread(RegionId id);

// ---------------------------------------------------------------- programs

struct ParamInfo {
    uint32_t offset = 0;
    uint32_t size = 0;
    uint32_t align = 1;
};

struct KernelInfo {
    std::string name;  // mangled, as passed to __cudaRegisterFunction
    std::vector<ParamInfo> params;
    uint32_t param_bytes = 0;
    uint32_t static_shared = 0;  // bytes, as the hardware would count them
    uint32_t local_bytes = 0;    // per thread
    bool dynamic_shared = false; // it names an extern __shared__ array
    uint32_t max_threads = 0;    // __launch_bounds__ (.maxntid product); 0: none
    uint32_t required[3] = {0, 0, 0};  // .reqntid; 0: none
};

struct VariableInfo {
    std::string name;
    uint64_t address = 0;
    uint64_t size = 0;
    bool constant = false;
};

class Program;  // opaque
using ProgramRef = std::shared_ptr<const Program>;

// Checks the whole blob; null and a reason in error where it isn't one that decode() makes.
// The bytes are copied. Module variables get memory of their own, registered as regions.
ProgramRef load_program(const void* blob, size_t size, std::string* error);
// True where the bytes start like a blob of ours; size: its declared number of bytes.
bool is_program(const void* bytes, size_t available, size_t* size);
std::vector<KernelInfo> kernels(const ProgramRef& program);
std::optional<KernelInfo> find_kernel(const ProgramRef& program, const std::string& name);
std::vector<VariableInfo> variables(const ProgramRef& program);
std::optional<VariableInfo> find_variable(const ProgramRef& program, const std::string& name);

// ---------------------------------------------------------------- launches

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t product() const { return uint64_t(x) * y * z; }
};

struct Options {
    unsigned threads = 1;              // host threads over independent blocks; 0: as many as cores
    uint64_t lane_steps = 0;           // instructions times lanes of one launch; 0: no limit
    uint64_t max_blocks = 0;           // run only that many, spread from the first to the last; 0: all
    uint64_t block_seed = 0;           // seed that picks them at random instead: a sixth are neighbours; 0: none
    uint64_t block_at = 0;             // where those neighbours are, in millionths of the grid
    uint64_t resident_blocks = 0;      // blocks that the GPU holds at once; 0: no limit
    bool cooperative = false;          // the launch gives blocks a barrier for the whole grid
    double seconds = 0;                // processor time of each host thread of a launch; 0: no limit
    bool check_races = true;
    bool check_uninitialised = true;
    bool count_lines = true;
    bool report_lines = true;          // keep what each line has counted
    bool exact = false;                // keep an element of the exact algebra for each float (exact.hpp); on one host thread
    bool provenance = false;           // keep where values come from (provenance.hpp); on one host thread
    uint32_t sm_count = 132;           // %nsmid
    uint64_t max_findings = 200;       // distinct (kind, line, other line); more are only counted
    uint64_t findings = ~uint64_t{0};  // kinds of findings after which a launch goes on, a bit each; at another it ends
    uint64_t outside = outside_poison;         // the value of a read of memory that isn't there, in its low bytes
};

enum class Status : uint8_t {
    ok,           // ran to the end (findings may still tell of errors: see illegal_access)
    deadlock,     // proven: no thread can continue
    livelock,     // proven: a full round of all warps changed nothing
    budget,       // lane_steps or seconds used up: slow, not known to hang
    trapped,      // trap instruction or failed assert
    unsupported,  // an instruction that is not supported would have been executed; the reason names it
    invalid,      // arguments that no launch can have (no such kernel, zero grid, too many threads)
};
const char* status_name(Status status);

struct LaunchResult {
    Status status = Status::ok;
    std::string reason;           // a sentence, for anything but ok
    int line = 0;                 // in the submission's file, where one can be named
    bool illegal_access = false;  // out-of-bounds or misaligned access: a GPU would report an error
    uint64_t outside_address = 0; // of the global access that was farthest from every live region,
    uint64_t outside_by = 0;      // and how many bytes away that is; 0: there was none outside
    bool unmapped = false;        // as far as known, a GPU has mapped nothing there
    bool shared_outside = false;  // a shared access beyond all of the block's memory
    bool misaligned = false;      // an address that is no multiple of the access's size
    uint64_t lane_steps = 0;
    uint64_t blocks_run = 0;
    double seconds = 0;  // processor time of the host thread that took longest
};

// As cudaLaunchKernel: args[i] points at the value of parameter i. dynamic_shared in bytes.
// The caller checks the GPU's limits (threads, grid, shared memory).
LaunchResult launch(const ProgramRef& program, const std::string& kernel, Dim3 grid, Dim3 block,
                    uint64_t dynamic_shared, void* const* args, const Options& options);

// Device printf's output so far; clears it.
std::string take_output();

// ---------------------------------------------------------------- report

// All launches and findings since the last reset, as JSON:
// {"schema": "kgsim/1",
//  "launches": [{"kernel", "grid": [3], "block": [3], "shared", "status", "reason", "line", "count",
//                "illegal_access", "blocks", "blocks_run", "lane_steps", "accesses", "seconds"}],
//  "findings": [{"kind", "kernel", "file", "line", "frames": [[file, line], ...], "count", "block": [3], "thread": [3],
//                "other": {"file", "line", "frames", "block", "thread", "what"} | null, "text", "data": {...}}],
//  "lines": [{"kernel", "file", "line", "instructions": {class: lane executions}, "warp_instructions", "accesses", "requests",
//             "sectors", "ideal_sectors", "bytes", "loads", "stores", "shared_accesses", "shared_requests",
//             "bank_conflicts", "branches", "divergent", "atomics", "atomic_collisions"}]}
// "line" is the innermost line in the submission's own file (0: none); "frames" run from the innermost out.
// Kinds of findings: out-of-bounds, use-after-free, misaligned, shared-out-of-bounds, local-out-of-bounds,
// uninit-shared-read, uninit-global-read, uninit-local-read, race, race-volatile, global-race, same-value-race, input-written, constant-written,
// barrier-divergence, barrier-exited, sync-exited-lanes, sync-lane-not-in-mask, shuffle-absent-lane, deadlock, grid-deadlock, livelock,
// assert, trap, stack-overflow.
std::string report_json();
// The kinds of findings since the last reset, a bit each.
uint64_t found_kinds();
void reset_report();

}  // namespace kgsim
