"""Speed of the simulator's core: lane accesses a second with all checks on, beside plain -O2 C of the same kernel.

    python benchmarks/simulator_speed.py [path of libkgsim.so]

Lane accesses are those to global and shared memory. The C version runs the same arithmetic and the same
accesses, one thread of the grid after the other.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from simulator.core.harness import Module, Simulator, compile_ptx  # noqa: E402

CUDA = r"""
#include <cuda_fp16.h>
#define K extern "C" __global__ void
K add(const float* a, const float* b, float* c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }
K relu_strided(const float* x, float* y, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.f); }
K vector4(const float4* a, float4* c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float4 v = a[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2; c[i] = v; } }
K column_sum(const float* x, float* y, int n) { int c = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; for (int r = 0; r < n; ++r) s += x[r * n + c]; y[c] = s; }
K row_sum(const float* x, float* y, int n) { int r = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; for (int c = 0; c < n; ++c) s += x[r * n + c]; y[r] = s; }
K tree(const float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[blockIdx.x * 256 + t]; __syncthreads(); for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } if (t == 0) y[blockIdx.x] = s[0]; }
K softmax(const float* x, float* y, int n) { int lane = threadIdx.x & 31, r = blockIdx.x * 8 + threadIdx.x / 32; x += r * n; y += r * n; float m = -INFINITY, s = 0; for (int i = lane; i < n; i += 32) m = fmaxf(m, x[i]); for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o)); for (int i = lane; i < n; i += 32) s += expf(x[i] - m); for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o); for (int i = lane; i < n; i += 32) y[i] = expf(x[i] - m) / s; }
K matmul(const float* A, const float* B, float* C, int n) { __shared__ float a[16][16], b[16][16]; int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x; float s = 0; for (int k = 0; k < n; k += 16) { a[threadIdx.y][threadIdx.x] = A[r * n + k + threadIdx.x]; b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + c]; __syncthreads(); for (int j = 0; j < 16; ++j) s += a[threadIdx.y][j] * b[j][threadIdx.x]; __syncthreads(); } C[r * n + c] = s; }
K naive_matmul(const float* A, const float* B, float* C, int n) { int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x; float s = 0; for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c]; C[r * n + c] = s; }
K conv3(const float* x, const float* w, float* y, int n) { int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; float s = 0; for (int i = -1; i <= 1; ++i) for (int j = -1; j <= 1; ++j) if (r + i >= 0 && r + i < n && c + j >= 0 && c + j < n) s += x[(r + i) * n + c + j] * w[(i + 1) * 3 + j + 1]; y[r * n + c] = s; }
K transpose(const float* x, float* y, int n) { __shared__ float t[32][33]; int cx = blockIdx.x * 32 + threadIdx.x, cy = blockIdx.y * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = x[(cy + j) * n + cx]; __syncthreads(); cx = blockIdx.y * 32 + threadIdx.x; cy = blockIdx.x * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) y[(cy + j) * n + cx] = t[threadIdx.x][threadIdx.y + j]; }
K racing_tree(const float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[blockIdx.x * 256 + t]; __syncthreads(); for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; } if (t == 0) y[blockIdx.x] = s[0]; }
"""

C = r"""
#include <math.h>
#define F __attribute__((optimize("no-tree-vectorize"))) void
void add(const float* a, const float* b, float* c, int n) { for (int i = 0; i < n; ++i) c[i] = a[i] + b[i]; }
void matmul(const float* A, const float* B, float* C, int n) { for (int r = 0; r < n; ++r) for (int c = 0; c < n; ++c) { float s = 0; for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c]; C[r * n + c] = s; } }
void softmax(const float* x, float* y, int n, int rows) { for (int r = 0; r < rows; ++r, x += n, y += n) { float m = -INFINITY, s = 0; for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]); for (int i = 0; i < n; ++i) s += expf(x[i] - m); for (int i = 0; i < n; ++i) y[i] = expf(x[i] - m) / s; } }
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


def main() -> None:
    if len(sys.argv) > 1:
        library = Path(sys.argv[1])
    else:
        from grader.simulator import library as builder

        library = builder.build(Path(tempfile.gettempdir()) / "kgsim-benchmark", core=True)
    simulator = Simulator(library)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "cuda.cu").write_text(CUDA)
        module: Module = simulator.load_ptx(compile_ptx(folder / "cuda.cu"))
        c = compiled_c(folder)
        print(
            f"{'kernel':14} {'M accesses':>10} {'seconds':>8} {'M acc/s':>8} {'no checks':>10} {'to C -O2':>9}"
        )
        for name, (grid, block, *args) in cases().items():
            report = module.launch(name, grid, block, *args).report  # type: ignore[arg-type]
            total = accesses(report)
            took = best(lambda: module.launch(name, grid, block, *args))  # noqa: B023
            bare = best(
                lambda: module.launch(
                    name, grid, block, *args, races=False, uninitialised=False, counts=False
                ),
                2,
            )
            pointers = [
                ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in args
            ]
            extra = {"softmax": [512]}.get(name, [])
            plain = best(lambda: getattr(c, name)(*pointers, *extra)) if hasattr(c, name) else 0.0  # noqa: B023
            ratio = f"{took / plain:8.0f}x" if plain else ""
            print(
                f"{name:14} {total / 1e6:10.2f} {took:8.3f} {total / took / 1e6:8.0f} {took / bare:9.2f}x {ratio:>9}"
            )


if __name__ == "__main__":
    main()
