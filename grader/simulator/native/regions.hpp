// Memory that kernels may access.
#pragma once

#include <atomic>

#include "code.hpp"

namespace kgsim {

struct Region {
    u64 base = 0, end = 0;
    RegionId id = -1;
    RegionKind kind = RegionKind::allocation;
    bool live = true, read_only = false;
    u8* init = nullptr;    // one byte a byte; null: all initialised
    u8* stored = nullptr;  // one byte a byte, set by kernels' stores; null: not kept
    std::string name;
    std::atomic<u64> written{0};
    // Of unwritten values: none, stored here, read from here since.
    enum Taken : u8 { none, unread, read };
    std::atomic<Taken> taken{none};
    void note_read() { if (taken.load(std::memory_order_relaxed) == unread) taken.store(read, std::memory_order_relaxed); }
    void note_taken() { if (taken.load(std::memory_order_relaxed) == none) taken.store(unread, std::memory_order_relaxed); }
    std::atomic<u64*> cells{nullptr};  // last plain writers in this launch (global_races.cpp)
    size_t cell_bytes = 0;  // of the mapping
    size_t cells_in_use = 0;  // bytes of it that this launch can access
    const void* holds = nullptr;  // its contents at the last restore (kept_memory.hpp)
    std::vector<u8> pages;        // pages that kernels have written since then; empty: not kept
    void note_pages(u64 low, u64 end) {
        if (pages.empty()) return;
        for (u64 k = (low - base) / 4096; k <= (end - 1 - base) / 4096; ++k) pages[k] = 1;
    }
};
// Memory that reads as zero and costs nothing until it is accessed; null where there is none.
void* untouched(u64 bytes);
// Before a launch whose narrowest store to global memory has `cell` bytes.
void forget_writers(Region& region, u32 cell);
void drop_writers(Region& region);

// Regions as a launch sees them: sorted, fixed while it runs.
struct RegionMap {
    std::vector<Region*> sorted;
    std::vector<Region*> freed;
    Region* find(u64 address) const;     // the live region that holds the address, or null
    Region* nearest(u64 address) const;  // the live one closest to it
};
RegionMap snapshot_regions();

}  // namespace kgsim
