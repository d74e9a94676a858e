// Errors: the last one, the sticky one, their names; and the settings and the report of the host side.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime.hpp"

namespace kgsim {

Runtime& runtime() {
    static auto* state = new Runtime;  // outlives static destructors of extensions
    return *state;
}

cudaError_t finish(cudaError_t error) {
    auto& state = runtime();
    if (state.sticky != cudaSuccess) return state.sticky;
    if (error != cudaSuccess) state.last = error;
    return error;
}

void make_sticky(cudaError_t error, const std::string& reason) {
    auto& state = runtime();
    if (state.sticky != cudaSuccess) return;
    state.sticky = error;
    state.sticky_reason = reason;
}

cudaError_t missing(const char* feature) {
    std::lock_guard lock(runtime().mutex);
    ++runtime().not_run[feature];
    return finish(cudaErrorNotSupported);
}

int missing_call(const char* name) {
    if (runtime().sticky != cudaSuccess) return runtime().sticky;
    return missing(name);
}

void count_call(const char* name) {
    std::lock_guard lock(runtime().mutex);
    ++runtime().calls[name];
}

std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c < 0x20 || c >= 0x7F) {  // bytes beyond ASCII stay readable as Latin-1
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out += static_cast<char>(c);
        }
    }
    return out + '"';
}

}  // namespace kgsim

using namespace kgsim;

// Something outside of the runtime (torch's Python, a vendor's library) that can't be simulated.
KG_API void kgsim_missing(const char* name) {
    std::lock_guard lock(runtime().mutex);
    ++runtime().not_run[name];
}

// ---------------------------------------------------------------- the CUDA side

KG_API cudaError_t cudaGetLastError() {
    count_call("cudaGetLastError");
    auto& state = runtime();
    for (auto& error : state.launch_errors) error.seen = true;
    if (state.sticky != cudaSuccess) return state.sticky;
    return std::exchange(state.last, cudaSuccess);
}

KG_API cudaError_t cudaPeekAtLastError() {
    count_call("cudaPeekAtLastError");
    auto& state = runtime();
    for (auto& error : state.launch_errors) error.seen = true;
    return state.sticky != cudaSuccess ? state.sticky : state.last;
}

namespace {

struct ErrorText {
    cudaError_t code;
    const char* name;
    const char* text;
};

#define KG_ERROR(code, text) {code, #code, text}
const ErrorText kErrors[] = {
    KG_ERROR(cudaSuccess, "no error"),
    KG_ERROR(cudaErrorInvalidValue, "invalid argument"),
    KG_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    KG_ERROR(cudaErrorInitializationError, "initialization error"),
    KG_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    KG_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    KG_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    KG_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    KG_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    KG_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    KG_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    KG_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    KG_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    KG_ERROR(cudaErrorNoKernelImageForDevice,
             "no kernel image is available for execution on the device"),
    KG_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    KG_ERROR(cudaErrorIllegalState,
             "the operation cannot be performed in the present state"),
    KG_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    KG_ERROR(cudaErrorStreamCaptureInvalidated,
             "operation failed due to a previous error during capture"),
    KG_ERROR(cudaErrorStreamCaptureUnmatched,
             "capture was not ended in the same stream as it began"),
    KG_ERROR(cudaErrorStreamCaptureUnjoined,
             "capturing stream has unjoined work"),
    KG_ERROR(cudaErrorStreamCaptureImplicit,
             "operation would make the legacy stream depend on a capturing blocking stream"),
    KG_ERROR(cudaErrorCapturedEvent,
             "operation not permitted on an event last recorded in a capturing stream"),
    KG_ERROR(cudaErrorNotReady, "device not ready"),
    KG_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    KG_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    KG_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    KG_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    KG_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    KG_ERROR(cudaErrorAssert, "device-side assert triggered"),
    KG_ERROR(cudaErrorHostMemoryAlreadyRegistered,
             "part or all of the requested memory range is already mapped"),
    KG_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    KG_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    KG_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    KG_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    KG_ERROR(cudaErrorNotSupported, "operation not supported"),
    KG_ERROR(cudaErrorUnknown, "unknown error"),
};

const ErrorText* describe(cudaError_t code) {
    for (const auto& entry : kErrors)
        if (entry.code == code) return &entry;
    return nullptr;
}

}  // namespace

KG_API const char* cudaGetErrorString(cudaError_t error) {
    const auto* entry = describe(error);
    return entry ? entry->text : "unrecognized error code";
}

KG_API const char* cudaGetErrorName(cudaError_t error) {
    const auto* entry = describe(error);
    return entry ? entry->name : "unrecognized error code";
}
