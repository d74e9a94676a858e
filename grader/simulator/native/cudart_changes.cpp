// Programs that were launched, as they were loaded, and other code in the place of a function's:
// how a changed program is tried without a compiler (grader/guest/changes.py).
#include <cstring>

#include "program.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

std::vector<ProgramRef>& launched() {
    static auto* all = new std::vector<ProgramRef>;
    return *all;
}

Blob* blob_of(size_t number) {
    return number < launched().size() ? launched()[number]->blob.get() : nullptr;
}

}  // namespace

void kgsim::note_launched(const ProgramRef& program) {
    for (const auto& known : launched())
        if (known == program) return;
    launched().push_back(program);
}

// The bytes of one of them, in the order in which they were launched; null after the last.
KG_API const void* kgsim_launched(size_t number, size_t* size) {
    if (number >= launched().size()) return nullptr;
    *size = launched()[number]->bytes.size();
    return launched()[number]->bytes.data();
}

// Appends strings (each ends with a zero byte) and constants to what code may name.
KG_API int kgsim_extend(size_t number, const char* strings, size_t bytes, const uint64_t* constants, size_t count) {
    Blob* const blob = blob_of(number);
    if (blob == nullptr) return -1;
    for (const char* at = strings; at < strings + bytes; at += std::strlen(at) + 1) blob->strings.emplace_back(at);
    blob->constants.insert(blob->constants.end(), constants, constants + count);
    return 0;
}

// Puts code and registers in the place of a function's. Words that are no code make its next launch fail.
KG_API int kgsim_set_code(size_t number, uint32_t function, const uint32_t* words, size_t count, const char* registers,
                          size_t widths) {
    Blob* const blob = blob_of(number);
    if (blob == nullptr || function >= blob->functions.size()) return -1;
    std::lock_guard lock(blob->lock);
    blob->functions[function].code.assign(words, words + count);
    blob->functions[function].registers.assign(registers, widths);
    blob->linked.clear();
    return 0;
}

// A context that a changed program lost is sound again for the next.
KG_API void kgsim_forget_errors() {
    auto& state = runtime();
    state.sticky = state.last = cudaSuccess;
    state.sticky_reason.clear();
    state.hung.clear();
    state.device_seconds = 0;
    reset_report();
}
