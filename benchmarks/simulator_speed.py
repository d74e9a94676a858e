"""Speed of the simulator's core: lane accesses a second with all checks on, and plain -O2 C.

    python benchmarks/simulator_speed.py [path of libkgsim.so]

Lane accesses are those to global and shared memory. The C version does the same arithmetic.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.simulator.core.harness import Module, Simulator, compile_ptx  # noqa: E402

CUDA = Path(__file__).with_suffix(".cu")

C = r"""
#include <math.h>
void add(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
void matmul(const float* A, const float* B, float* C, int n) {
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
            C[r * n + c] = s;
        }
}
void softmax(const float* x, float* y, int n, int rows) {
    for (int r = 0; r < rows; ++r, x += n, y += n) {
        float m = -INFINITY, s = 0;
        for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
        for (int i = 0; i < n; ++i) s += expf(x[i] - m);
        for (int i = 0; i < n; ++i) y[i] = expf(x[i] - m) / s;
    }
}
"""


def best(function: object, times: int = 3) -> float:
    """Shortest processor time in seconds: other work on the machine does not count."""
    took = []
    for _ in range(times):
        start = time.process_time()
        function()  # type: ignore[operator]
        took.append(time.process_time() - start)
    return min(took)


def compiled_c(folder: Path) -> ctypes.CDLL:
    (folder / "k.c").write_text(C)
    subprocess.run(
        ["gcc", "-O2", "-shared", "-fPIC", str(folder / "k.c"), "-o", str(folder / "k.so"), "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(folder / "k.so"))


def cases() -> dict[str, tuple[object, ...]]:
    rng = np.random.default_rng(0)
    vector = [rng.normal(size=1 << 19).astype("f4") for _ in range(3)]
    square = [rng.normal(size=(192, 192)).astype("f4") for _ in range(3)]
    wide = [rng.normal(size=(512, 512)).astype("f4") for _ in range(2)]
    return {
        "add": (2048, 256, *vector, 1 << 19),
        "relu_strided": (64, 256, *vector[:2], 1 << 19),
        "vector4": (512, 256, *vector[:2], 1 << 17),
        "column_sum": (2, 256, wide[0], vector[0], 512),
        "row_sum": (2, 256, wide[0], vector[0], 512),
        "tree": (1024, 256, *vector[:2], 0),
        "softmax": (64, 256, wide[0], wide[1], 512),
        "matmul": ((12, 12), (16, 16), *square, 192),
        "naive_matmul": ((12, 12), (16, 16), *square, 192),
        "conv3": ((32, 32), (16, 16), wide[0], vector[0], wide[1], 512),
        "transpose": ((16, 16), (32, 8), wide[0], wide[1], 512),
        "racing_tree": (1024, 256, *vector[:2], 0),
    }


def accesses(report: dict[str, object]) -> int:
    return sum(line["accesses"] + line["shared_accesses"] for line in report["lines"])  # type: ignore[attr-defined,index]


def main(library: Path | None) -> None:
    if library is None:
        from grader.build.toolchain import discover
        from grader.simulator import library as builder

        library = builder.build(
            Path(tempfile.gettempdir()) / "kgsim-benchmark", cuda_includes=discover().cuda_includes
        )
    simulator = Simulator(library)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        module: Module = simulator.load_ptx(compile_ptx(CUDA), CUDA.name)
        c = compiled_c(folder)
        print(
            f"{'kernel':14} {'M accesses':>10} {'seconds':>8} {'M acc/s':>8} "
            f"{'no checks':>10} {'to C -O2':>9}"
        )
        for name, case in cases().items():
            measure(module, c, name, *case)


def measure(module: Module, c: ctypes.CDLL, name: str, grid: Any, block: Any, *args: Any) -> None:
    """Print one line of the table."""
    bare = {"races": False, "uninitialised": False, "counts": False}
    total = accesses(module.launch(name, grid, block, *args).report)
    took = best(lambda: module.launch(name, grid, block, *args))
    without = best(lambda: module.launch(name, grid, block, *args, **bare), 2)
    pointers = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args]
    extra = {"softmax": [512]}.get(name, [])
    plain = best(lambda: getattr(c, name)(*pointers, *extra)) if hasattr(c, name) else 0.0
    ratio = f"{took / plain:8.0f}x" if plain else ""
    speed = total / took / 1e6
    print(
        f"{name:14} {total / 1e6:10.2f} {took:8.3f} {speed:8.0f} {took / without:9.2f}x {ratio:>9}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library", type=Path, nargs="?", help="built anew when not given")
    main(parser.parse_args().library)
