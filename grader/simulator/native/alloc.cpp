// Memory of tensors and of cudaMalloc: exact bounds, guards, a poison that shows in every format.

#include "guard_alloc.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "gate.hpp"
#include "runtime.hpp"

namespace kgsim {
namespace {

constexpr size_t kAlign = 512;
constexpr size_t kGuard = 1024;
// In a rehearsal nothing else lies so near behind a large tensor that an access past its end would hit it.
constexpr size_t kApart = size_t{32} << 20;
// Two bytes that are a quiet NaN in half and bfloat16, and repeated in float; huge in double and int.
constexpr uint16_t kPoison = 0x7FE5;
// Larger memory is left as the system gives it (zeros), so that untouched pages cost nothing.
constexpr size_t kPoisonLimit = size_t{1} << 30;

struct Block {
    size_t bytes;
    size_t mapped;  // bytes of the mapping that starts kGuard before the data; 0: from the C heap
    int kind;
    bool kept = false;  // by a graph
    bool freed = false; // while it was
};

struct Heap {
    std::mutex mutex;
    std::map<uint64_t, Block> blocks;
    uint64_t allocated = 0, peak = 0, refused = 0;
};

Heap& heap() {
    static auto* heap = new Heap;
    return *heap;
}

bool counts(int kind) { return kind == kKindDevice || kind == kKindManaged; }

void note_size(Heap& all, const Block& block, int sign) {
    if (!counts(block.kind)) return;
    all.allocated += sign * static_cast<int64_t>(block.bytes);
    all.peak = std::max(all.peak, all.allocated);
}

// The host's own memory is no region: kernels can't touch it. What both can, the host writes without our seeing it.
void register_block(uint64_t base, const Block& block, bool unwritten) {
    if (block.kind == kKindHost) return;
    unwritten = unwritten && block.kind == kKindDevice;
    const bool stores = runtime().settings.track_stores && block.kind == kKindDevice;
    add_region(base, block.bytes, "device memory", RegionKind::allocation, {false, unwritten, stores});
}

// What kernels put where the host reads it as its own is a copy to the host.
void note_values(uint64_t base, const Block& block) {
    if (block.kind != kKindPinned && block.kind != kKindManaged) return;
    const auto region = find_region(base);
    if (region && region->bytes_written_by_kernels >= kValues) count_call("values to the host");
}

// Out of host code's reach, where it has pages of its own.
void shut_in(uint64_t base, const Block& block) {
    if (block.kind != kKindDevice || block.mapped == 0) return;
    gate_add(reinterpret_cast<void*>(base - kGuard), block.mapped, reinterpret_cast<void*>(base),
             block.bytes);
}

std::map<uint64_t, Block>::iterator block_of(Heap& all, uint64_t address) {
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
    const bool rehearsal = runtime().settings.rehearsal;
    const size_t apart = rehearsal && bytes >= kApart / 4 ? kApart : 0;
    const size_t mapped = (bytes + 2 * kGuard + apart + kAlign - 1) / kAlign * kAlign;
    const bool large = own_pages || mapped >= (size_t{1} << 17);
    // Shared memory does not count against the limit of a process' private memory.
    const int share = rehearsal ? MAP_SHARED : MAP_PRIVATE;
    void* raw = large ? mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                             share | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                      : std::aligned_alloc(kAlign, mapped);
    if (raw == nullptr || raw == MAP_FAILED) return nullptr;
    auto* data = static_cast<char*>(raw) + kGuard;
    if (rehearsal) {
        if (!large) std::memset(raw, 0, mapped);
    } else if (bytes <= kPoisonLimit) {
        auto* words = static_cast<uint16_t*>(raw);
        std::fill(words, words + mapped / 2, kPoison);
    }
    const auto base = reinterpret_cast<uint64_t>(data);
    const Block block{bytes, large ? mapped : 0, kind, kind == kKindDevice && kgsim_capturing()};
    if (block.kept) kgsim_keep(data);
    std::lock_guard lock(all.mutex);
    all.blocks[base] = block;
    note_size(all, block, 1);
    register_block(base, block, !rehearsal);
    shut_in(base, block);
    return data;
}

KG_API void* kgsim_alloc(size_t bytes, int kind) {
    return allocate(bytes, kind, kind == kKindDevice && runtime().settings.gate);
}

KG_API void* kgsim_alloc_result(size_t bytes) {
    return allocate(bytes, kKindHost, runtime().settings.gate);
}

KG_API void kgsim_free(void* data) {
    if (data == nullptr) return;
    auto& all = heap();
    const auto base = reinterpret_cast<uint64_t>(data);
    Block block;
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
    void* raw = static_cast<char*>(data) - kGuard;
    if (block.mapped) {
        gate_remove(raw);
        munmap(raw, block.mapped);
    } else {
        std::free(raw);
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
    note_size(all, found->second, 1);
    register_block(found->first, found->second, !written && !runtime().settings.rehearsal);
    shut_in(found->first, found->second);
}

KG_API int kgsim_rehearsal(void) { return runtime().settings.rehearsal; }

KG_API int kgsim_kind(const void* address) {
    auto& all = heap();
    std::lock_guard lock(all.mutex);
    const auto found = block_of(all, reinterpret_cast<uint64_t>(address));
    return found == all.blocks.end() ? -1 : found->second.kind;
}

KG_API void kgsim_written(const void* data, size_t bytes) {
    if (bytes) mark_initialised(reinterpret_cast<uint64_t>(data), bytes);
}

KG_API size_t kgsim_unwritten_in(const void* data, size_t bytes) {
    return unwritten_bytes(reinterpret_cast<uint64_t>(data), bytes);
}

KG_API void kgsim_stored(const void* data, size_t item, size_t count, uint8_t* out) {
    stored_elements(reinterpret_cast<uint64_t>(data), item, count, out);
}

KG_API int kgsim_zero(void* data, size_t bytes) {
    constexpr size_t large = size_t{64} << 20, page = 4096;
    if (!runtime().settings.track_stores || bytes < large) return 0;
    auto* begin = static_cast<char*>(data);
    auto* first = reinterpret_cast<char*>((reinterpret_cast<uint64_t>(begin) + page - 1) / page * page);
    const size_t whole = (bytes - (first - begin)) / page * page;
    if (madvise(first, whole, MADV_DONTNEED) != 0) return 0;
    const DeviceMemoryOpen open;
    std::memset(begin, 0, first - begin);
    std::memset(first + whole, 0, begin + bytes - (first + whole));
    return 1;
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
