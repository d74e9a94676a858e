"""What host code can call: memory, errors, devices, streams, as the CUDA runtime answers."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest

from grader.simulator.gpus import GPUS

from . import runtime_host as rt
from .runtime_host import Host


def array(values: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)


def test_memory_goes_to_the_device_and_back(host: Host) -> None:
    given, back = np.arange(100, dtype=np.float32), np.zeros(100, dtype=np.float32)
    device = host.malloc(400)
    assert device % 256 == 0
    assert host.lib.cudaMemcpy(device, array(given), 400, rt.H2D) == rt.SUCCESS
    assert host.lib.cudaMemcpy(array(back), device, 400, rt.D2H) == rt.SUCCESS
    assert (given == back).all()
    assert host.lib.cudaFree(device) == rt.SUCCESS
    assert host.lib.cudaFree(device) == rt.INVALID_VALUE


def test_copies_that_a_gpu_refuses_are_refused(host: Host) -> None:
    given = np.zeros(100, dtype=np.float32)
    device = host.malloc(400)
    assert host.lib.cudaMemcpy(device, array(given), 404, rt.H2D) == rt.INVALID_VALUE
    assert host.lib.cudaMemcpy(None, array(given), 4, rt.H2D) == rt.INVALID_VALUE
    assert host.lib.cudaMemcpy(device, array(given), 400, rt.D2D) == rt.INVALID_VALUE
    assert host.lib.cudaMemset(device, 0, 400) == rt.SUCCESS
    assert host.lib.cudaMemset(device, 0, 401) == rt.INVALID_VALUE
    assert host.lib.cudaMemset(array(given), 0, 4) == rt.INVALID_VALUE


def test_new_memory_is_poison(host: Host) -> None:
    values = (ctypes.c_float * 1000).from_address(host.malloc(4000))
    assert np.isnan(np.frombuffer(values, dtype=np.float32)).all()
    for dtype in (np.float16, np.float64):
        assert np.isnan(np.frombuffer(values, dtype=dtype)).all()
    for dtype in (np.int16, np.int32, np.int64):
        assert (np.frombuffer(values, dtype=dtype) > np.iinfo(dtype).max * 0.99).all()


def resident() -> int:
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if "RssAnon" in line
    )
    return int(line.split()[1]) << 10


def test_a_copy_of_vast_memory_takes_no_more_than_what_is_in_it(host: Host) -> None:
    assert host.set("track_stores", 1) == 0
    size, at, given = 4 << 30, (2 << 30) + 5000, np.arange(9000, dtype=np.float32)
    whole, copy = host.malloc(size), host.malloc(size)
    assert host.lib.cudaMemcpy(whole + at, array(given), given.nbytes, rt.H2D) == rt.SUCCESS
    before = resident()
    assert host.lib.cudaMemcpy(copy, whole, size, rt.D2D) == rt.SUCCESS
    back = np.empty(len(given) + 2, dtype=np.float32)
    assert host.lib.cudaMemcpy(array(back), copy + at - 4, back.nbytes, rt.D2H) == rt.SUCCESS
    assert (back == [0, *given, 0]).all()
    assert resident() - before < 64 << 20


def test_allocations_are_far_from_each_other(host: Host) -> None:
    # Small and large, freed ones between them: what a tail tile reads past an end is nobody's.
    sizes = (4, 4000, 1 << 20, 3 << 20) * 8
    first = [(host.malloc(size), size) for size in sizes]
    for base, _ in first[::3]:
        assert host.lib.cudaFree(base) == rt.SUCCESS
    kept = [block for n, block in enumerate(first) if n % 3]
    placed = sorted(kept + [(host.malloc(size), size) for size in sizes])
    gaps = [after - base - size for (base, size), (after, _) in itertools.pairwise(placed)]
    assert min(gaps) >= 32 << 20


def test_the_last_error_is_told_once(host: Host) -> None:
    lib = host.lib
    assert lib.cudaSetDevice(3) == rt.INVALID_DEVICE
    assert lib.cudaGetDevice(ctypes.byref(ctypes.c_int())) == rt.SUCCESS
    assert lib.cudaPeekAtLastError() == rt.INVALID_DEVICE
    assert lib.cudaGetLastError() == rt.INVALID_DEVICE
    assert lib.cudaGetLastError() == rt.SUCCESS
    assert lib.cudaGetErrorName(rt.INVALID_DEVICE) == b"cudaErrorInvalidDevice"


def test_more_than_the_gpu_has_is_out_of_memory(host: Host) -> None:
    pointer = ctypes.c_void_p()
    size = ctypes.c_size_t(GPUS["h100"].memory + 1)
    assert host.lib.cudaMalloc(ctypes.byref(pointer), size) == rt.OUT_OF_MEMORY
    assert not pointer.value
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert host.lib.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == rt.SUCCESS
    assert total.value == GPUS["h100"].memory


@pytest.mark.parametrize("name", GPUS)
def test_the_gpu_is_the_one_asked_for(host: Host, name: str) -> None:
    gpu = GPUS[name]
    host.use(gpu)
    value = ctypes.c_int()
    asked = {
        16: gpu.multiprocessors,
        75: gpu.major,
        76: gpu.minor,
        8: 49152,
        97: gpu.shared_per_block_optin,
    }
    for attribute, expected in asked.items():
        assert host.lib.cudaDeviceGetAttribute(ctypes.byref(value), attribute, 0) == rt.SUCCESS
        assert value.value == expected
    properties = ctypes.create_string_buffer(8192)
    assert host.lib.cudaGetDeviceProperties(properties, 0) == rt.SUCCESS
    assert properties.value.decode() == gpu.name


def test_events_go_forward(host: Host) -> None:
    lib = host.lib
    first, second, elapsed = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    assert lib.cudaEventCreate(ctypes.byref(first)) == rt.SUCCESS
    assert lib.cudaEventCreate(ctypes.byref(second)) == rt.SUCCESS
    assert lib.cudaEventElapsedTime(ctypes.byref(elapsed), first, second) == rt.INVALID_HANDLE
    assert lib.cudaEventRecord(first, None) == rt.SUCCESS
    assert lib.cudaEventRecord(second, None) == rt.SUCCESS
    assert lib.cudaEventElapsedTime(ctypes.byref(elapsed), first, second) == rt.SUCCESS
    assert elapsed.value > 0


def test_what_is_missing_is_named(host: Host) -> None:
    assert host.lib.cudaGraphAddNode(None, None) == rt.NOT_SUPPORTED
    assert host.lib.cuLaunchKernel() == rt.NOT_SUPPORTED
    assert host.report()["host"]["not_run"] == {"cudaGraphAddNode": 1, "cuLaunchKernel": 1}
    assert host.report()["host"]["not_run"] == {}


def test_settings_that_there_are_not_are_refused(host: Host) -> None:
    assert host.set("gpu.multiprocessors", 10) == 0
    assert host.set("gpu.wings", 2) == -1


def test_variables_are_copied_by_symbol(host: Host, program: str) -> None:
    known = host.load(program, ["scaled"], ["scale"])
    symbol, factor = ctypes.c_void_p(known["scale"]), ctypes.c_float(3.0)
    size = ctypes.c_size_t
    to = host.lib.cudaMemcpyToSymbol
    assert to(symbol, ctypes.byref(factor), size(4), size(0), rt.H2D) == rt.SUCCESS
    assert to(symbol, ctypes.byref(factor), size(4), size(1), rt.H2D) == rt.INVALID_VALUE
    assert (
        to(ctypes.c_void_p(8), ctypes.byref(factor), size(4), size(0), rt.H2D) == rt.INVALID_SYMBOL
    )
    values = np.arange(8, dtype=np.float32)
    device = host.malloc(32)
    host.lib.cudaMemcpy(device, array(values), 32, rt.H2D)
    assert host.launch(known["scaled"], [1], [8], device, ctypes.c_int(8)) == rt.SUCCESS
    host.lib.cudaMemcpy(array(values), device, 32, rt.D2H)
    assert values.tolist() == [3.0 * i for i in range(8)]
