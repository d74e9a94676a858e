// Programs that were launched, as they were loaded, and other code in the place of a function's, or another
// argument in the place of a launch's: how a changed program is tried without a compiler (grader/guest/changes.py).
#include <algorithm>
#include <cstring>
#include <iterator>

#include "cudart_module.hpp"
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

// Instructions that stand in the place of one.
struct Edit {
    Blob* blob;
    uint32_t function;
    size_t at, count;
    RawInsn old;
};

std::vector<Edit>& edits() {
    static auto* all = new std::vector<Edit>;
    return *all;
}

void replace(Blob& blob, uint32_t function, size_t at, const std::vector<uint32_t>& words) {
    auto& code = blob.instructions(function);
    auto made = blob.read(blob.functions[function], words);
    if (at >= code.size()) no_program("no such instruction");
    const size_t count = made.size();
    edits().push_back({&blob, function, at, count, std::move(code[at])});
    code.erase(code.begin() + at);
    code.insert(code.begin() + at, std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

// The arguments of one launch, as the program passes them.
struct Passed {
    std::string kernel;
    std::vector<uint32_t> sizes;
    std::vector<uint64_t> values;  // 0 for those of more than 8 bytes
    uint32_t blocks[3];
};

// The replacement of a launch's parameter, or from `kBlocks` on of its grid: a value, or a launch's own argument.
struct Replaced {
    uint64_t launch, parameter, of_launch, of_parameter, value;
};

constexpr uint64_t kBlocks = 1 << 20;

struct Calls {
    bool kept = false;
    uint64_t steps = 0;  // of the longest launch
    std::vector<Passed> passed, unchanged;
    std::vector<Replaced> replaced;
};

Calls& calls() {
    static auto* all = new Calls;
    return *all;
}

uint64_t value_of(const Replaced& one) {
    const auto& all = calls().passed;
    if (one.of_launch >= all.size()) return one.value;
    const auto& from = all[one.of_launch];
    if (one.of_parameter >= kBlocks) return from.blocks[(one.of_parameter - kBlocks) % 3];
    return one.of_parameter < from.values.size() ? from.values[one.of_parameter] : one.value;
}

}  // namespace

std::vector<uint64_t> kgsim::pass(const HostKernel& kernel, Dim3& grid, std::vector<void*>& arguments) {
    auto& all = calls();
    if (!all.kept) return {};
    Passed passed{kernel.name, {}, {}, {grid.x, grid.y, grid.z}};
    for (size_t k = 0; k < arguments.size(); ++k) {
        passed.sizes.push_back(kernel.info.params[k].size);
        passed.values.push_back(0);
        if (passed.sizes[k] <= 8) std::memcpy(&passed.values[k], arguments[k], passed.sizes[k]);
    }
    const size_t number = all.passed.size();
    all.passed.push_back(passed);
    auto values = passed.values;
    uint32_t* const blocks[] = {&grid.x, &grid.y, &grid.z};
    for (const auto& one : all.replaced) {
        if (one.launch != number) continue;
        if (one.parameter >= kBlocks) *blocks[(one.parameter - kBlocks) % 3] = static_cast<uint32_t>(value_of(one));
        if (one.parameter >= values.size() || passed.sizes[one.parameter] > 8) continue;
        values[one.parameter] = value_of(one);
        arguments[one.parameter] = &values[one.parameter];
    }
    return values;
}

void kgsim::pass_again(size_t first) { calls().passed.assign(calls().unchanged.begin(), calls().unchanged.begin() + first); }

bool kgsim::runs(const HostKernel& kernel, size_t program, uint32_t function) {
    const Blob* const blob = blob_of(program);
    if (blob == nullptr || kernel.program != launched()[program] || function >= blob->functions.size()) return false;
    return !blob->functions[function].entry || blob->functions[function].name == kernel.name;
}

void kgsim::note_steps(uint64_t steps) { calls().steps = std::max(calls().steps, steps); }

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
    blob->known_instructions.erase(function);
    blob->forget_linked(function);
    return 0;
}

// Puts `ends[k] - ends[k - 1]` words in the place of instruction `at[k]`, in rising order; -1 where they are no code. `kgsim_undo`
// puts it back.
KG_API int kgsim_edit(size_t number, uint32_t function, const uint32_t* at, const uint32_t* ends, size_t count, const uint32_t* words) {
    Blob* const blob = blob_of(number);
    if (blob == nullptr || function >= blob->functions.size()) return -1;
    std::lock_guard lock(blob->lock);
    try {
        for (size_t k = count; k-- > 0;)
            replace(*blob, function, at[k], {words + (k ? ends[k - 1] : 0), words + ends[k]});
    } catch (const std::exception&) {
        return -1;
    }
    blob->forget_linked(function);
    return 0;
}

KG_API void kgsim_undo() {
    auto& all = edits();
    for (; !all.empty(); all.pop_back()) {
        auto& [blob, function, at, count, old] = all.back();
        std::lock_guard lock(blob->lock);
        auto& code = blob->instructions(function);
        code.erase(code.begin() + at, code.begin() + at + count);
        code.insert(code.begin() + at, std::move(old));
        blob->forget_linked(function);
    }
}

// The launches of the last call are the unchanged ones.
KG_API void kgsim_end_unchanged() { calls().unchanged = calls().passed; }

// Begins a call of forward, whose launches are kept, each with its own arguments in the places of these.
KG_API void kgsim_begin_call(const uint64_t* replaced, size_t count) {
    auto& all = calls();
    all.kept = true;
    all.steps = 0;
    all.passed.clear();
    all.replaced.clear();
    for (size_t k = 0; k < 5 * count; k += 5)
        all.replaced.push_back({replaced[k], replaced[k + 1], replaced[k + 2], replaced[k + 3], replaced[k + 4]});
}

// The instructions times lanes of the longest launch of that call.
KG_API uint64_t kgsim_call_steps() { return calls().steps; }

// A launch of that call: its kernel's name, and of each argument the size and the first 8 bytes; null after the last.
KG_API const char* kgsim_passed(size_t number, const uint32_t** sizes, const uint64_t** values, size_t* count,
                                const uint32_t** blocks) {
    const auto& all = calls().passed;
    if (number >= all.size()) return nullptr;
    *sizes = all[number].sizes.data();
    *values = all[number].values.data();
    *count = all[number].values.size();
    *blocks = all[number].blocks;
    return all[number].kernel.c_str();
}

// The kinds of findings that launches had, a bit each: with them as `findings` another launch ends at one of another kind.
KG_API uint64_t kgsim_found() { return found_kinds(); }

// A context that a changed program lost is sound again for the next.
KG_API void kgsim_forget_errors() {
    auto& state = runtime();
    state.sticky = state.last = cudaSuccess;
    state.sticky_reason.clear();
    state.hung.clear();
    state.device_seconds = 0;
    reset_report();
}
