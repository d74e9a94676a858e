// The core's functions for ctypes: used by tests, benchmarks and the guest's Python face.
#include <cstring>

#include "sim.hpp"

using namespace kgsim;

namespace {
struct Handle { ProgramRef program; };
thread_local std::string last_text;
const char* keep(std::string text) {
    last_text = std::move(text);
    return last_text.c_str();
}
}  // namespace

extern "C" {

void* kgsim_load(const void* blob, size_t size) {
    std::string error;
    ProgramRef p = load_program(blob, size, &error);
    if (!p) { last_text = error; return nullptr; }
    return new Handle{std::move(p)};
}
void kgsim_unload(void* handle) { delete static_cast<Handle*>(handle); }
const char* kgsim_error() { return last_text.c_str(); }

int64_t kgsim_add_region(uint64_t base, uint64_t size, const char* name, int kind, int read_only, int uninitialised) {
    return add_region(base, size, name ? name : "", RegionKind(kind), {read_only != 0, uninitialised != 0});
}
int kgsim_free_region(uint64_t base) { return free_region(base); }
void kgsim_mark_initialised(uint64_t address, uint64_t size) { mark_initialised(address, size); }
uint64_t kgsim_unwritten(uint64_t address) { return unwritten_bytes(address); }

// Options in a fixed order: threads, lane_steps, max_blocks, check_races, check_uninitialised, count_lines, resident_blocks,
// cooperative.
int kgsim_launch(void* handle, const char* kernel, const uint32_t* grid, const uint32_t* block, uint64_t shared, void* const* args,
                 const uint64_t* options, double seconds, uint64_t* out) {
    Options o;
    o.threads = unsigned(options[0]);
    o.lane_steps = options[1];
    o.max_blocks = options[2];
    o.check_races = options[3] != 0;
    o.check_uninitialised = options[4] != 0;
    o.count_lines = options[5] != 0;
    o.resident_blocks = options[6];
    o.cooperative = options[7] != 0;
    o.seconds = seconds;
    LaunchResult r = launch(static_cast<Handle*>(handle)->program, kernel, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, args, o);
    last_text = r.reason;
    out[0] = uint64_t(r.line);
    out[1] = r.illegal_access;
    out[2] = r.lane_steps;
    out[3] = r.blocks_run;
    out[4] = r.outside_by;
    out[5] = r.shared_outside;
    return int(r.status);
}
const char* kgsim_status_name(int status) { return status_name(Status(status)); }
const char* kgsim_report() { return keep(report_json()); }
void kgsim_reset_report() { reset_report(); }
const char* kgsim_output() { return keep(take_output()); }

// "name\n" of each kernel; of one kernel: offset and size of each parameter, flattened; static shared memory first.
const char* kgsim_kernels(void* handle) {
    std::string s;
    for (const KernelInfo& k : kernels(static_cast<Handle*>(handle)->program)) s += k.name + "\n";
    return keep(s);
}
int kgsim_kernel_params(void* handle, const char* name, uint32_t* out, int most) {
    auto k = find_kernel(static_cast<Handle*>(handle)->program, name);
    if (!k) return -1;
    int n = 0;
    for (const ParamInfo& p : k->params) if (n < most) out[n++] = p.size;
    return n;
}
uint64_t kgsim_variable(void* handle, const char* name, uint64_t* size) {
    auto v = find_variable(static_cast<Handle*>(handle)->program, name);
    if (!v) return 0;
    if (size) *size = v->size;
    return v->address;
}

}  // extern "C"
