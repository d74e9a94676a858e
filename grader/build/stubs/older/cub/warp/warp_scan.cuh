#pragma once
#include_next <cub/warp/warp_scan.cuh>
#include <cub/kg_operators.h>
