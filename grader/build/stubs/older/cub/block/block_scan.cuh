#pragma once
#include_next <cub/block/block_scan.cuh>
#include <cub/kg_operators.h>
