#pragma once
#include_next <cub/warp/warp_reduce.cuh>
#include <cub/kg_operators.h>
