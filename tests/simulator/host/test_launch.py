"""Launches are held to the limits of the GPU, and errors are told as the runtime tells them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from grader.simulator.gpus import GPUS

from . import runtime_host as rt
from .runtime_host import Host

KERNELS = ["add", "ones", "dynamic", "bounded", "deadlock", "offset", "rows"]


def floats(address: int, count: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_float * count).from_address(address), dtype=np.float32)


def test_a_kernel_runs(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    a, b, c = (host.malloc(4000) for _ in range(3))
    floats(a, 1000)[:] = np.arange(1000)
    floats(b, 1000)[:] = 0.5
    for x in (a, b):
        host.lib.cudaMemcpy(x, x, 4000, rt.D2D)
        host.lib.kgsim_written(ctypes.c_void_p(x), ctypes.c_size_t(4000))
    assert host.launch(known["add"], [4], [256], a, b, c, ctypes.c_int(1000)) == rt.SUCCESS
    assert (floats(c, 1000) == np.arange(1000) + 0.5).all()
    seen = host.report()
    assert seen["core"]["findings"] == []
    (launch,) = seen["core"]["launches"]
    assert (launch["grid"], launch["block"]) == ([4, 1, 1], [256, 1, 1])


@pytest.mark.parametrize(
    ("grid", "block", "error"),
    [
        ([1], [1025], rt.INVALID_CONFIGURATION),
        ([1], [32, 32, 2], rt.INVALID_CONFIGURATION),
        ([1], [1, 1, 65], rt.INVALID_CONFIGURATION),
        ([0], [32], rt.INVALID_CONFIGURATION),
        ([1], [0], rt.INVALID_CONFIGURATION),
        ([1, 65536], [32], rt.INVALID_CONFIGURATION),
        ([1, 1, 65536], [32], rt.INVALID_CONFIGURATION),
        ([2**31], [1], rt.INVALID_CONFIGURATION),
        ([1], [1024], rt.SUCCESS),
    ],
)
def test_shapes(host: Host, program: str, grid: list[int], block: list[int], error: int) -> None:
    known = host.load(program, KERNELS)
    x = host.malloc(4096)
    before = floats(x, 1024).tobytes()
    assert host.launch(known["ones"], grid, block, x) == error
    assert (floats(x, 1024).tobytes() == before) is (error != rt.SUCCESS)


def test_an_error_nobody_asks_for_is_noted(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    host.launch(known["ones"], [1], [2048], host.malloc(8192))
    (error,) = host.report()["host"]["launch_errors"]
    assert error["error"] == "cudaErrorInvalidConfiguration"
    assert error["seen"] is False
    assert "2048 threads" in error["reason"]
    assert (error["limit"], error["asked"], error["most"]) == ("block", 2048, 1024)
    host.launch(known["ones"], [1], [2048], host.malloc(8192))
    assert host.lib.cudaGetLastError() == rt.INVALID_CONFIGURATION
    (error,) = host.report()["host"]["launch_errors"]
    assert error["seen"] is True


def test_shared_memory_beyond_48_kib_wants_opt_in(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    x, stub = host.malloc(4096), ctypes.c_void_p(known["dynamic"])
    fits = 48 * 1024 - 1024  # the kernel has 1 KiB of its own
    most = GPUS["h100"].shared_per_block_optin - 1024
    set_attribute = host.lib.cudaFuncSetAttribute
    assert host.launch(known["dynamic"], [1], [1024], x, shared=fits) == rt.SUCCESS
    assert host.launch(known["dynamic"], [1], [1024], x, shared=fits + 4) == rt.INVALID_VALUE
    assert set_attribute(stub, rt.MAX_DYNAMIC_SHARED, most + 1) == rt.INVALID_VALUE
    assert set_attribute(stub, rt.MAX_DYNAMIC_SHARED, most) == rt.SUCCESS
    assert host.launch(known["dynamic"], [1], [1024], x, shared=most) == rt.SUCCESS
    assert host.launch(known["dynamic"], [1], [1024], x, shared=most + 4) == rt.INVALID_VALUE


def test_a_smaller_gpu_has_less(host: Host, program: str) -> None:
    host.use(GPUS["t4"])
    stub = ctypes.c_void_p(host.load(program, KERNELS)["dynamic"])
    assert host.lib.cudaFuncSetAttribute(stub, rt.MAX_DYNAMIC_SHARED, 64 * 1024) == rt.INVALID_VALUE
    assert host.lib.cudaFuncSetAttribute(stub, rt.MAX_DYNAMIC_SHARED, 63 * 1024) == rt.SUCCESS


def test_registers_are_counted_at_launch(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    x = host.malloc(4096)
    assert host.set("registers.ones", 64) == 0
    assert host.launch(known["ones"], [1], [1024], x) == rt.SUCCESS
    assert host.set("registers.ones", 65) == 0
    assert host.launch(known["ones"], [1], [1024], x) == rt.OUT_OF_RESOURCES
    assert host.launch(known["ones"], [1], [512], x) == rt.SUCCESS


def test_launch_bounds_are_kept(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    x = host.malloc(4096)
    assert host.launch(known["bounded"], [1], [128], x) == rt.SUCCESS
    assert host.launch(known["bounded"], [1], [129], x) == rt.INVALID_VALUE


@pytest.mark.parametrize(
    ("threads", "shared", "registers", "blocks"),
    [
        (256, 0, 32, 8),
        (1024, 0, 32, 2),
        (32, 0, 32, 32),
        (256, 0, 128, 2),
        (128, 100_000, 32, 2),
        (96, 0, 255, 2),
    ],
)
def test_occupancy(
    host: Host, program: str, threads: int, shared: int, registers: int, blocks: int
) -> None:
    stub = ctypes.c_void_p(host.load(program, KERNELS)["ones"])
    host.set("registers.ones", registers)
    found = ctypes.c_int()
    ask = host.lib.cudaOccupancyMaxActiveBlocksPerMultiprocessor
    assert ask(ctypes.byref(found), stub, threads, ctypes.c_size_t(shared)) == rt.SUCCESS
    assert found.value == blocks


def test_what_is_no_kernel_is_no_kernel(host: Host, program: str) -> None:
    assert host.launch(0x123, [1], [1]) == rt.INVALID_FUNCTION
    known = host.load(program, ["absent"])
    assert host.launch(known["absent"], [1], [1]) == rt.INVALID_FUNCTION


def test_a_deadlock_is_an_error_and_the_context_is_lost(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    x = host.malloc(4096)
    assert host.launch(known["deadlock"], [1], [64], x) == rt.LAUNCH_TIMEOUT
    assert host.lib.cudaDeviceSynchronize() == rt.LAUNCH_TIMEOUT
    assert host.lib.cudaMemset(x, 0, 4) == rt.LAUNCH_TIMEOUT
    assert host.launch(known["ones"], [1], [64], x) == rt.LAUNCH_TIMEOUT
    assert host.report()["host"]["hung"]
    assert host.report()["host"]["sticky"] == "cudaErrorLaunchTimeout"


@pytest.mark.parametrize(("by", "error"), [(1000, rt.SUCCESS), (2**32, rt.ILLEGAL_ADDRESS)])
def test_only_memory_that_is_not_mapped_stops_a_gpu(
    host: Host, program: str, by: int, error: int
) -> None:
    known = host.load(program, KERNELS)
    x = host.malloc(4000)
    host.launch(known["offset"], [1], [32], x, ctypes.c_longlong(by))
    assert host.lib.cudaDeviceSynchronize() == error
    (finding,) = host.report()["core"]["findings"]
    assert finding["kind"] == "out-of-bounds"


def test_a_null_pointer_is_named(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    host.launch(known["ones"], [1], [32], 0)
    assert host.lib.cudaDeviceSynchronize() == rt.ILLEGAL_ADDRESS
    (pointer,) = host.report()["host"]["host_pointers"]
    assert (pointer["kernel"], pointer["parameter"], pointer["null"]) == ("ones", 0, True)


def test_kernels_can_be_left_out(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    host.set("skip_kernels", 1)
    x = host.malloc(4096)
    assert host.launch(known["ones"], [1], [64], x) == rt.SUCCESS
    assert np.isnan(floats(x, 64)).all()
    assert host.launch(known["ones"], [1], [4096], x) == rt.INVALID_CONFIGURATION


def test_an_index_that_wraps_around_is_named(host: Host, program: str) -> None:
    known = host.load(program, KERNELS)
    host.set("max_blocks", 2)  # the first and the last
    rows, columns = 49152, 65536
    x = host.malloc(rows * columns * 4)  # 12 GB of address space
    host.launch(known["rows"], [rows], [256], x, ctypes.c_int(columns))
    assert host.lib.cudaDeviceSynchronize() == rt.ILLEGAL_ADDRESS
    (finding,) = host.report()["core"]["findings"]
    assert finding["kind"] == "out-of-bounds"
    assert finding["data"]["wrapped"] is True
    assert "wrapped around 32 bits" in finding["text"]


def test_what_the_host_wrote_where_both_can_is_written(host: Host, program: str) -> None:
    count = 64
    stubs = host.load(program, ["add"])
    result = host.malloc(4 * count)
    for name, more in (("cudaMallocManaged", (1,)), ("cudaMallocHost", ())):
        pointer = ctypes.c_void_p()
        assert (
            getattr(host.lib, name)(ctypes.byref(pointer), ctypes.c_size_t(4 * count), *more) == 0
        )
        values = (ctypes.c_float * count).from_address(pointer.value or 0)
        values[:] = range(count)
        given = pointer.value or 0
        assert (
            host.launch(stubs["add"], (1,), (count,), given, given, result, ctypes.c_int(count))
            == 0
        )
        assert host.report()["core"]["findings"] == []
        assert list((ctypes.c_float * count).from_address(result)) == [
            2.0 * k for k in range(count)
        ]
