"""Compile CUDA sources with nvcc, run their kernels on the simulator with numpy arrays."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grader.simulator.ptx import decode, encode

Dim = int | tuple[int, ...]


def nvcc() -> str | None:
    """Path of nvcc, or None."""
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def compile_ptx(source: Path, *flags: str) -> str:
    """PTX of a CUDA file."""
    compiler = nvcc()
    assert compiler is not None
    done = subprocess.run(
        [compiler, "-ptx", "-lineinfo", "-arch=sm_90", "-std=c++17", *flags, str(source),
         "-o", "-"],
        capture_output=True, text=True, check=False,
        # What this process has to load first, such as a sanitizer, the compiler does without.
        env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass(frozen=True)
class Outcome:
    """What one launch gave."""

    status: str
    reason: str
    line: int
    illegal: bool
    lane_steps: int
    report: dict[str, Any] = field(repr=False)
    outside_by: int = 0
    shared_outside: bool = False

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.report["findings"]

    def kinds(self) -> set[tuple[str, int]]:
        """Pairs of kind and line."""
        return {(f["kind"], f["line"]) for f in self.findings}


OptionWords = ctypes.c_uint64 * 8
"""What `kgsim_launch` reads, in c_api.cpp's order."""
ResultWords = ctypes.c_uint64 * 6
"""What it writes."""


class Simulator:
    """The native library through ctypes."""

    def __init__(self, library: Path) -> None:
        self.path = library
        self._lib = lib = ctypes.CDLL(str(library))
        lib.kgsim_load.restype = ctypes.c_void_p
        lib.kgsim_load.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib.kgsim_unload.argtypes = [ctypes.c_void_p]
        for name in ("error", "report", "output", "status_name", "kernels"):
            getattr(lib, f"kgsim_{name}").restype = ctypes.c_char_p
        lib.kgsim_kernels.argtypes = [ctypes.c_void_p]
        lib.kgsim_add_region.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p] + [
            ctypes.c_int
        ] * 3
        lib.kgsim_free_region.argtypes = [ctypes.c_uint64]
        lib.kgsim_unwritten.argtypes = [ctypes.c_uint64]
        lib.kgsim_unwritten.restype = ctypes.c_uint64
        lib.kgsim_launch.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64,
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p,
        ]  # fmt: skip
        lib.kgsim_kernel_params.argtypes = [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_int,
        ]
        lib.kgsim_variable.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        lib.kgsim_variable.restype = ctypes.c_uint64

    def load(self, blob: bytes) -> Module:
        """Load a blob; raise ValueError where the simulator refuses it."""
        handle = self._lib.kgsim_load(blob, len(blob))
        if not handle:
            raise ValueError(self._lib.kgsim_error().decode())
        return Module(self._lib, handle)

    def load_ptx(self, ptx: str, own: str = "cuda.cu") -> Module:
        return self.load(encode(decode(ptx, own)))


class Module:
    """A loaded program."""

    def __init__(self, lib: ctypes.CDLL, handle: int) -> None:
        self._lib, self._handle = lib, handle

    def __del__(self) -> None:
        self._lib.kgsim_unload(self._handle)

    def kernels(self) -> list[str]:
        return self._lib.kgsim_kernels(self._handle).decode(errors="surrogateescape").split()

    def kernel(self, part: str) -> str:
        """The full name of the one kernel whose mangled name holds `part`."""
        exact = [name for name in self.kernels() if name == part or f"{len(part)}{part}" in name]
        assert len(exact) == 1, (part, self.kernels())
        return exact[0]

    @contextmanager
    def regions(
        self, args: Sequence[Any], inputs: Sequence[int], empty: Sequence[int]
    ) -> Iterator[None]:
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        for index, array in enumerate(arrays):
            self._lib.kgsim_add_region(
                array.ctypes.data,
                array.nbytes,
                f"arg{index}".encode(),
                0,
                int(index in inputs),
                int(index in empty),
            )
        try:
            yield
        finally:
            for array in arrays:
                self._lib.kgsim_free_region(array.ctypes.data)

    def launch(
        self, kernel: str, grid: Dim, block: Dim, *args: Any, shared: int = 0,
        inputs: Sequence[int] = (),
        empty: Sequence[int] = (), threads: int = 1, steps: int = 200_000_000, races: bool = True,
        uninitialised: bool = True, counts: bool = True, seconds: float = 60.0,
        resident: int = 0, cooperative: bool = False,
    ) -> Outcome:  # fmt: skip
        """Run a kernel; arrays become regions (`inputs`, `empty`: indices among the arrays)."""
        name = self.kernel(kernel)
        sizes = (ctypes.c_uint32 * 64)()
        n = self._lib.kgsim_kernel_params(self._handle, name.encode(), sizes, 64)
        assert n == len(args), (n, len(args))
        keep = [_bytes(arg, sizes[k]) for k, arg in enumerate(args)]
        pointers = (ctypes.c_void_p * max(n, 1))(*[ctypes.addressof(b) for b in keep])
        options = OptionWords(
            threads, steps, 0, races, uninitialised, counts, resident, cooperative
        )
        out = ResultWords()
        self._lib.kgsim_reset_report()
        with self.regions(args, inputs, empty):
            status = self._lib.kgsim_launch(
                self._handle,
                name.encode(),
                _dim(grid),
                _dim(block),
                shared,
                pointers,
                options,
                seconds,
                out,
            )
            reason = self._lib.kgsim_error().decode()
            report = json.loads(self._lib.kgsim_report())
        text = self._lib.kgsim_status_name(status).decode()
        return Outcome(text, reason, out[0], bool(out[1]), out[2], report, out[4], bool(out[5]))

    def output(self) -> str:
        return self._lib.kgsim_output().decode()


def _dim(value: Dim) -> ctypes.Array[ctypes.c_uint32]:
    extents = (value,) if isinstance(value, int) else value
    return (ctypes.c_uint32 * 3)(*extents, *([1] * (3 - len(extents))))


def _bytes(value: Any, size: int) -> ctypes.Array[ctypes.c_char]:
    if isinstance(value, np.ndarray):
        data = value.ctypes.data.to_bytes(8, "little")
    elif isinstance(value, bytes):
        data = value
    elif isinstance(value, np.generic):
        data = value.tobytes()
    elif isinstance(value, float):
        data = np.float64(value).tobytes() if size == 8 else np.float32(value).tobytes()
    else:
        data = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    assert len(data) == size, (len(data), size)
    return ctypes.create_string_buffer(data, size)
