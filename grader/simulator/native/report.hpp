// Collecting what launches found and counted, for one JSON report.
#pragma once

#include "blob.hpp"

namespace kgsim {

struct LaunchReport {
    const Blob* module;
    const Code* code;  // null where the kernel could not be decoded
    std::string kernel;
    Dim3 grid, block;
    u64 dynamic_shared;
    LaunchResult result;
    u64 accesses;
    std::vector<u64> addresses;  // by parameter; 0 for one that is no address
};

void add_launch_report(LaunchReport launch, const Findings& findings, const std::vector<InsnCount>& counts,
                       const std::vector<BlockCount>& blocks);
std::optional<RegionInfo> region_by_id(RegionId id);

}  // namespace kgsim
