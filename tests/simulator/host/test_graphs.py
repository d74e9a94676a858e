"""Streams are captured into graphs: nothing runs before the launch, and what a GPU refuses is refused."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from . import runtime_host as rt
from .runtime_host import Host

Handle = ctypes.c_void_p
BLOCKING, NON_BLOCKING = 0, 1
GLOBAL, RELAXED = 0, 2


def floats(address: int, count: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_float * count).from_address(address), dtype=np.float32)


def made(host: Host, function: str, *args: object) -> Handle:
    out = Handle()
    assert getattr(host.lib, function)(ctypes.byref(out), *args) == rt.SUCCESS
    return out


def capture(host: Host, flags: int = NON_BLOCKING, mode: int = GLOBAL) -> Handle:
    stream = made(host, "cudaStreamCreateWithFlags", flags)
    assert host.lib.cudaStreamBeginCapture(stream, mode) == rt.SUCCESS
    return stream


def ended(host: Host, stream: Handle) -> Handle:
    graph, ready = Handle(), Handle()
    assert host.lib.cudaStreamEndCapture(stream, ctypes.byref(graph)) == rt.SUCCESS
    assert host.lib.cudaGraphInstantiate(ctypes.byref(ready), graph, 0) == rt.SUCCESS
    assert host.lib.cudaGraphDestroy(graph) == rt.SUCCESS
    return ready


def end_error(host: Host, stream: Handle) -> int:
    return int(host.lib.cudaStreamEndCapture(stream, ctypes.byref(Handle())))


def test_nothing_runs_before_the_launch_and_arguments_are_kept(host: Host, program: str) -> None:
    ones = host.load(program, ["ones"])["ones"]
    x, y = host.malloc(128), host.malloc(128)
    stream = capture(host)
    assert host.launch(ones, [1], [32], x, stream=stream) == rt.SUCCESS
    copied = (Handle(y), Handle(x), ctypes.c_size_t(128), rt.D2D, stream)
    host.lib.cudaMemcpyAsync.argtypes = None
    assert host.lib.cudaMemcpyAsync(*copied) == rt.SUCCESS
    ready = ended(host, stream)
    assert host.report()["core"]["launches"] == []
    for _ in range(2):
        floats(x, 32)[:] = 0
        floats(y, 32)[:] = 0
        assert host.lib.cudaGraphLaunch(ready, None) == rt.SUCCESS
        assert (floats(y, 32) == 1).all()
    assert sum(launch["count"] for launch in host.report()["core"]["launches"]) == 2
    assert host.lib.cudaGraphExecDestroy(ready) == rt.SUCCESS


def test_the_legacy_stream_is_not_captured(host: Host, program: str) -> None:
    ones = host.load(program, ["ones"])["ones"]
    x = host.malloc(128)
    stream = capture(host)
    assert host.launch(ones, [1], [32], x) == rt.SUCCESS
    assert (floats(x, 32) == 1).all()
    ended(host, stream)
    stream = capture(host, BLOCKING)
    assert host.launch(ones, [1], [32], x) == rt.CAPTURE_IMPLICIT
    assert end_error(host, stream) == rt.CAPTURE_INVALIDATED


REFUSED: dict[str, Callable[[Host, Handle], int]] = {
    "cudaMalloc": lambda host, stream: host.lib.cudaMalloc(ctypes.byref(Handle()), 64),
    "cudaDeviceSynchronize": lambda host, stream: host.lib.cudaDeviceSynchronize(),
    "cudaStreamSynchronize": lambda host, stream: host.lib.cudaStreamSynchronize(stream),
    "cudaStreamQuery": lambda host, stream: host.lib.cudaStreamQuery(stream),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_capture_does_not_allow_ruins_it(host: Host, name: str) -> None:
    stream = capture(host)
    assert REFUSED[name](host, stream) == rt.CAPTURE_UNSUPPORTED
    assert end_error(host, stream) == rt.CAPTURE_INVALIDATED
    assert REFUSED[name](host, stream) == rt.SUCCESS


def test_a_relaxed_capture_may_allocate(host: Host) -> None:
    stream = capture(host, mode=RELAXED)
    assert host.malloc(64)
    ended(host, stream)


def test_the_legacy_stream_can_not_be_captured(host: Host) -> None:
    assert host.lib.cudaStreamBeginCapture(None, GLOBAL) == rt.CAPTURE_UNSUPPORTED
    assert end_error(host, Handle()) == rt.ILLEGAL_STATE


def forked(host: Host, stream: Handle) -> tuple[Handle, Handle]:
    """Return a stream that an event has brought into the capture, and the event."""
    event, other = made(host, "cudaEventCreate"), made(host, "cudaStreamCreateWithFlags", 1)
    assert host.lib.cudaEventRecord(event, stream) == rt.SUCCESS
    assert host.lib.cudaStreamWaitEvent(other, event, 0) == rt.SUCCESS
    return other, event


def test_events_take_a_capture_to_other_streams(host: Host, program: str) -> None:
    ones = host.load(program, ["ones"])["ones"]
    x = host.malloc(128)
    floats(x, 32)[:] = 0
    stream = capture(host)
    other, event = forked(host, stream)
    assert host.launch(ones, [1], [32], x, stream=other) == rt.SUCCESS
    assert host.lib.cudaEventRecord(event, other) == rt.SUCCESS
    assert host.lib.cudaStreamWaitEvent(stream, event, 0) == rt.SUCCESS
    ready = ended(host, stream)
    assert not floats(x, 32).any()
    assert host.lib.cudaGraphLaunch(ready, stream) == rt.SUCCESS
    assert (floats(x, 32) == 1).all()


def test_a_captured_event_can_not_be_asked(host: Host) -> None:
    stream = capture(host)
    _, event = forked(host, stream)
    assert host.lib.cudaEventQuery(event) == rt.CAPTURED_EVENT
    assert end_error(host, stream) == rt.CAPTURE_INVALIDATED


def test_work_that_nobody_waits_for_is_refused(host: Host) -> None:
    stream = capture(host)
    forked(host, stream)
    assert end_error(host, stream) == rt.CAPTURE_UNJOINED


def test_a_capture_ends_where_it_began(host: Host) -> None:
    stream = capture(host)
    other, _ = forked(host, stream)
    assert end_error(host, other) == rt.CAPTURE_UNMATCHED
    assert end_error(host, stream) == rt.CAPTURE_INVALIDATED


def test_memory_of_a_capture_lives_as_long_as_its_graph(host: Host, program: str) -> None:
    ones = host.load(program, ["ones"])["ones"]
    host.lib.kgsim_alloc.restype = ctypes.c_void_p
    stream = capture(host)
    x = int(host.lib.kgsim_alloc(ctypes.c_size_t(128), 1))
    assert host.launch(ones, [1], [32], x, stream=stream) == rt.SUCCESS
    host.lib.kgsim_free(Handle(x))
    ready = ended(host, stream)
    assert host.lib.cudaGraphLaunch(ready, None) == rt.SUCCESS
    assert host.report()["core"]["findings"] == []
    assert host.lib.kgsim_kind(Handle(x)) == 1
    assert host.lib.cudaGraphExecDestroy(ready) == rt.SUCCESS
    assert host.lib.kgsim_kind(Handle(x)) == -1


def test_it_says_what_an_h200_said(runtime: Path) -> None:
    """benchmarks/gpu_graphs.py on the GPU wrote the recorded answers."""
    program = Path(__file__).parents[3] / "benchmarks" / "gpu_graphs.py"
    done = subprocess.run(
        [sys.executable, program, runtime], capture_output=True, text=True, check=True
    )
    recorded = (Path(__file__).parent / "recorded_graphs.txt").read_text("utf-8")
    assert done.stdout.splitlines() == recorded.splitlines()
