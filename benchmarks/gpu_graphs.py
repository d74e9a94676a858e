"""What the CUDA runtime says of calls while a stream is captured: of a GPU's, or of the simulator's.

    python benchmarks/gpu_graphs.py             # the libcudart that torch brings, on this machine's GPU
    python benchmarks/gpu_graphs.py PATH        # libkgsim.so

Prints one line a question: the call's error, the error that ends the capture, and whether memory
changed at once and at a replay. The two have to be the same.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
BLOCKING, NON_BLOCKING = 0, 1
D2H, D2D = 2, 3
BYTES = 256
Handle, Size = ctypes.c_void_p, ctypes.c_size_t


def libcudart() -> str:
    """Return the path of the library that torch has loaded."""
    import torch

    torch.cuda.init()
    maps = Path("/proc/self/maps").read_text("utf-8").splitlines()
    return min(line.split()[-1] for line in maps if "libcudart" in line)


class Runtime:
    """The runtime's functions, with one piece of memory."""

    def __init__(self, path: str) -> None:
        self.lib = ctypes.CDLL(path)
        self.memory = self.made("cudaMalloc", Size(BYTES))
        self.read = (ctypes.c_ubyte * BYTES)()

    def call(self, name: str, *args: Any) -> int:
        return int(getattr(self.lib, name)(*args))

    def made(self, name: str, *args: Any) -> Handle:
        out = Handle()
        error = self.call(name, ctypes.byref(out), *args)
        assert error == 0, (name, error)
        return out

    def first_byte(self) -> int:
        self.call("cudaMemcpy", self.read, self.memory, Size(BYTES), D2H)
        return int(self.read[0])

    def fill(self, value: int, stream: Handle | None) -> int:
        return self.call("cudaMemsetAsync", self.memory, value, Size(BYTES), stream)


Question = Callable[[Runtime, Handle], int]
QUESTIONS: dict[str, Question] = {
    "nothing": lambda r, s: 0,
    "fill in the captured stream": lambda r, s: r.fill(7, s),
    "fill in the legacy stream": lambda r, s: r.fill(7, None),
    "cudaMemset": lambda r, s: r.call("cudaMemset", r.memory, 7, Size(BYTES)),
    "cudaMemcpy to the host": lambda r, s: r.call("cudaMemcpy", r.read, r.memory, Size(BYTES), D2H),
    "cudaMemcpyAsync to the host": lambda r, s: r.call(
        "cudaMemcpyAsync", r.read, r.memory, Size(BYTES), D2H, s
    ),
    "cudaMalloc": lambda r, s: r.call("cudaMalloc", ctypes.byref(Handle()), Size(64)),
    "cudaMallocHost": lambda r, s: r.call("cudaMallocHost", ctypes.byref(Handle()), Size(64)),
    "cudaMallocAsync": lambda r, s: r.call("cudaMallocAsync", ctypes.byref(Handle()), Size(64), s),
    "cudaFree of nothing": lambda r, s: r.call("cudaFree", None),
    "cudaDeviceSynchronize": lambda r, s: r.call("cudaDeviceSynchronize"),
    "cudaStreamSynchronize": lambda r, s: r.call("cudaStreamSynchronize", s),
    "cudaStreamSynchronize of the legacy stream": lambda r, s: r.call(
        "cudaStreamSynchronize", None
    ),
    "cudaStreamQuery": lambda r, s: r.call("cudaStreamQuery", s),
    "a second capture of the stream": lambda r, s: r.call("cudaStreamBeginCapture", s, GLOBAL),
    "a captured event": lambda r, s: _event(r, s, "cudaEventQuery"),
    "waiting for a captured event": lambda r, s: _event(r, s, "cudaEventSynchronize"),
    "a stream that is not joined": lambda r, s: _fork(r, s, joins=False),
    "a stream that is joined": lambda r, s: _fork(r, s, joins=True),
}


def _event(r: Runtime, s: Handle, name: str) -> int:
    event = r.made("cudaEventCreate")
    r.call("cudaEventRecord", event, s)
    return r.call(name, event)


def _fork(r: Runtime, s: Handle, *, joins: bool) -> int:
    event, other = r.made("cudaEventCreate"), r.made("cudaStreamCreateWithFlags", NON_BLOCKING)
    r.call("cudaEventRecord", event, s)
    r.call("cudaStreamWaitEvent", other, event, 0)
    error = r.fill(7, other)
    if joins:
        r.call("cudaEventRecord", event, other)
        r.call("cudaStreamWaitEvent", s, event, 0)
    return error


def answer(r: Runtime, question: Question, flags: int, mode: int) -> str:
    """Ask within a capture, end it, and launch the graph if there is one."""
    r.fill(1, None)
    r.call("cudaDeviceSynchronize")
    stream, graph, ready = r.made("cudaStreamCreateWithFlags", flags), Handle(), Handle()
    r.call("cudaStreamBeginCapture", stream, mode)
    said = question(r, stream)
    ended = r.call("cudaStreamEndCapture", stream, ctypes.byref(graph))
    r.call("cudaGetLastError")
    at_once = r.first_byte()
    replayed = -1
    if graph:
        r.fill(1, None)
        r.call("cudaGraphInstantiate", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        r.call("cudaGraphLaunch", ready, stream)
        r.call("cudaDeviceSynchronize")
        replayed = r.first_byte()
    return f"error {said:3}  end {ended:3}  memory {at_once}  replayed {replayed:2}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library", nargs="?")
    r = Runtime(parser.parse_args().library or libcudart())
    for name, question in QUESTIONS.items():
        for stream, flags in (("non-blocking", NON_BLOCKING), ("blocking", BLOCKING)):
            for mode, number in (("global", GLOBAL), ("relaxed", RELAXED)):
                print(f"{name:44} {stream:12} {mode:8} {answer(r, question, flags, number)}")
    print("capture of the legacy stream", r.call("cudaStreamBeginCapture", None, GLOBAL))
    print("end without a beginning", r.call("cudaStreamEndCapture", None, ctypes.byref(Handle())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
