"""The cuBLAS look-alike against numpy: column-major, transposes, strides, mixed types, refusals."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.build.installed import STAND_INS
from grader.build.toolchain import discover

from .runtime_host import Host

NOT_INITIALISED, INVALID, FAILED = 1, 7, 13
N, T = 0, 1
FLOAT, HALF, COMPUTE_FLOAT, COMPUTE_TF32 = 0, 2, 68, 77


class Blas:
    """cuBLAS calls on arrays that are copied to the device and back, in Fortran order."""

    def __init__(self, host: Host) -> None:
        self.host, self.lib = host, host.lib
        self.handle = ctypes.c_void_p()
        assert self.lib.cublasCreate_v2(ctypes.byref(self.handle)) == 0

    def up(self, array: np.ndarray) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p(self.host.malloc(max(array.nbytes, 4)))
        flat = np.ravel(array, order="F")
        self.lib.cudaMemcpy(pointer, flat.ctypes.data_as(ctypes.c_void_p), flat.nbytes, 1)
        return pointer

    def down(self, pointer: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        flat = np.empty(like.size, like.dtype)
        self.lib.cudaMemcpy(flat.ctypes.data_as(ctypes.c_void_p), pointer, flat.nbytes, 2)
        return flat.reshape(like.shape, order="F")

    def call(self, name: str, *arguments: object) -> int:
        return int(getattr(self.lib, name)(self.handle, *arguments))


def number(value: float) -> object:
    return ctypes.byref(ctypes.c_float(value))


@pytest.fixture
def blas(host: Host) -> Blas:
    return Blas(host)


def some(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    m=st.integers(1, 9),
    n=st.integers(1, 9),
    k=st.integers(1, 9),
    ta=st.sampled_from([N, T]),
    tb=st.sampled_from([N, T]),
    beta=st.sampled_from([0.0, 0.5]),
)
def test_sgemm(blas: Blas, m: int, n: int, k: int, ta: int, tb: int, beta: float) -> None:
    a = some(*((m, k) if ta == N else (k, m)))
    b = some(*((k, n) if tb == N else (n, k)), seed=1)
    c = some(m, n, seed=2) if beta else np.full((m, n), np.nan, np.float32)
    there = blas.up(c)
    status = blas.call(
        "cublasSgemm_v2", ta, tb, m, n, k, number(2.0), blas.up(a), a.shape[0],
        blas.up(b), b.shape[0], number(beta), there, m,
    )  # fmt: skip
    assert status == 0
    wanted = 2 * (a if ta == N else a.T) @ (b if tb == N else b.T) + (beta * c if beta else 0)
    np.testing.assert_allclose(blas.down(there, c), wanted, rtol=1e-5, atol=1e-5)


def test_many_products_at_a_stride(blas: Blas) -> None:
    a, b, c = some(3, 4, 5), some(4, 2, 5, seed=1), np.zeros((3, 2, 5), np.float32)
    there = blas.up(c)
    long = ctypes.c_longlong
    status = blas.call(
        "cublasSgemmStridedBatched", N, N, 3, 2, 4, number(1.0), blas.up(a), 3, long(12),
        blas.up(b), 4, long(8), number(0.0), there, 3, long(6), 5,
    )  # fmt: skip
    assert status == 0
    np.testing.assert_allclose(blas.down(there, c), np.einsum("mkb,knb->mnb", a, b), rtol=1e-5)


@pytest.mark.parametrize(("compute", "error"), [(COMPUTE_FLOAT, 1e-6), (COMPUTE_TF32, 1e-2)])
def test_tf32_is_as_coarse_as_the_hardware_s(blas: Blas, compute: int, error: float) -> None:
    a, b, c = some(64, 64), some(64, 64, seed=1), np.zeros((64, 64), np.float32)
    there = blas.up(c)
    status = blas.call(
        "cublasGemmEx", N, N, 64, 64, 64, number(1.0), blas.up(a), FLOAT, 64, blas.up(b), FLOAT, 64,
        number(0.0), there, FLOAT, 64, compute, -1,
    )  # fmt: skip
    assert status == 0
    exact = a.astype(np.float64) @ b.astype(np.float64)
    off = np.abs(blas.down(there, c) - exact).max() / np.abs(exact).max()
    assert error / 100 < off < error


def test_halves_are_summed_in_floats(blas: Blas) -> None:
    a, b = some(8, 300).astype(np.float16), some(300, 8, seed=1).astype(np.float16)
    c = np.zeros((8, 8), np.float16)
    there = blas.up(c)
    status = blas.call(
        "cublasGemmEx", N, N, 8, 8, 300, number(1.0), blas.up(a), HALF, 8, blas.up(b), HALF, 300,
        number(0.0), there, HALF, 8, COMPUTE_FLOAT, -1,
    )  # fmt: skip
    assert status == 0
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    np.testing.assert_allclose(blas.down(there, c), wanted, rtol=2e-3, atol=1e-3)


def test_a_matrix_and_a_vector(blas: Blas) -> None:
    a, x, y = some(5, 7), some(7, seed=1), np.zeros(5, np.float32)
    there = blas.up(y)
    status = blas.call(
        "cublasSgemv_v2", N, 5, 7, number(1.0), blas.up(a), 5, blas.up(x), 1, number(0.0), there, 1
    )
    assert status == 0
    np.testing.assert_allclose(blas.down(there, y), a @ x, rtol=1e-5)


def test_an_outer_product_is_added(blas: Blas) -> None:
    a, x, y = some(5, 7), some(5, seed=1), some(7, seed=2)
    there = blas.up(a)
    status = blas.call("cublasSger_v2", 5, 7, number(2.0), blas.up(x), 1, blas.up(y), 1, there, 5)
    assert status == 0
    np.testing.assert_allclose(blas.down(there, a), a + 2 * np.outer(x, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("upper", [0, 1])
def test_symmetric_matrices_are_read_from_one_triangle(blas: Blas, upper: int) -> None:
    a, b, c = some(6, 6), some(6, 4, seed=1), np.zeros((6, 4), np.float32)
    half = np.triu(a) if upper else np.tril(a)
    there = blas.up(c)
    status = blas.call(
        "cublasSsymm_v2", 0, upper, 6, 4, number(1.0), blas.up(a), 6, blas.up(b), 6, number(0.0),
        there, 6,
    )  # fmt: skip
    assert status == 0
    whole = half + half.T - np.diag(np.diag(a))
    np.testing.assert_allclose(blas.down(there, c), whole @ b, rtol=1e-4, atol=1e-5)


def test_rows_scaled_by_a_diagonal_and_norms(blas: Blas) -> None:
    a, x, c = some(3, 5), some(5, seed=1), np.zeros((3, 5), np.float32)
    there = blas.up(c)
    assert blas.call("cublasSdgmm", 1, 3, 5, blas.up(a), 3, blas.up(x), 1, there, 3) == 0
    np.testing.assert_allclose(blas.down(there, c), a * x, rtol=1e-6)
    result = ctypes.c_float()
    assert blas.call("cublasSnrm2_v2", 5, blas.up(x), 1, ctypes.byref(result)) == 0
    assert result.value == pytest.approx(float(np.linalg.norm(x)), rel=1e-6)


def test_the_stand_in_header_declares_only_what_there_is(blas: Blas, tmp_path: Path) -> None:
    tools = discover()
    source = tmp_path / "all.cpp"
    source.write_text("#include <cublas_v2.h>\n")
    folders = [STAND_INS, *tools.cuda_includes]
    command = [str(tools.gxx), "-E", "-P", *(f"-I{path}" for path in folders), str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    declared = set(re.findall(r"\b(cublas\w+)\s*\(", text))
    assert {"cublasSgemm_v2", "cublasGemmEx", "cublasHgemmBatched"} <= declared
    assert not [name for name in sorted(declared) if not hasattr(blas.lib, name)]


def gemm(blas: Blas, lda: int, a: object, handle: object = None) -> int:
    b = blas.up(some(4, 4))
    arguments = (N, N, 4, 4, 4, number(1.0), a, lda, b, 4, number(0.0), blas.up(some(4, 4)), 4)
    if handle is None:
        return blas.call("cublasSgemm_v2", *arguments)
    return int(blas.lib.cublasSgemm_v2(handle, *arguments))


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda blas: gemm(blas, 3, blas.up(some(4, 4))), INVALID),
        (lambda blas: gemm(blas, 4, blas.up(some(4, 4)), ctypes.c_void_p(8)), NOT_INITIALISED),
        (lambda blas: gemm(blas, 4, blas.up(some(2, 4))), FAILED),
        (lambda blas: gemm(blas, 4, some(4, 4).ctypes.data_as(ctypes.c_void_p)), FAILED),
    ],
    ids=["a leading dimension too small", "no handle", "a matrix too small", "the host's memory"],
)
def test_what_is_refused(blas: Blas, call: Callable[[Blas], int], status: int) -> None:
    assert call(blas) == status


def test_a_read_outside_takes_the_context(blas: Blas) -> None:
    gemm(blas, 4, blas.up(some(2, 4)))
    assert (
        "cublasSgemm is given a matrix of 64 bytes" in blas.host.report()["host"]["sticky_reason"]
    )
