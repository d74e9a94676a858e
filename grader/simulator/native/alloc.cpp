// Memory of tensors and of cudaMalloc: exact bounds, guards, a poison that shows in every format.

#include "guard_alloc.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "gate.hpp"
#include "replay.hpp"
#include "runtime.hpp"

namespace kgsim {
namespace {

constexpr size_t kAlign = 512;
constexpr size_t kGuard = 1024;
// Addresses behind each allocation that nothing else gets, so that an access past its end hits no neighbour.
constexpr size_t kApart = size_t{32} << 20;
// Larger memory is left as the system gives it (zeros), so that untouched pages cost nothing.
constexpr size_t kPoisonLimit = size_t{1} << 30;

struct Pages {
    void* first = nullptr;
    size_t mapped = 0;    // bytes that can be used
    size_t reserved = 0;  // addresses that are kept for it, those bytes among them
};

struct Allocation {
    size_t bytes;
    Pages pages;  // kGuard before the data they begin; none: from the C heap
    int kind;
    bool kept = false;  // by a graph
    bool freed = false; // while it was
};

struct Heap {
    std::mutex mutex;
    std::map<uint64_t, Allocation> blocks;
    uint64_t allocated = 0, peak = 0, refused = 0;
};

Heap& heap() {
    static auto* heap = new Heap;
    return *heap;
}

bool counts(int kind) { return kind == kKindDevice || kind == kKindManaged; }

void note_size(Heap& all, const Allocation& block, int sign) {
    if (!counts(block.kind)) return;
    all.allocated += sign * static_cast<int64_t>(block.bytes);
    all.peak = std::max(all.peak, all.allocated);
}

// The host's own memory is not a region: kernels can't access it. Host writes to common memory go unseen.
void register_block(uint64_t base, const Allocation& block, bool unwritten) {
    if (block.kind == kKindHost) return;
    unwritten = unwritten && block.kind == kKindDevice;
    const bool stores = runtime().settings.track_stores && block.kind == kKindDevice;
    add_region(base, block.bytes, kUnnamed, RegionKind::allocation, {false, unwritten, stores});
}

// Values that kernels store in memory that the host reads directly count as a copy to the host.
void note_values(uint64_t base, const Allocation& block) {
    if (block.kind != kKindPinned && block.kind != kKindManaged) return;
    const auto region = find_region(base);
    if (region && region->bytes_written_by_kernels >= kValues) count_call("values to the host");
}

// Out of host code's reach, where it has pages of its own.
void shut_in(uint64_t base, const Allocation& block) {
    if (block.kind != kKindDevice || block.pages.mapped == 0) return;
    gate_add(block.pages.first, block.pages.mapped, reinterpret_cast<void*>(base), block.bytes);
}

std::map<uint64_t, Allocation>::iterator block_of(Heap& all, uint64_t address) {
    auto next = all.blocks.upper_bound(address);
    if (next == all.blocks.begin()) return all.blocks.end();
    auto found = std::prev(next);
    const bool inside = address < found->first + std::max<size_t>(found->second.bytes, 1);
    return inside ? found : all.blocks.end();
}

uint64_t limit() {
    const auto& settings = runtime().settings;
    return settings.memory ? std::min(settings.memory, settings.gpu.memory) : settings.gpu.memory;
}

// Where the user has limited the process' addresses (ulimit -v) none are spent on what stays empty.
size_t apart() {
    static const bool limited = [] {
        rlimit addresses{};
        return getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
    }();
    return limited ? 0 : kApart;
}

Pages map_pages(size_t bytes, bool shared) {
    Pages pages{nullptr, bytes, bytes + apart()};
    constexpr int how = MAP_ANONYMOUS | MAP_NORESERVE;
    void* const all = mmap(nullptr, pages.reserved, PROT_NONE, MAP_PRIVATE | how, -1, 0);
    if (all == MAP_FAILED) return {};
    pages.first = mmap(all, bytes, PROT_READ | PROT_WRITE,
                       (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED | how, -1, 0);
    if (pages.first != MAP_FAILED) return pages;
    munmap(all, pages.reserved);
    return {};
}

void fill_with_poison(void* data, size_t bytes) {
    auto* const words = static_cast<uint64_t*>(data);
    std::fill(words, words + bytes / sizeof(uint64_t), fresh_poison);
}

}  // namespace
}  // namespace kgsim

using namespace kgsim;

static void* allocate(size_t bytes, int kind, bool own_pages) {
    auto& all = heap();
    {
        std::lock_guard lock(all.mutex);
        if (counts(kind) && (bytes > limit() || all.allocated + bytes > limit())) {
            all.refused = std::max<uint64_t>(all.refused, bytes);
            return nullptr;
        }
    }
    const bool dry_run = runtime().settings.dry_run;
    const size_t padded = (bytes + 2 * kGuard + kAlign - 1) / kAlign * kAlign;
    const bool large = own_pages || padded >= (size_t{1} << 17);
    // In a dry_run memory is shared: it does not count against the limit of a process' private memory.
    const Pages pages = large ? map_pages(padded, dry_run) : Pages{};
    void* const raw = large ? pages.first : std::aligned_alloc(kAlign, padded);
    if (raw == nullptr) return nullptr;
    auto* data = static_cast<char*>(raw) + kGuard;
    if (dry_run) {
        if (!large) std::memset(raw, 0, padded);
    } else if (bytes <= kPoisonLimit) {
        fill_with_poison(raw, padded);
    }
    const auto base = reinterpret_cast<uint64_t>(data);
    const bool captured = kind == kKindDevice && kgsim_capturing();
    const Allocation block{bytes, pages, kind, captured || (kind == kKindDevice && recording())};
    if (captured) kgsim_keep(data);
    else if (block.kept) record_memory(data);
    std::lock_guard lock(all.mutex);
    all.blocks[base] = block;
    note_size(all, block, 1);
    register_block(base, block, !dry_run);
    shut_in(base, block);
    return data;
}

KG_API void* kgsim_alloc(size_t bytes, int kind) {
    return allocate(bytes, kind, kind != kKindHost);
}

KG_API void* kgsim_alloc_result(size_t bytes) {
    return allocate(bytes, kKindHost, runtime().settings.gate);
}

KG_API void kgsim_free(void* data) {
    if (data == nullptr) return;
    auto& all = heap();
    const auto base = reinterpret_cast<uint64_t>(data);
    Allocation block;
    {
        std::lock_guard lock(all.mutex);
        const auto found = all.blocks.find(base);
        if (found == all.blocks.end()) return;
        found->second.freed = true;
        if (found->second.kept) return;
        block = found->second;
        all.blocks.erase(found);
        note_size(all, block, -1);
        note_values(base, block);
        if (block.kind != kKindHost) free_region(base);
    }
    if (block.pages.mapped) {
        gate_remove(block.pages.first);
        munmap(block.pages.first, block.pages.reserved);
    } else {
        std::free(static_cast<char*>(data) - kGuard);
    }
}

KG_API void kgsim_unkeep(void* data) {
    auto& all = heap();
    {
        std::lock_guard lock(all.mutex);
        const auto found = all.blocks.find(reinterpret_cast<uint64_t>(data));
        if (found == all.blocks.end()) return;
        found->second.kept = false;
        if (!found->second.freed) return;
    }
    kgsim_free(data);
}

KG_API void kgsim_to_device(void* data, int written) {
    auto& all = heap();
    std::lock_guard lock(all.mutex);
    const auto found = all.blocks.find(reinterpret_cast<uint64_t>(data));
    if (found == all.blocks.end() || found->second.kind != kKindHost) return;
    found->second.kind = kKindDevice;
    if (recording() && !found->second.kept) record_memory(data);
    found->second.kept |= recording();
    note_size(all, found->second, 1);
    register_block(found->first, found->second, !written && !runtime().settings.dry_run);
    shut_in(found->first, found->second);
}

KG_API int kgsim_dry_run(void) { return runtime().settings.dry_run; }

KG_API int kgsim_kind(const void* address) {
    auto& all = heap();
    std::lock_guard lock(all.mutex);
    const auto found = block_of(all, reinterpret_cast<uint64_t>(address));
    return found == all.blocks.end() ? -1 : found->second.kind;
}

KG_API void kgsim_written(const void* data, size_t bytes) {
    if (bytes) mark_initialised(reinterpret_cast<uint64_t>(data), bytes);
}

KG_API void kgsim_note_read(const void* data) { note_read(reinterpret_cast<uint64_t>(data)); }

KG_API size_t kgsim_unwritten_in(const void* data, size_t bytes) {
    return unwritten_bytes(reinterpret_cast<uint64_t>(data), bytes);
}

KG_API void kgsim_stored(const void* data, size_t item, size_t count, uint8_t* out) {
    stored_elements(reinterpret_cast<uint64_t>(data), item, count, out);
}

KG_API int kgsim_is_vast(size_t bytes) {
    return runtime().settings.track_stores && bytes >= (size_t{64} << 20);
}

KG_API int kgsim_zero(void* data, size_t bytes) {
    if (!kgsim_is_vast(bytes)) return 0;
    const DeviceMemoryOpen open;
    return make_zero(static_cast<uint8_t*>(data), bytes);
}

KG_API int kgsim_copy(void* to, const void* from, size_t bytes) {
    auto* const out = static_cast<uint8_t*>(to);
    auto* const in = static_cast<const uint8_t*>(from);
    const bool apart = out + bytes <= in || in + bytes <= out;
    if (!kgsim_is_vast(bytes) || !apart || kgsim_kind(to) != kKindDevice) return 0;
    const DeviceMemoryOpen open;
    return copy_what_is_there(out, in, bytes);
}

KG_API uint64_t kgsim_stored_bytes(const void* data) {
    const auto region = find_region(reinterpret_cast<uint64_t>(data));
    return region ? region->bytes_written_by_kernels : 0;
}

KG_API void kgsim_mark_input(void* data, size_t bytes, const char* name) {
    const auto region = find_region(reinterpret_cast<uint64_t>(data));
    if (!region) return;
    kgsim_written(data, bytes);
    rename_region(region->id, name);
    set_read_only(region->id, true);
}

KG_API void kgsim_name_memory(const void* data, const char* name) {
    const auto region = find_region(reinterpret_cast<uint64_t>(data));
    if (region && !region->read_only && region->name != name) rename_region(region->id, name);
}

KG_API void kgsim_note_values() {
    auto& all = heap();
    std::lock_guard lock(all.mutex);
    for (const auto& [base, block] : all.blocks) note_values(base, block);
}

KG_API uint64_t kgsim_memory(int what) {
    auto& all = heap();
    std::lock_guard lock(all.mutex);
    if (what == 3) {
        all.peak = all.allocated;
        all.refused = 0;
    }
    return what == 0 ? all.allocated : what == 1 ? all.peak : all.refused;
}
