"""`torch.cuda.CUDAGraph` and `torch.cuda.graph` on the simulator, over its CUDA runtime.

Names and parameters are torch's own, whether or not they are used here.
"""

# ruff: noqa: ARG002, D102

from __future__ import annotations

import ctypes
from typing import Any

import torch

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_NON_BLOCKING = 1
_state: dict[str, Any] = {}


def install(runtime: Any) -> dict[str, Any]:
    """Return `torch.cuda`'s names for graphs; `runtime` is the simulator's library."""
    handle, out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    runtime.cudaStreamCreateWithFlags.argtypes = (out, ctypes.c_uint)
    runtime.cudaStreamBeginCapture.argtypes = (handle, ctypes.c_int)
    runtime.cudaStreamEndCapture.argtypes = (handle, out)
    runtime.cudaGraphInstantiate.argtypes = (out, handle, ctypes.c_ulonglong)
    runtime.cudaGraphLaunch.argtypes = (handle, handle)
    for name in ("cudaGraphDestroy", "cudaGraphExecDestroy"):
        getattr(runtime, name).argtypes = (handle,)
    _state["runtime"] = runtime
    return {
        "CUDAGraph": CUDAGraph,
        "graph": Graph,
        "graph_pool_handle": lambda: (0, 1),
        "is_current_stream_capturing": lambda: bool(runtime.kgsim_capturing()),
    }


def check(error: int) -> None:
    """Raise RuntimeError as torch does where a function of the runtime failed."""
    if error:
        reason = _state["runtime"].cudaGetErrorString(error).decode()
        raise RuntimeError(f"CUDA error: {reason}")


def new_stream() -> int:
    """Return the handle of a new stream of the kind that torch makes: the legacy stream doesn't wait for it."""
    made = ctypes.c_void_p()
    check(_state["runtime"].cudaStreamCreateWithFlags(ctypes.byref(made), _NON_BLOCKING))
    return made.value or 0


class CUDAGraph:
    """The launches between `capture_begin` and `capture_end`, which `replay` repeats."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._stream = 0
        self._graph = ctypes.c_void_p()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **_: Any) -> None:
        if self._graph:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. "
                "To capture a new graph, create a new instance."
            )
        self._stream = torch.cuda.current_stream().cuda_stream
        if not self._stream:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        check(_state["runtime"].cudaStreamBeginCapture(self._stream, _MODES[capture_error_mode]))

    def capture_end(self) -> None:
        runtime, captured = _state["runtime"], ctypes.c_void_p()
        check(runtime.cudaStreamEndCapture(self._stream, ctypes.byref(captured)))
        check(runtime.cudaGraphInstantiate(ctypes.byref(self._graph), captured, 0))
        check(runtime.cudaGraphDestroy(captured))

    def instantiate(self) -> None: ...

    def replay(self) -> None:
        if not self._graph:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        stream = torch.cuda.current_stream().cuda_stream
        check(_state["runtime"].cudaGraphLaunch(self._graph, stream))

    def reset(self) -> None:
        if self._graph:
            _state["runtime"].cudaGraphExecDestroy(self._graph)
        self._graph = ctypes.c_void_p()

    def pool(self) -> tuple[int, int]:
        return (0, 1)

    def enable_debug_mode(self) -> None: ...

    def debug_dump(self, debug_path: str) -> None: ...

    def __del__(self) -> None:
        self.reset()


class Graph:
    """Captures the launches in its block, on a separate stream."""

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        **_: Any,
    ) -> None:
        self._captured = cuda_graph
        self._mode = capture_error_mode
        self._context = torch.cuda.stream(stream or torch.cuda.Stream())

    def __enter__(self) -> None:
        torch.cuda.synchronize()
        self._context.__enter__()
        self._captured.capture_begin(capture_error_mode=self._mode)

    def __exit__(self, *raised: object) -> None:
        try:
            self._captured.capture_end()
        finally:
            self._context.__exit__(*raised)
