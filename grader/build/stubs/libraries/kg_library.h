// Stand-ins for the headers of cuBLAS, cuSPARSE and cuSOLVER on a machine that lacks them: the types
// that torch's own CUDA headers name, and of cuBLAS what the simulator runs. A program that calls more
// than that isn't judged there (see lacking.py).
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>
