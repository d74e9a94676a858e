#pragma once

// A CPU build of torch comes without this file, which CMake writes for a CUDA build.
#define C10_CUDA_BUILD_SHARED_LIBS
