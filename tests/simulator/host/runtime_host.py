"""Calls the CUDA runtime look-alike as a compiled extension would, from ctypes."""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.simulator import ptx
from grader.simulator.gpus import Gpu

H2D, D2H, D2D = 1, 2, 3
SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION = 0, 1, 2, 9
INVALID_PITCH, INVALID_SYMBOL, INVALID_DIRECTION, INVALID_FUNCTION = 12, 13, 21, 98
INVALID_DEVICE, INVALID_HANDLE, OUT_OF_RESOURCES, LAUNCH_TIMEOUT = 101, 400, 701, 702
ILLEGAL_ADDRESS, TOO_LARGE, NOT_SUPPORTED = 700, 720, 801
ILLEGAL_STATE, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED = 401, 900, 901
CAPTURE_UNMATCHED, CAPTURE_UNJOINED, CAPTURE_IMPLICIT, CAPTURED_EVENT = 903, 904, 906, 907
MAX_DYNAMIC_SHARED = 8


class Dim3(ctypes.Structure):
    """CUDA's dim3."""

    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class Wrapper(ctypes.Structure):
    """What a host object's constructor hands to __cudaRegisterFatBinary."""

    _fields_ = (
        ("magic", ctypes.c_int),
        ("version", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("unused", ctypes.c_void_p),
    )


class Host:
    """One process' view of the simulated GPU. The library's state is the process'."""

    _stubs = itertools.count(0x10_0000, 16)

    def __init__(self, library: Path) -> None:
        self.lib = ctypes.CDLL(str(library))
        self.lib.kgsim_host_report.restype = ctypes.c_void_p
        self.lib.kgsim_free_text.argtypes = (ctypes.c_void_p,)
        getattr(self.lib, "__cudaRegisterFatBinary").restype = ctypes.c_void_p
        self.lib.cudaGetErrorName.restype = ctypes.c_char_p
        self.lib.cudaLaunchKernel.argtypes = (
            ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
        )  # fmt: skip
        for name in ("cudaMemcpy", "cudaMemcpyAsync"):
            function = getattr(self.lib, name)
            function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self.lib.cudaMemset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
        self.lib.cudaFree.argtypes = (ctypes.c_void_p,)
        self._kept: list[Any] = []

    def use(self, gpu: Gpu) -> None:
        for key, value in gpu.fields().items():
            assert self.lib.kgsim_set(f"gpu.{key}".encode(), str(value).encode()) == 0

    def set(self, key: str, value: object) -> int:
        return int(self.lib.kgsim_set(key.encode(), str(value).encode()))

    def load(
        self, text: str, kernels: Sequence[str], variables: Sequence[str] = ()
    ) -> dict[str, int]:
        """Register a program as clang's host objects do; returns stubs and shadows by name."""
        blob = ctypes.create_string_buffer(ptx.encode(ptx.decode(text)))
        wrapper = Wrapper(0x466243B1, 1, ctypes.addressof(blob), None)
        self._kept += [blob, wrapper]
        handle = ctypes.c_void_p(
            getattr(self.lib, "__cudaRegisterFatBinary")(ctypes.byref(wrapper))
        )
        addresses = {name: next(self._stubs) for name in (*kernels, *variables)}
        for name in kernels:
            stub = ctypes.c_void_p(addresses[name])
            getattr(self.lib, "__cudaRegisterFunction")(
                handle, stub, name.encode(), name.encode(), -1, *[None] * 5
            )
        for name in variables:
            getattr(self.lib, "__cudaRegisterVar")(
                handle, ctypes.c_void_p(addresses[name]), name.encode(), name.encode(),
                0, ctypes.c_size_t(4), 0, 0,
            )  # fmt: skip
        getattr(self.lib, "__cudaRegisterFatBinaryEnd")(handle)
        return addresses

    def malloc(self, size: int) -> int:
        pointer = ctypes.c_void_p()
        assert self.lib.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        return pointer.value or 0

    def launch(
        self, stub: int, grid: Sequence[int], block: Sequence[int], *args: Any, shared: int = 0,
        stream: Any = None,
    ) -> int:  # fmt: skip
        """Launch with arguments given as ctypes values, ints meaning pointers."""
        values = [ctypes.c_void_p(a) if isinstance(a, int) else a for a in args]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        return int(
            self.lib.cudaLaunchKernel(stub, _dim(grid), _dim(block), pointers, shared, stream)
        )

    def report(self) -> dict[str, Any]:
        """Read the report, and start a new one."""
        text = self.lib.kgsim_host_report()
        found = json.loads(ctypes.string_at(text).decode())
        self.lib.kgsim_free_text(text)
        self.lib.kgsim_reset()
        return dict(found)


def _dim(values: Sequence[int]) -> Dim3:
    x, y, z = [*values, 1, 1][:3]
    return Dim3(x, y, z)
