#ifndef kg_choice_
#include <cstdlib>
#include <cuda_runtime.h>
static __constant__ int kg_choice_device;
static int kg_choice_host;
#ifdef __CUDA_ARCH__
#define kg_choice_ kg_choice_device
#else
#define kg_choice_ kg_choice_host
#endif
static inline int kg_choice_turn() {
    const char* chosen = std::getenv("kg_choice_");
    kg_choice_host = chosen ? std::atoi(chosen) : 0;
    cudaMemcpyToSymbol(kg_choice_device, &kg_choice_host, sizeof(int));
    return 0;
}
#endif
