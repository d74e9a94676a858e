// Streams and events. Unless it is captured, everything is done when the call returns, so streams order nothing and
// events record a made-up clock: elapsed times go forward, and measure nothing.

#include <set>

#include "graph.hpp"

using namespace kgsim;

namespace {

struct Stream {
    unsigned flags;
    int priority;
};

struct Event {
    bool recorded = false;
    double time = 0;
};

// Handles that may be ours: a program can also pass the legacy stream and the like, or invalid numbers.
std::set<cudaStream_t>& made() {
    static auto* streams = new std::set<cudaStream_t>;
    return *streams;
}

Event* event_of(cudaEvent_t event) { return reinterpret_cast<Event*>(event); }

cudaError_t create_stream(cudaStream_t* out, unsigned flags, int priority) {
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    *out = reinterpret_cast<cudaStream_t>(new Stream{flags, priority});
    made().insert(*out);
    return finish(cudaSuccess);
}

cudaError_t create_event(cudaEvent_t* out) {
    if (out == nullptr) return finish(cudaErrorInvalidValue);
    *out = reinterpret_cast<cudaEvent_t>(new Event);
    return finish(cudaSuccess);
}

}  // namespace

KG_API cudaError_t cudaStreamCreate(cudaStream_t* out) {
    KG_ENTER("cudaStreamCreate");
    return create_stream(out, 0, 0);
}

KG_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
    KG_ENTER("cudaStreamCreateWithFlags");
    return create_stream(out, flags, 0);
}

KG_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned flags, int priority) {
    KG_ENTER("cudaStreamCreateWithPriority");
    return create_stream(out, flags, priority);
}

// Not freed: torch's stream ids and stale handles may still name it.
KG_API cudaError_t cudaStreamDestroy(cudaStream_t) {
    KG_ENTER("cudaStreamDestroy");
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    KG_ENTER("cudaStreamSynchronize");
    return asks(stream);
}

KG_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
    KG_ENTER("cudaStreamQuery");
    return asks(stream);
}

KG_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    KG_ENTER("cudaStreamWaitEvent");
    wait(stream, event);
    return finish(event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

KG_API cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
    KG_ENTER("cudaStreamGetPriority");
    *priority = 0;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    KG_ENTER("cudaStreamGetFlags");
    *flags = made().count(stream) ? reinterpret_cast<const Stream*>(stream)->flags : 0;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    KG_ENTER("cudaDeviceGetStreamPriorityRange");
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    KG_ENTER("cudaLaunchHostFunc");
    return give(stream, [=] {
        function(data);
        return finish(cudaSuccess);
    });
}

KG_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                         unsigned) {
    KG_ENTER("cudaStreamAddCallback");
    if (const auto error = asks(stream)) return error;
    callback(stream, cudaSuccess, data);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaEventCreate(cudaEvent_t* out) {
    KG_ENTER("cudaEventCreate");
    return create_event(out);
}

KG_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
    KG_ENTER("cudaEventCreateWithFlags");
    return create_event(out);
}

KG_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    KG_ENTER("cudaEventDestroy");
    if (event == nullptr) return finish(cudaErrorInvalidResourceHandle);
    delete event_of(event);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    KG_ENTER("cudaEventRecord");
    if (event == nullptr) return finish(cudaErrorInvalidResourceHandle);
    record(event, stream);
    *event_of(event) = {true, runtime().device_time += 1e-6};
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return cudaEventRecord(event, stream);
}

KG_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    KG_ENTER("cudaEventSynchronize");
    if (const auto error = asks(event)) return error;
    return finish(event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

KG_API cudaError_t cudaEventQuery(cudaEvent_t event) {
    KG_ENTER("cudaEventQuery");
    if (const auto error = asks(event)) return error;
    return finish(event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

KG_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    KG_ENTER("cudaEventElapsedTime");
    if (milliseconds == nullptr) return finish(cudaErrorInvalidValue);
    if (start == nullptr || end == nullptr || !event_of(start)->recorded || !event_of(end)->recorded)
        return finish(cudaErrorInvalidResourceHandle);
    *milliseconds = static_cast<float>((event_of(end)->time - event_of(start)->time) * 1e3);
    return finish(cudaSuccess);
}
