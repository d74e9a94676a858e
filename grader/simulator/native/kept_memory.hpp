// Memory before a launch, to be restored: only bytes that kernels wrote since are copied.
#pragma once

#include <memory>

#include "regions.hpp"

namespace kgsim {

constexpr u64 kept_page = 4096;

// The bytes of one region, and which of them are written.
struct Piece {
    RegionId id = -1;
    u64 base = 0;
    std::vector<u8> bytes, init;
};
using Pieces = std::vector<std::shared_ptr<const Piece>>;

// The contents of all regions; parts equal to `last` are shared with it. None where they exceed `most` bytes.
Pieces keep_memory(const Pieces& last, u64 most);
// False where a region of them is gone.
bool restore_memory(const Pieces& pieces);
// Something other than a kernel may have written: the next restore copies everything.
void doubt_memory();

}  // namespace kgsim
