// Launches that are run again under changes, from the first changed one on: nothing of the host code runs, and memory is
// as it was before that launch. Sound only where only launches have accessed the GPU's memory since then, which
// the gate detects: every other read or write there opens it (guard_alloc.hpp).
#include "replay.hpp"

#include <algorithm>
#include <cstring>

#include "guard_alloc.hpp"
#include "kept_memory.hpp"
#include "program.hpp"
#include "runtime.hpp"

using namespace kgsim;

namespace {

constexpr uint64_t kMost = uint64_t{64} << 20;  // bytes that are kept
constexpr size_t kMostLaunches = 24;

struct RecordedCall {
    bool on = false, whole = false;
    size_t touched = 0;  // launches before the host code's last access
    int launching = 0;
    std::vector<Recorded> launches;
    std::vector<Pieces> before;
    std::vector<void*> memory;
};

RecordedCall& recorded_call() {
    static auto* one = new RecordedCall;
    return *one;
}

void forget(RecordedCall& all) {
    for (void* data : all.memory) kgsim_unkeep(data);
    const int launching = all.launching;
    all = {};
    all.launching = launching;
}

// Memory that the host code may read and write without being seen.
bool is_shared(const std::vector<char>& value) {
    const void* pointer = nullptr;
    if (value.size() == sizeof pointer) std::memcpy(&pointer, value.data(), sizeof pointer);
    const int kind = kgsim_kind(pointer);
    return kind == kKindPinned || kind == kKindManaged;
}

// Memory that was made later is as it was when it was made.
void add_later_memory(std::vector<Pieces>& before) {
    for (size_t k = before.size(); k-- > 1;)
        for (const auto& piece : before[k]) {
            auto& earlier = before[k - 1];
            const auto known = [&](const auto& one) { return one->id == piece->id; };
            if (std::none_of(earlier.begin(), earlier.end(), known)) earlier.push_back(piece);
        }
}

}  // namespace

kgsim::InLaunch::InLaunch() { ++recorded_call().launching; }
kgsim::InLaunch::~InLaunch() { --recorded_call().launching; }

bool kgsim::recording() { return recorded_call().on; }

void kgsim::record_launch(Recorded launch) {
    auto& all = recorded_call();
    if (!all.on) return;
    all.before.push_back(keep_memory(all.before.empty() ? Pieces{} : all.before.back(), kMost));
    const bool shared = std::any_of(launch.values.begin(), launch.values.end(), is_shared);
    all.whole = all.whole && !shared && !all.before.back().empty() && all.launches.size() < kMostLaunches;
    all.launches.push_back(std::move(launch));
}

void kgsim::record_memory(void* data) { recorded_call().memory.push_back(data); }

void kgsim::note_host_access() {
    auto& all = recorded_call();
    if (all.launching) return;
    if (all.on) all.touched = all.launches.size();
    else if (!all.launches.empty()) doubt_memory();
}

// Begins to record a call of forward, or ends it; what was recorded before is forgotten.
KG_API void kgsim_record(int on) {
    auto& all = recorded_call();
    if (on) forget(all);
    all.on = on;
    if (on) all.whole = true;
    else add_later_memory(all.before);
}

// The launch from which on they must run again where a function is changed, or the arguments of `launch`; -1: forward has to.
KG_API int kgsim_replays_from(size_t launch) {
    const auto& all = recorded_call();
    return all.whole && launch < all.launches.size() && launch >= all.touched ? int(launch) : -1;
}

// The first launch of a kernel that may run this function; beyond the last where there is none.
KG_API size_t kgsim_first_launch(size_t number, uint32_t function) {
    const auto& all = recorded_call();
    size_t k = 0;
    while (k < all.launches.size() && !runs(all.launches[k].kernel, number, function)) ++k;
    return k;
}

// Runs the launches from `first` on. 0, or -1 where they fail, or their memory is gone: then forward has to run from here on.
KG_API int kgsim_replay(size_t first) {
    auto& all = recorded_call();
    const InLaunch in_launch;
    const DeviceMemoryOpen open;
    all.whole = restore_memory(all.before[first]);
    if (!all.whole) return -1;
    pass_again(first);
    for (size_t k = first; k < all.launches.size(); ++k)
        if (launch_again(all.launches[k]) != cudaSuccess) return -1;
    return 0;
}

// Copies elements of `size` bytes.
KG_API void kgsim_gather(const uint64_t* addresses, size_t count, size_t size, char* out) {
    const InLaunch in_launch;
    const DeviceMemoryOpen open;
    for (size_t k = 0; k < count; ++k) std::memcpy(out + k * size, reinterpret_cast<const void*>(addresses[k]), size);
}
