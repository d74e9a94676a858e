#pragma once
#include_next <cub/device/device_reduce.cuh>
#include <cub/kg_operators.h>
