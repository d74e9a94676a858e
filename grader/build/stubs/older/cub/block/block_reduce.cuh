#pragma once
#include_next <cub/block/block_reduce.cuh>
#include <cub/kg_operators.h>
