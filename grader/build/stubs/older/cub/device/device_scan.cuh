#pragma once
#include_next <cub/device/device_scan.cuh>
#include <cub/kg_operators.h>
