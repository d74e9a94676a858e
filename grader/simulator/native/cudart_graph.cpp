// Stream capture and graphs. One capture at a time; nodes run in the order in which they were captured, which every
// order of the graph's dependencies allows.
//
// Calls refused during a capture are those that an H200 refused (measured by benchmarks/gpu_graphs.py).

#include "graph.hpp"

#include <map>
#include <memory>

#include "guard_alloc.hpp"

namespace kgsim {
namespace {

struct Graph {
    std::vector<Work> nodes;
    std::vector<void*> memory;  // allocated while it was captured: it lives as long as the graph

    Graph() = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        nodes.clear();
        for (void* data : memory) kgsim_unkeep(data);
    }
    cudaError_t run() const {
        for (const Work& node : nodes)
            if (const auto error = node(); error != cudaSuccess) return error;
        return cudaSuccess;
    }
};
using Shared = std::shared_ptr<Graph>;

struct Capture {
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    bool blocking;  // the legacy stream waits for the origin
    Shared graph = std::make_shared<Graph>();
    std::map<cudaStream_t, bool> streams{};  // whether the origin has waited for what they were given
    std::map<cudaEvent_t, cudaStream_t> events{};
    bool ruined = false;
};

std::unique_ptr<Capture>& capture() {
    static auto* one = new std::unique_ptr<Capture>;
    return *one;
}

bool is_legacy(cudaStream_t stream) { return stream == nullptr || stream == cudaStreamLegacy; }
bool is_captured(cudaStream_t stream) { return capture() && capture()->streams.count(stream); }

cudaError_t ruin(cudaError_t error) {
    capture()->ruined = true;
    return finish(error);
}

template <class Handle> Shared& graph_of(Handle handle) { return *reinterpret_cast<Shared*>(handle); }
template <class Handle> Handle handle_of(const Shared& graph) { return reinterpret_cast<Handle>(new Shared(graph)); }

cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t graph) {
    if (out == nullptr || graph == nullptr) return finish(cudaErrorInvalidValue);
    *out = handle_of<cudaGraphExec_t>(graph_of(graph));
    return finish(cudaSuccess);
}

}  // namespace

bool capturing() { return capture() != nullptr; }

cudaError_t give(cudaStream_t stream, Work work) {
    if (!capture()) return work();
    auto& open = *capture();
    if (is_legacy(stream) && open.blocking) return ruin(cudaErrorStreamCaptureImplicit);
    if (!is_captured(stream)) return work();
    if (open.ruined) return finish(cudaErrorStreamCaptureInvalidated);
    open.streams[stream] = stream == open.origin;
    open.graph->nodes.push_back(std::move(work));
    return finish(cudaSuccess);
}

cudaError_t forbidden() { return capture() ? ruin(cudaErrorStreamCaptureUnsupported) : cudaSuccess; }

cudaError_t unsafe() {
    return capture() && capture()->mode == cudaStreamCaptureModeRelaxed ? cudaSuccess : forbidden();
}

cudaError_t waits() {
    return capture() && capture()->blocking ? ruin(cudaErrorStreamCaptureImplicit) : cudaSuccess;
}

cudaError_t asks(cudaStream_t stream) {
    if (is_captured(stream)) return forbidden();
    if (!capture() || !is_legacy(stream)) return cudaSuccess;
    return capture()->blocking ? waits() : unsafe();
}

cudaError_t asks(cudaEvent_t event) {
    return capture() && capture()->events.count(event) ? ruin(cudaErrorCapturedEvent) : cudaSuccess;
}

void record(cudaEvent_t event, cudaStream_t stream) {
    if (is_captured(stream)) capture()->events[event] = stream;
    else if (capture()) capture()->events.erase(event);
}

void wait(cudaStream_t stream, cudaEvent_t event) {
    if (!capture() || !capture()->events.count(event)) return;
    auto& open = *capture();
    if (stream == open.origin) open.streams[open.events[event]] = true;
    else open.streams[stream] = false;
}

}  // namespace kgsim

using namespace kgsim;

// ---------------------------------------------------------------- for the device of torch

KG_API int kgsim_capturing() { return capturing(); }
KG_API cudaStream_t kgsim_capture_stream() { return capture() ? capture()->origin : nullptr; }
KG_API int kgsim_refuse_in_capture() { return forbidden(); }

KG_API int kgsim_give(int (*run)(void*), void (*drop)(void*), void* data) {
    const std::shared_ptr<void> kept(data, drop);
    return give(kgsim_capture_stream(), [run, kept] { return finish(static_cast<cudaError_t>(run(kept.get()))); });
}

KG_API void kgsim_keep(void* data) { capture()->graph->memory.push_back(data); }

// ---------------------------------------------------------------- the runtime's functions

KG_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    KG_ENTER("cudaStreamBeginCapture");
    if (is_legacy(stream)) return finish(cudaErrorStreamCaptureUnsupported);
    if (is_captured(stream)) return finish(cudaErrorIllegalState);
    if (capture()) return missing("two captures at once");
    unsigned flags = 0;
    cudaStreamGetFlags(stream, &flags);
    capture() = std::make_unique<Capture>(Capture{stream, mode, !(flags & cudaStreamNonBlocking)});
    capture()->streams[stream] = true;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    KG_ENTER("cudaStreamEndCapture");
    if (graph == nullptr) return finish(cudaErrorInvalidValue);
    *graph = nullptr;
    if (!is_captured(stream)) return finish(cudaErrorIllegalState);
    if (stream != capture()->origin) return ruin(cudaErrorStreamCaptureUnmatched);
    const auto ended = std::move(capture());
    if (ended->ruined) return finish(cudaErrorStreamCaptureInvalidated);
    for (const auto& [other, joined] : ended->streams)
        if (!joined) return finish(cudaErrorStreamCaptureUnjoined);
    *graph = handle_of<cudaGraph_t>(ended->graph);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    KG_ENTER("cudaStreamIsCapturing");
    if (capture() && capture()->blocking && is_legacy(stream)) return finish(cudaErrorStreamCaptureImplicit);
    *status = !is_captured(stream)   ? cudaStreamCaptureStatusNone
              : capture()->ruined ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
    KG_ENTER("cudaGraphInstantiate");
    return instantiate(out, graph);
}

KG_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
    KG_ENTER("cudaGraphInstantiateWithFlags");
    return instantiate(out, graph);
}

KG_API cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t) {
    KG_ENTER("cudaGraphUpload");
    return finish(graph == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

KG_API cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    KG_ENTER("cudaGraphLaunch");
    if (graph == nullptr) return finish(cudaErrorInvalidValue);
    return give(stream, [nodes = graph_of(graph)] { return finish(nodes->run()); });
}

KG_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    KG_ENTER("cudaGraphDestroy");
    if (graph == nullptr) return finish(cudaErrorInvalidValue);
    delete &graph_of(graph);
    return finish(cudaSuccess);
}

KG_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    KG_ENTER("cudaGraphExecDestroy");
    if (graph == nullptr) return finish(cudaErrorInvalidValue);
    delete &graph_of(graph);
    return finish(cudaSuccess);
}
