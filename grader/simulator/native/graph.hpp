// CUDA graphs: work for a stream that is being captured is kept, and done whenever the graph is launched.
#pragma once

#include <functional>

#include "runtime.hpp"

namespace kgsim {

using Work = std::function<cudaError_t()>;

// Whether a capture is under way, on any stream.
bool capturing();
// Work for a stream: kept where the stream is being captured, else done. A capture that has failed keeps none.
cudaError_t give(cudaStream_t stream, Work work);
// What a call that no capture allows returns while one is under way, which it ruins; cudaSuccess otherwise.
cudaError_t forbidden();
// The same for calls that may wait or free memory: a relaxed capture allows them.
cudaError_t unsafe();
// The same for calls on the legacy stream that wait for it.
cudaError_t waits();
// The same for waiting for, or asking after, this stream or event.
cudaError_t asks(cudaStream_t stream);
cudaError_t asks(cudaEvent_t event);
// Events carry a capture from stream to stream.
void record(cudaEvent_t event, cudaStream_t stream);
void wait(cudaStream_t stream, cudaEvent_t event);

}  // namespace kgsim
