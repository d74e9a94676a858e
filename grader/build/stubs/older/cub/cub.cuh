#pragma once
#include_next <cub/cub.cuh>
#include <cub/kg_operators.h>
