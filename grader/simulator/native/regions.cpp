// The registry of memory that kernels may access.
#include <algorithm>
#include <cstring>
#include <set>
#include <sys/mman.h>

#include "core.hpp"
#include "exact.hpp"
#include "provenance.hpp"

namespace kgsim {
namespace {

constexpr size_t most_freed = 4096;
constexpr u64 page = 4096;

u8* shadow(u64 size) { return static_cast<u8*>(untouched(size ? size : 1)); }
void copy_shadow(u8* to, const u8* from, u64 size) {
    const bool apart = to + size <= from || from + size <= to;
    const bool large = size >= u64(64) << 20;
    if (!large || !apart || !copy_what_is_there(to, from, size)) std::memmove(to, from, size);
}
void drop_shadow(Region& r) {
    for (u8** map : {&r.init, &r.stored}) {
        if (*map) munmap(*map, r.end > r.base ? r.end - r.base : 1);
        *map = nullptr;
    }
    drop_writers(r);
}

struct Registry {
    std::mutex lock;
    std::map<u64, std::unique_ptr<Region>> live;  // by base
    std::vector<std::unique_ptr<Region>> freed;
    std::set<RegionId> unread;  // freed before anything read the unwritten values that had been stored there
    RegionId next = 1;

    Region* holding(u64 address) {
        auto it = live.upper_bound(address);
        if (it == live.begin()) return nullptr;
        Region* r = std::prev(it)->second.get();
        return address < r->end || address == r->base ? r : nullptr;
    }
    void retire(std::map<u64, std::unique_ptr<Region>>::iterator it) {
        Region& r = *it->second;
        r.live = false;
        // Memory that the host shares is read unseen.
        if (r.init && r.taken.load() == Region::unread) unread.insert(r.id);
        drop_shadow(r);
        freed.push_back(std::move(it->second));
        live.erase(it);
        if (freed.size() > most_freed) freed.erase(freed.begin(), freed.begin() + most_freed / 2);
    }
};
Registry& registry() {
    static Registry* r = new Registry;  // outlives everything that may still free a region at exit
    return *r;
}

}  // namespace

void* untouched(u64 bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    // Large pages, where few touched bytes of a huge region can't make it all real.
    if (bytes >= u64(2) << 20 && bytes <= u64(64) << 20) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static u8* next_page(const u8* data) { return reinterpret_cast<u8*>((reinterpret_cast<u64>(data) + page - 1) / page * page); }

bool make_zero(u8* data, u64 bytes) {
    u8* const first = next_page(data);
    u8* const end = data + bytes;
    if (first >= end) return std::memset(data, 0, bytes);
    const u64 whole = u64(end - first) / page * page;
    if (madvise(first, whole, MADV_DONTNEED) != 0) return false;
    std::memset(data, 0, first - data);
    std::memset(first + whole, 0, end - (first + whole));
    return true;
}

bool copy_what_is_there(u8* to, const u8* from, u64 bytes) {
    static const u8 zeros[page] = {};
    if (!make_zero(to, bytes)) return false;
    // Reading untouched memory then takes one fault for each large page, and still no memory.
    if (bytes > page) madvise(next_page(from), bytes - page, MADV_HUGEPAGE);
    for (u64 at = 0; at < bytes; at += page) {
        const u64 n = std::min(page, bytes - at);
        if (std::memcmp(from + at, zeros, n) != 0) std::memcpy(to + at, from + at, n);
    }
    return true;
}

RegionId add_region(u64 base, u64 size, const std::string& name, RegionKind kind, RegionFlags flags) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    provenance().forget(base, size);
    exact().renewed(base, size);
    if (base + size < base) return -1;
    auto it = reg.live.upper_bound(base);
    if (it != reg.live.begin()) --it;
    while (it != reg.live.end() && it->first < base + (size ? size : 1)) {
        auto here = it++;
        const Region& r = *here->second;
        if (r.end > base || r.base == base) reg.retire(here);
    }
    std::erase_if(reg.freed, [&](const auto& old) { return old->base < base + size && old->end > base; });
    auto r = std::make_unique<Region>();
    r->base = base;
    r->end = base + size;
    r->id = reg.next++;
    r->kind = kind;
    r->name = name;
    r->read_only = flags.read_only;
    if (flags.uninitialised && size) r->init = shadow(size);
    if (flags.stores && size) r->stored = shadow(size);
    const RegionId id = r->id;
    reg.live[base] = std::move(r);
    return id;
}

bool free_region(u64 base) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    auto it = reg.live.find(base);
    if (it == reg.live.end()) return false;
    reg.retire(it);
    return true;
}

static Region* by_id(Registry& reg, RegionId id) {
    for (auto& [base, r] : reg.live) if (r->id == id) return r.get();
    for (auto& r : reg.freed) if (r->id == id) return r.get();
    return nullptr;
}

void rename_region(RegionId id, const std::string& name) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    if (Region* r = by_id(reg, id)) r->name = name;
}
void set_read_only(RegionId id, bool read_only) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    if (Region* r = by_id(reg, id)) r->read_only = read_only;
}

void mark_initialised(u64 address, u64 size) {
    provenance().forget(address, size);
    exact().forget(address, size);
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region* r = reg.holding(address);
    if (!r || !r->init) return;
    const u64 n = std::min(size, r->end - address);
    if (n == r->end - r->base) {
        munmap(r->init, n);
        r->init = nullptr;
        return;
    }
    std::memset(r->init + (address - r->base), 1, n);
}

void copy_initialised(u64 to, u64 from, u64 size) {
    provenance().copied(to, from, size);
    exact().copied(to, from, size);
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region *t = reg.holding(to), *f = reg.holding(from);
    if (t && t->stored && f && f->stored)
        copy_shadow(t->stored + (to - t->base), f->stored + (from - f->base),
                    std::min({size, t->end - to, f->end - from}));
    if (!t || !t->init) return;
    const u64 n = std::min(size, t->end - to);
    u8* out = t->init + (to - t->base);
    if (!f || !f->init) {
        std::memset(out, 1, n);
        return;
    }
    const u64 known = std::min(n, f->end - from);
    copy_shadow(out, f->init + (from - f->base), known);
    std::memset(out + known, 1, n - known);
}

u64 unwritten_bytes(u64 address, u64 size) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region* r = reg.holding(address);
    if (!r || !r->init) return 0;
    const u64 n = std::min(size, r->end - address);
    const u8* at = r->init + (address - r->base);
    return u64(std::count(at, at + n, u8(0)));
}
u64 unwritten_bytes(u64 address) {
    u64 base = 0, size = 0;
    {
        Registry& reg = registry();
        std::lock_guard guard(reg.lock);
        if (Region* r = reg.holding(address)) { base = r->base; size = r->end - r->base; }
    }
    return size ? unwritten_bytes(base, size) : 0;
}

void stored_elements(u64 address, u64 item, u64 count, u8* out) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region* r = reg.holding(address);
    if (!r || !r->stored) return;
    for (u64 i = 0; i < count && address + (i + 1) * item <= r->end; ++i)
        out[i] = r->stored[address - r->base + i * item];
}

void note_read(u64 address) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    if (Region* r = reg.holding(address)) r->note_read();
}
bool freed_unread(RegionId id) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    return reg.unread.count(id) > 0;
}

static RegionInfo info(const Region& r) {
    return {r.id, r.base, r.end - r.base, r.name, r.kind, r.live, r.read_only, r.written.load()};
}
std::optional<RegionInfo> find_region(u64 address) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region* r = reg.holding(address);
    return r ? std::optional(info(*r)) : std::nullopt;
}
std::optional<RegionInfo> region_by_id(RegionId id) {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    Region* r = by_id(reg, id);
    return r ? std::optional(info(*r)) : std::nullopt;
}

RegionMap snapshot_regions() {
    Registry& reg = registry();
    std::lock_guard guard(reg.lock);
    RegionMap map;
    for (auto& [base, r] : reg.live) if (r->end > r->base) map.sorted.push_back(r.get());
    for (auto& r : reg.freed) map.freed.push_back(r.get());
    return map;
}

Region* RegionMap::find(u64 address) const {
    auto it = std::upper_bound(sorted.begin(), sorted.end(), address, [](u64 a, const Region* r) { return a < r->base; });
    if (it == sorted.begin()) return nullptr;
    Region* r = *std::prev(it);
    return address < r->end ? r : nullptr;
}

Region* RegionMap::nearest(u64 address) const {
    auto it = std::upper_bound(sorted.begin(), sorted.end(), address, [](u64 a, const Region* r) { return a < r->base; });
    Region* after = it == sorted.end() ? nullptr : *it;
    Region* before = it == sorted.begin() ? nullptr : *std::prev(it);
    if (!before || !after) return before ? before : after;
    return address - before->end < after->base - address ? before : after;
}

}  // namespace kgsim
