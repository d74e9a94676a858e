// The host side's settings and its part of the report, for grader/guest/cuda_face.py.

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "cudart_module.hpp"
#include "gate.hpp"
#include "guard_alloc.hpp"
#include "provenance.hpp"
#include "runtime.hpp"

namespace kgsim {
namespace {

template <class T>
std::function<void(const char*)> number(T* field) {
    return [field](const char* value) { *field = static_cast<T>(std::strtod(value, nullptr)); };
}

const std::map<std::string, std::function<void(const char*)>>& settings() {
    auto& all = runtime().settings;
    auto& gpu = all.gpu;
    auto& options = all.options;
    static const auto* table = new std::map<std::string, std::function<void(const char*)>>{
        {"gpu.name", [&gpu](const char* value) { gpu.name = value; }},
        {"gpu.major", number(&gpu.major)},
        {"gpu.minor", number(&gpu.minor)},
        {"gpu.multiprocessors",
         [&](const char* value) {
             gpu.multiprocessors = std::atoi(value);
             options.sm_count = gpu.multiprocessors;
         }},
        {"gpu.memory", number(&gpu.memory)},
        {"gpu.shared_per_block", number(&gpu.shared_per_block)},
        {"gpu.shared_per_block_optin", number(&gpu.shared_per_block_optin)},
        {"gpu.shared_per_multiprocessor", number(&gpu.shared_per_multiprocessor)},
        {"gpu.shared_reserved", number(&gpu.shared_reserved)},
        {"gpu.registers_per_block", number(&gpu.registers_per_block)},
        {"gpu.registers_per_multiprocessor", number(&gpu.registers_per_multiprocessor)},
        {"gpu.threads_per_block", number(&gpu.threads_per_block)},
        {"gpu.threads_per_multiprocessor", number(&gpu.threads_per_multiprocessor)},
        {"gpu.blocks_per_multiprocessor", number(&gpu.blocks_per_multiprocessor)},
        {"gpu.clock", number(&gpu.clock)},
        {"gpu.memory_clock", number(&gpu.memory_clock)},
        {"gpu.memory_bus", number(&gpu.memory_bus)},
        {"gpu.l2_cache", number(&gpu.l2_cache)},
        {"threads", number(&options.threads)},
        {"lane_steps", number(&options.lane_steps)},
        {"max_blocks", number(&options.max_blocks)},
        {"block_seed", number(&options.block_seed)},
        {"block_at", number(&options.block_at)},
        {"max_findings", number(&options.max_findings)},
        {"outside", number(&options.outside)},
        {"findings", number(&options.findings)},
        {"check_races", number(&options.check_races)},
        {"check_uninitialised", number(&options.check_uninitialised)},
        {"count_lines", number(&options.count_lines)},
        {"report_lines", number(&options.report_lines)},
        {"exact", number(&options.exact)},
        {"provenance", number(&options.provenance)},
        {"seconds", number(&all.seconds)},
        {"memory", number(&all.memory)},
        {"skip_kernels", number(&all.skip_kernels)},
        {"larger", number(&all.larger)},
        {"larger_kernel", [&all](const char* value) { all.larger_kernel = value; }},
        {"dry_run", number(&all.dry_run)},
        {"track_stores", number(&all.track_stores)},
        {"gate",
         [&all](const char* value) {
             all.gate = std::atoi(value) != 0;
             if (all.gate) shut_gate();
         }},
    };
    return *table;
}

std::string counts_json(const std::map<std::string, uint64_t>& counts) {
    std::string out = "{";
    for (const auto& [name, count] : counts)
        out += (out.size() > 1 ? "," : "") + json_text(name) + ":" + std::to_string(count);
    return out + "}";
}

std::string launch_errors_json(const std::vector<LaunchError>& errors) {
    std::string out = "[";
    for (const auto& error : errors) {
        if (out.size() > 1) out += ",";
        out += "{\"kernel\":" + json_text(error.kernel) + ",\"error\":" + json_text(error.code) +
               ",\"reason\":" + json_text(error.reason) + ",\"limit\":" + json_text(error.limit) +
               ",\"asked\":" + std::to_string(error.asked) + ",\"most\":" + std::to_string(error.most) +
               ",\"seen\":" + (error.seen ? "true" : "false") + "}";
    }
    return out + "]";
}

std::string fits_json(const std::map<std::string, Fit>& fits) {
    const auto& gpu = runtime().settings.gpu;
    std::string out = "[";
    for (const auto& [key, fit] : fits) {
        const auto warps = fit.blocks * ((fit.threads + 31) / 32);
        out += (out.size() > 1 ? ",{" : "{") + std::string("\"kernel\":") +
               json_text(key.substr(0, key.find(' '))) + ",\"threads\":" + std::to_string(fit.threads) +
               ",\"shared\":" + std::to_string(fit.shared) +
               ",\"registers\":" + std::to_string(fit.registers) +
               ",\"blocks\":" + std::to_string(fit.blocks) + ",\"limiter\":" + json_text(fit.limiter) +
               ",\"warps\":" + std::to_string(warps) +
               ",\"most_warps\":" + std::to_string(gpu.threads_per_multiprocessor / 32) + "}";
    }
    return out + "]";
}

std::string host_pointers_json(const std::vector<HostPointer>& pointers) {
    std::string out = "[";
    for (const auto& pointer : pointers)
        out += (out.size() > 1 ? ",{" : "{") + std::string("\"kernel\":") + json_text(pointer.kernel) +
               ",\"parameter\":" + std::to_string(pointer.parameter) +
               ",\"null\":" + (pointer.null ? "true" : "false") + "}";
    return out + "]";
}

std::string host_access_json() {
    const auto access = host_access();
    if (!access.seen) return "null";
    return "{\"offset\":" + std::to_string(access.offset) + ",\"bytes\":" +
           std::to_string(access.bytes) + ",\"write\":" + (access.write ? "true" : "false") + "}";
}

std::string names_json() {
    std::string out = "{";
    for (const auto& [name, text] : demangled_names())
        out += (out.size() > 1 ? "," : "") + json_text(name) + ":" + json_text(text);
    return out + "}";
}

std::string host_json() {
    auto& state = runtime();
    std::lock_guard lock(state.mutex);
    std::string out = "{\"sticky\":";
    out += state.sticky == cudaSuccess ? "null" : json_text(cudaGetErrorName(state.sticky));
    out += ",\"sticky_reason\":" + json_text(state.sticky_reason);
    out += ",\"hung\":" + json_text(state.hung);
    out += ",\"over_budget\":" + json_text(state.over_budget);
    out += ",\"launch_errors\":" + launch_errors_json(state.launch_errors);
    out += ",\"host_pointers\":" + host_pointers_json(state.host_pointers);
    out += ",\"host_access\":" + host_access_json();
    out += ",\"fits\":" + fits_json(state.fits);
    out += ",\"names\":" + names_json();
    out += ",\"not_run\":" + counts_json(state.not_run);
    out += ",\"calls\":" + counts_json(state.calls);
    out += ",\"memory\":{\"allocated\":" + std::to_string(kgsim_memory(0)) +
           ",\"peak\":" + std::to_string(kgsim_memory(1)) +
           ",\"refused\":" + std::to_string(kgsim_memory(2)) + "}";
    out += ",\"output\":" + json_text(take_output().substr(0, 20000));
    return out + "}";
}

}  // namespace
}  // namespace kgsim

using namespace kgsim;

// 0, or -1 for a setting that there isn't.
KG_API int kgsim_set(const char* key, const char* value) {
    if (std::strncmp(key, "registers.", 10) == 0) {
        runtime().registers[key + 10] = std::atoi(value);
        return 0;
    }
    const auto entry = settings().find(key);
    if (entry == settings().end()) return -1;
    entry->second(value);
    return 0;
}

// {"core": what sim.hpp says, "host": ...}; the caller frees it with kgsim_free_text.
KG_API char* kgsim_host_report() {
    kgsim_note_values();
    const auto text = "{\"core\":" + report_json() + ",\"host\":" + host_json() + "}";
    return strdup(text.c_str());
}

// Where values come from, in a run with the setting `provenance`: see provenance.hpp. Each answer is freed with kgsim_free_text.
KG_API void kgsim_provenance_clear() { provenance().clear(); }
KG_API char* kgsim_provenance_touched() { return strdup(provenance().touched().c_str()); }
KG_API char* kgsim_provenance_origins(const uint64_t* addresses, size_t count, int together) { return strdup(provenance().origins(addresses, count, together).c_str()); }
KG_API char* kgsim_provenance_lost(const uint64_t* addresses, size_t count) { return strdup(provenance().lost(addresses, count).c_str()); }
// The elements that one instruction accessed, a byte each; returns their number.
KG_API size_t kgsim_provenance_elements(size_t access, uint8_t* out, size_t most) {
    const auto* touch = provenance().touch(access);
    if (!touch) return 0;
    const size_t count = std::min(most, touch->elements.size());
    std::memcpy(out, touch->elements.data(), count);
    return touch->elements.size();
}

KG_API void kgsim_free_text(char* text) { std::free(text); }

// Before a workload. A lost context stays lost, as on a GPU.
KG_API void kgsim_reset() {
    reset_report();
    auto& state = runtime();
    std::lock_guard lock(state.mutex);
    state.launch_errors.clear();
    state.not_run.clear();
    state.calls.clear();
    state.fits.clear();
    state.host_pointers.clear();
    state.over_budget.clear();
    state.device_seconds = 0;
    state.bytes_to_host = 0;
    state.last = cudaSuccess;
    kgsim_memory(3);
}

// Null while the context is sound; else the error's text, as torch would raise it.
KG_API const char* kgsim_lost() {
    const auto sticky = runtime().sticky;
    return sticky == cudaSuccess ? nullptr : cudaGetErrorString(sticky);
}

// The made-up clock of events, in seconds.
KG_API double kgsim_device_time() { return runtime().device_time += 1e-6; }

// A launch's error that no call has read, as torch's own next launch would meet it;
// null if there is none. Telling it clears it.
KG_API const char* kgsim_launch_error() {
    if (runtime().last == cudaSuccess) return nullptr;
    return cudaGetErrorString(cudaGetLastError());
}
