# ruff: noqa: E402 - the path comes before the imports
"""Every device function of CUDA's headers on a GPU: what a test holds the simulator to.

    python benchmarks/device_functions.py tests/gpu/recorded/h200_functions.npz

Needs an NVIDIA GPU and nvcc (with the headers of its toolkit), and numpy; torch is not used. Each function is
called by 32 threads with values of all sizes, special ones too, and the arrays that it changed are kept.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "simulator" / "core"))

import device_functions as functions


class Gpu:
    """Kernels of a cubin through the driver."""

    def __init__(self, cubin: Path) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context, self._module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cuInit", 0)
        self._do("cuDeviceGet", ctypes.byref(device), 0)
        self._do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._do("cuCtxSetCurrent", context)
        self._do("cuModuleLoad", ctypes.byref(self._module), str(cubin).encode())

    def _do(self, name: str, *arguments: object) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: CUDA error {status}")

    def launch(self, kernel: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Run one block; return the arrays afterwards."""
        function = ctypes.c_void_p()
        self._do("cuModuleGetFunction", ctypes.byref(function), self._module, kernel.encode())
        places = [self._upload(array) for array in arrays]
        pointers = (ctypes.c_void_p * len(places))(*map(ctypes.addressof, places))
        self._do(
            "cuLaunchKernel", function, 1, 1, 1, functions.THREADS, 1, 1, 0, None, pointers, None
        )
        self._do("cuCtxSynchronize")
        return [self._download(place, array) for place, array in zip(places, arrays, strict=True)]

    def _upload(self, array: np.ndarray) -> ctypes.c_uint64:
        place = ctypes.c_uint64()
        self._do("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        self._do(
            "cuMemcpyHtoD_v2",
            place,
            ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes),
        )
        return place

    def _download(self, place: ctypes.c_uint64, like: np.ndarray) -> np.ndarray:
        after = np.empty_like(like)
        self._do(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(after.ctypes.data),
            place,
            ctypes.c_size_t(after.nbytes),
        )
        self._do("cuMemFree_v2", place)
        return after


def main() -> int:
    """Record; print how many."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    nvcc = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").resolve()
    kept: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        headers = nvcc.parents[1] / "include"
        ptx, kernels = functions.translate(str(nvcc), functions.declared(headers), folder)
        (folder / "f.ptx").write_text(ptx)
        tool = [str(nvcc.with_name("ptxas")), "-arch=sm_90", str(folder / "f.ptx")]
        subprocess.run([*tool, "-o", str(folder / "f.cubin")], check=True)
        gpu = Gpu(folder / "f.cubin")
        for kernel, function in kernels.items():
            before = function.inputs()
            after = gpu.launch(kernel, [one.copy() for one in before])
            for k, (old, new) in enumerate(zip(before, after, strict=True)):
                if (old != new).any():
                    kept[f"{function.key}/{k}"] = new
    functions.save(kept, options.out)
    print(f"{len(kernels)} functions, {options.out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
