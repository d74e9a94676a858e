// Precompiled host view of CUDA, for clang in CUDA host-only mode: what nvcc shows host code before line 1.
// CUDA's and torch's own functions become plain host functions here (declared, never called from the device
// bodies, which are blanked), because clang refuses `__host__ __device__` beside the C library's own.
#pragma once
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __NV_NO_HOST_COMPILER_CHECK 1
#include <cuda.h>  // CUDA_VERSION
#define __CUDACC_VER_MAJOR__ (CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDA_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#include <crt/host_config.h>
#include <crt/host_defines.h>
#undef __host__
#undef __device__
#undef __global__
#define __host__
#define __device__
#define __global__
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#define __MATH_FUNCTIONS_H__
#define __MATH_FUNCTIONS_HPP__
#include "cuda_math.h"
#include <cuda_runtime.h>
#include <cuda_fp16.h>  // copies without inline assembly, made by prepare
#include <cuda_bf16.h>
