#pragma once
#include_next <c10/cuda/CUDAMathCompat.h>
