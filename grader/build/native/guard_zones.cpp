// An allocator for torch on a GPU: every block lies between zones of poison.
//
// Inputs, outputs, weights and workspaces of a guest come from here (torch's CUDAPluggableAllocator). What a kernel reads
// in a zone is poison; what it writes there is found when the grader looks, and the zone is filled again. Blocks are cut
// out of slabs and kept for the next of their size. A block that was freed is given out again only once the whole GPU
// has been idle, so that no stream can still be using it; one that was made while a stream was captured never is, since
// a graph knows its address.
//
// CUDA's driver is loaded at run time: compiling this takes neither CUDA's headers nor a GPU, and a test puts memory of
// the host in the GPU's place. Blocks are filled in a stream of its own that is waited for: whichever stream the program
// uses its memory in, the filling is over.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#define KGZ_API extern "C" __attribute__((visibility("default")))

namespace {

using Address = uint64_t;
using Stream = void*;

// `outside_poison` and `fresh_poison` of the simulator (simulator/native/sim.hpp), 32 bits of them.
constexpr uint32_t kOutside = 0x7FFB7FFB, kFresh = 0x7FFD7FFD;
constexpr size_t kAlign = 512;
constexpr size_t kFront = size_t{64} << 10;  // of the zone before a block, and the least of the one behind it
constexpr size_t kMostBehind = size_t{1} << 20;
constexpr size_t kSlab = size_t{64} << 20, kLargest = size_t{8} << 20;  // of a slab; of what is cut out of one
constexpr size_t kStaged = size_t{8} << 20;
constexpr size_t kMostFreed = size_t{4} << 30;  // freed and not yet given out again, beyond which the GPU is waited for
constexpr unsigned kNonBlocking = 1;
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

struct Driver {
    int (*alloc)(Address*, size_t);
    int (*fill)(Address, unsigned, size_t, Stream);
    int (*fill_bytes)(Address, unsigned char, size_t, Stream);
    int (*to_host)(void*, Address, size_t, Stream);
    int (*alloc_host)(void**, size_t);
    int (*make_stream)(Stream*, unsigned);
    int (*wait)(Stream);
    int (*capturing)(Stream, int*);
    int (*exchange_mode)(int*);
    int (*wait_for_all)();
    int (*context)(void**);
    int (*use_context)(void*);
    int (*device)(int*, int);
    int (*retain)(void**, int);
};

enum class Use { live, freed, idle };

struct Block {
    size_t bytes = 0;  // that were asked for
    size_t room = 0;   // of all, zones among them
    Use use = Use::live;
    bool captured = false;
};

// What the grader is told of a zone: offsets in bytes from the block's start, of the first and the last byte that was
// overwritten (negative before it, from `bytes` on behind it), and how many were.
struct Stray {
    uint64_t data, bytes;
    int64_t first, last;
    uint64_t count;
};

struct Zones {
    std::mutex mutex;
    Driver driver{};
    bool open = false;
    Stream stream = nullptr;
    uint8_t* staged = nullptr;
    std::map<Address, Block> blocks;           // by where their first zone begins
    std::multimap<size_t, Address> idle;       // by room
    Address slab = 0;
    size_t slab_left = 0;
    size_t freed = 0, held = 0;                // bytes
    std::vector<Stray> found;
};

Zones& zones() {
    static auto* all = new Zones;  // torch frees tensors while the process ends
    return *all;
}

size_t up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

size_t behind(size_t bytes) { return std::clamp(up(bytes, kAlign), kFront, kMostBehind); }

// Few different sizes, so that most blocks find one of the same that was freed.
size_t room_for(size_t bytes) {
    const size_t needed = kFront + up(bytes, kAlign) + behind(bytes);
    size_t step = kAlign;
    while (step * 16 < needed) step *= 2;
    return up(needed, step);
}

template <class F>
bool load(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
}

bool load_all(void* library, Driver& d) {
    return load(library, "cuMemAlloc_v2", d.alloc) && load(library, "cuMemsetD32Async", d.fill) &&
           load(library, "cuMemsetD8Async", d.fill_bytes) && load(library, "cuMemcpyDtoHAsync_v2", d.to_host) &&
           load(library, "cuMemAllocHost_v2", d.alloc_host) && load(library, "cuStreamCreate", d.make_stream) &&
           load(library, "cuStreamSynchronize", d.wait) && load(library, "cuStreamIsCapturing", d.capturing) &&
           load(library, "cuThreadExchangeStreamCaptureMode", d.exchange_mode) &&
           load(library, "cuCtxSynchronize", d.wait_for_all) && load(library, "cuCtxGetCurrent", d.context) &&
           load(library, "cuCtxSetCurrent", d.use_context) && load(library, "cuDeviceGet", d.device) &&
           load(library, "cuDevicePrimaryCtxRetain", d.retain);
}

// A thread that has called nothing of CUDA's yet has no context, where the runtime would give it the device's.
bool enter(Zones& z, int device) {
    void* context = nullptr;
    if (z.driver.context(&context) == 0 && context != nullptr) return true;
    int number = 0;
    return z.driver.device(&number, device) == 0 && z.driver.retain(&context, number) == 0 &&
           z.driver.use_context(context) == 0;
}

// While one lives, this thread may allocate though a stream is being captured.
class Relaxed {
 public:
    explicit Relaxed(Zones& z) : z_(z) { z_.driver.exchange_mode(&mode_); }
    ~Relaxed() { z_.driver.exchange_mode(&mode_); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

 private:
    Zones& z_;
    int mode_ = kRelaxed;
};

// In doubt it is: the legacy stream can't be asked while another one that it waits for is captured.
bool captured(Zones& z, Stream stream) {
    int status = 0;
    return z.driver.capturing(stream, &status) != 0 || status != 0;
}

bool ready(Zones& z) {
    if (z.stream == nullptr && z.driver.make_stream(&z.stream, kNonBlocking) != 0) return false;
    void* memory = z.staged;
    if (memory == nullptr && z.driver.alloc_host(&memory, kStaged) != 0) return false;
    z.staged = static_cast<uint8_t*>(memory);
    return true;
}

uint8_t outside_byte(Address at) { return uint8_t(kOutside >> at % 4 * 8); }

bool fill_zone(Zones& z, Address from, Address to) {
    const Address whole = std::min<Address>(up(from, 4), to);
    for (; from < whole; ++from)
        if (z.driver.fill_bytes(from, outside_byte(from), 1, z.stream) != 0) return false;
    return from == to || z.driver.fill(from, kOutside, (to - from) / 4, z.stream) == 0;
}

bool fill_block(Zones& z, Address at, const Block& block) {
    const Address data = at + kFront;
    return fill_zone(z, at, data) && z.driver.fill(data, kFresh, up(block.bytes, 4) / 4, z.stream) == 0 &&
           fill_zone(z, data + block.bytes, at + block.room) && z.driver.wait(z.stream) == 0;
}

// Looks at bytes of a zone that have been copied to the host; `at` is where they begin.
void compare(const uint8_t* copy, Address at, size_t bytes, Address data, Stray& stray) {
    for (size_t k = 0; k < bytes; ++k) {
        if (copy[k] == outside_byte(at + k)) continue;
        const int64_t offset = int64_t(at + k - data);
        if (stray.count++ == 0) stray.first = offset;
        stray.last = offset;
    }
}

bool untouched(const uint8_t* copy, Address at, size_t bytes) {
    for (size_t k = 0; k < std::min<size_t>(bytes, 4); ++k)
        if (copy[k] != outside_byte(at + k)) return false;
    return bytes <= 4 || std::memcmp(copy, copy + 4, bytes - 4) == 0;  // the pattern comes again every 4 bytes
}

struct Part {
    Address block, at;
    size_t bytes, staged;
};

// The zones of all blocks in use, in pieces that fit into the staged memory together.
struct Look {
    Zones& z;
    std::vector<Part> parts;
    size_t staged = 0;
    std::map<Address, Stray> strays;

    bool add(Address block, Address from, Address to) {
        while (from < to) {
            if (staged == kStaged && !finish()) return false;
            const size_t bytes = std::min<size_t>(to - from, kStaged - staged);
            if (z.driver.to_host(z.staged + staged, from, bytes, z.stream) != 0) return false;
            parts.push_back({block, from, bytes, staged});
            staged += bytes;
            from += bytes;
        }
        return true;
    }

    bool finish() {
        if (z.driver.wait(z.stream) != 0) return false;
        for (const Part& part : parts) {
            const uint8_t* copy = z.staged + part.staged;
            if (untouched(copy, part.at, part.bytes)) continue;
            const Address data = part.block + kFront;
            auto& stray = strays.try_emplace(part.block, Stray{data, z.blocks[part.block].bytes, 0, 0, 0}).first->second;
            compare(copy, part.at, part.bytes, data, stray);
            fill_zone(z, part.at, part.at + part.bytes);
        }
        parts.clear();
        staged = 0;
        return z.driver.wait(z.stream) == 0;
    }
};

bool look(Zones& z) {
    Look all{z, {}, 0, {}};
    for (const auto& [at, block] : z.blocks) {
        if (block.use == Use::idle) continue;
        const Address data = at + kFront;
        if (!all.add(at, at, data) || !all.add(at, data + block.bytes, at + block.room)) return false;
    }
    if (!all.finish()) return false;
    for (const auto& [at, stray] : all.strays) z.found.push_back(stray);
    return true;
}

// Waits for the GPU, looks at all zones, and lets freed blocks be given out again. False where a stream is being
// captured, or the context is lost.
bool sweep(Zones& z) {
    if (!ready(z) || z.driver.wait_for_all() != 0 || !look(z)) return false;
    for (auto& [at, block] : z.blocks) {
        if (block.use != Use::freed || block.captured) continue;
        block.use = Use::idle;
        z.idle.emplace(block.room, at);
    }
    z.freed = 0;
    return true;
}

Address cut(Zones& z, size_t room) {
    Address at = 0;
    if (room > kLargest) return z.driver.alloc(&at, room) == 0 ? (z.held += room, at) : 0;
    if (z.slab_left < room) {
        if (z.driver.alloc(&z.slab, kSlab) != 0) {
            z.slab_left = 0;
            return z.driver.alloc(&at, room) == 0 ? (z.held += room, at) : 0;
        }
        z.slab_left = kSlab;
        z.held += kSlab;
    }
    at = z.slab;
    z.slab += room;
    z.slab_left -= room;
    return at;
}

Address take_idle(Zones& z, size_t room) {
    const auto found = z.idle.lower_bound(room);
    if (found == z.idle.end() || found->first > room + room / 4) return 0;
    const Address at = found->second;
    z.idle.erase(found);
    return at;
}

Address take(Zones& z, size_t room, bool capturing) {
    if (!capturing && z.freed > kMostFreed) sweep(z);
    if (const Address at = take_idle(z, room)) return at;
    if (const Address at = cut(z, room)) return at;
    return !capturing && sweep(z) ? take_idle(z, room) : 0;
}

}  // namespace

// Loads the driver by its name or path; 0, or -1 where it isn't there or lacks something.
KGZ_API int kgz_open(const char* driver) {
    auto& z = zones();
    std::lock_guard lock(z.mutex);
    void* const library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
    z.open = library != nullptr && load_all(library, z.driver);
    return z.open ? 0 : -1;
}

// Throws std::bad_alloc where there is no memory: torch takes what it gets for memory.
KGZ_API void* kgz_alloc(size_t bytes, int device, Stream stream) {
    if (bytes == 0) return nullptr;
    auto& z = zones();
    std::lock_guard lock(z.mutex);
    if (!z.open || !enter(z, device)) throw std::bad_alloc();
    const bool capturing = captured(z, stream);
    const Relaxed relaxed(z);
    const size_t room = room_for(bytes);
    const Address at = ready(z) ? take(z, room, capturing) : 0;
    if (at == 0) throw std::bad_alloc();
    Block& block = z.blocks[at];
    block = {bytes, std::max(block.room, room), Use::live, capturing};
    if (!fill_block(z, at, block)) throw std::bad_alloc();
    return reinterpret_cast<void*>(at + kFront);
}

KGZ_API void kgz_free(void* data, size_t, int, Stream) {
    if (data == nullptr) return;
    auto& z = zones();
    std::lock_guard lock(z.mutex);
    const auto found = z.blocks.find(reinterpret_cast<Address>(data) - kFront);
    if (found == z.blocks.end() || found->second.use != Use::live) return;
    found->second.use = Use::freed;
    z.freed += found->second.room;
}

// Once the program's work is done: looks at all zones and fills them again. Returns how many blocks have a zone that was
// overwritten, and writes at most `most` of them; -1 where it can't look.
KGZ_API int kgz_look(Stray* out, int most) {
    auto& z = zones();
    std::lock_guard lock(z.mutex);
    if (!z.open || !enter(z, 0) || !sweep(z)) return -1;
    const int count = int(z.found.size());
    std::copy_n(z.found.begin(), std::min(count, most), out);
    z.found.clear();
    return count;
}

// Bytes that are held of the GPU's memory.
KGZ_API uint64_t kgz_held() {
    auto& z = zones();
    std::lock_guard lock(z.mutex);
    return z.held;
}
