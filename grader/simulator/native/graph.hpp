// CUDA graphs: work for a captured stream is kept, and done at each launch of the graph.
#pragma once

#include <functional>

#include "runtime.hpp"

namespace kgsim {

using Work = std::function<cudaError_t()>;

// Whether a capture is under way, on any stream.
bool capturing();
// Work for a stream: kept while the stream is being captured, otherwise done. A failed capture keeps none.
cudaError_t give(cudaStream_t stream, Work work);
// The error of a call that is forbidden during a capture, which it invalidates; cudaSuccess otherwise.
cudaError_t forbidden();
// The same for calls that may wait or free memory: a relaxed capture allows them.
cudaError_t unsafe();
// The same for calls on the legacy stream that wait for it.
cudaError_t waits();
// The same for waiting for, or querying, this stream or event.
cudaError_t asks(cudaStream_t stream);
cudaError_t asks(cudaEvent_t event);
// Events carry a capture from stream to stream.
void record(cudaEvent_t event, cudaStream_t stream);
void wait(cudaStream_t stream, cudaEvent_t event);

}  // namespace kgsim
