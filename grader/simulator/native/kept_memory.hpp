// Memory as it is before a launch, to be put back: only what kernels have written since is copied.
#pragma once

#include <memory>

#include "regions.hpp"

namespace kgsim {

constexpr u64 kept_page = 4096;

// The bytes of one region, and which of them somebody has written.
struct Piece {
    RegionId id = -1;
    u64 base = 0;
    std::vector<u8> bytes, init;
};
using Pieces = std::vector<std::shared_ptr<const Piece>>;

// What all regions hold; what is as in `last` is shared with it. None where it would be more than `most` bytes.
Pieces keep_memory(const Pieces& last, u64 most);
// False where a region of them is gone.
bool restore_memory(const Pieces& pieces);
// Others than kernels may have written: the next restoring copies all.
void doubt_memory();

}  // namespace kgsim
