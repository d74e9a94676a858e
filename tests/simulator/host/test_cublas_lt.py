"""cuBLASLt's product against numpy: both orders, transposes, batches, epilogues, refusals."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.build.installed import STAND_INS
from grader.build.toolchain import discover

from .runtime_host import Host
from .test_cublas import COMPUTE_FLOAT, FLOAT, HALF, INVALID, NOT_INITIALISED, Blas, N, T, some

NOT_SUPPORTED = 15
COLUMNS, ROWS = 0, 1
ORDER, BATCHES, STRIDE = 1, 5, 6
TRANS_A, TRANS_B, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8
NOTHING, RELU, BIAS, GELU = 1, 2, 4, 32
RELU_AUX = RELU | 128
TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.float16): HALF}


class Lt(Blas):
    """`product` lays matrices out in an order, batch after batch, and multiplies them."""

    def attribute(self, owner: str, made: ctypes.c_void_p, name: int, value: object) -> None:
        function = getattr(self.lib, f"cublasLt{owner}SetAttribute")
        assert function(made, name, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))) == 0

    def layout(self, array: np.ndarray, order: int) -> ctypes.c_void_p:
        """`array`: batches x rows x columns."""
        batches, rows, columns = array.shape
        made = ctypes.c_void_p()
        leading = ctypes.c_int64(rows if order == COLUMNS else columns)
        self.lib.cublasLtMatrixLayoutCreate(
            ctypes.byref(made), TYPES[array.dtype], ctypes.c_uint64(rows), ctypes.c_uint64(columns), leading
        )  # fmt: skip
        for name, value in (
            (ORDER, ctypes.c_int(order)),
            (BATCHES, ctypes.c_int(batches)),
            (STRIDE, ctypes.c_int64(rows * columns)),
        ):
            self.attribute("MatrixLayout", made, name, value)
        return made

    def description(self, attributes: Mapping[int, object]) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert self.lib.cublasLtMatmulDescCreate(ctypes.byref(made), COMPUTE_FLOAT, FLOAT) == 0
        for name, value in attributes.items():
            self.attribute("MatmulDesc", made, name, value)
        return made

    def product(
        self,
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        orders: tuple[int, int, int] = (COLUMNS,) * 3,
        beta: float = 0.0,
        attributes: Mapping[int, object] | None = None,
        handle: ctypes.c_void_p | None = None,
    ) -> tuple[int, np.ndarray]:
        """Return the status, and D = alpha op(A) op(B) + beta C with alpha 2."""
        there = [self.up(_laid(x, order)) for x, order in zip((a, b, c), orders, strict=True)]
        layouts = [self.layout(x, order) for x, order in zip((a, b, c), orders, strict=True)]
        status = self.lib.cublasLtMatmul(
            handle or self.handle, self.description(attributes or {}), ctypes.byref(ctypes.c_float(2.0)),
            there[0], layouts[0], there[1], layouts[1], ctypes.byref(ctypes.c_float(beta)),
            there[2], layouts[2], there[2], layouts[2], None, None, ctypes.c_size_t(0), None,
        )  # fmt: skip
        flat = self.down(there[2], np.ravel(c))
        return status, _read(flat, c.shape, orders[2])


def _laid(array: np.ndarray, order: int) -> np.ndarray:
    turned = array if order == ROWS else array.transpose(0, 2, 1)
    return np.ravel(turned, order="C")


def _read(flat: np.ndarray, shape: tuple[int, ...], order: int) -> np.ndarray:
    batches, rows, columns = shape
    if order == ROWS:
        return flat.reshape(shape)
    return flat.reshape(batches, columns, rows).transpose(0, 2, 1)


@pytest.fixture
def lt(host: Host) -> Lt:
    return Lt(host)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.tuples(*[st.integers(1, 6)] * 3, st.integers(1, 3)),
    ops=st.tuples(*[st.sampled_from([N, T])] * 2),
    orders=st.tuples(*[st.sampled_from([COLUMNS, ROWS])] * 3),
    beta=st.sampled_from([0.0, 0.5]),
)
def test_products(
    lt: Lt,
    sizes: tuple[int, int, int, int],
    ops: tuple[int, int],
    orders: tuple[int, int, int],
    beta: float,
) -> None:
    m, n, k, batches = sizes
    a, b = some(batches, m, k), some(batches, k, n, seed=1)
    c = some(batches, m, n, seed=2) if beta else np.full((batches, m, n), np.nan, np.float32)
    given_a = a if ops[0] == N else a.transpose(0, 2, 1)
    given_b = b if ops[1] == N else b.transpose(0, 2, 1)
    attributes = {TRANS_A: ctypes.c_int(ops[0]), TRANS_B: ctypes.c_int(ops[1])}
    status, made = lt.product(given_a, given_b, c, orders, beta, attributes)
    assert status == 0
    np.testing.assert_allclose(made, 2 * a @ b + (beta * c if beta else 0), rtol=1e-5, atol=1e-5)


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("order", [COLUMNS, ROWS])
@pytest.mark.parametrize("activation", [0, RELU, GELU])
def test_a_bias_for_each_row_and_an_activation(lt: Lt, order: int, activation: int) -> None:
    a, b, c = some(1, 5, 4), some(1, 4, 3, seed=1), np.zeros((1, 5, 3), np.float32)
    bias = some(5, seed=3)
    attributes = {EPILOGUE: ctypes.c_int(BIAS | activation), BIAS_POINTER: lt.up(bias)}
    status, made = lt.product(a, b, c, (order,) * 3, attributes=attributes)
    assert status == 0
    wanted = 2 * a @ b + bias[None, :, None]
    wanted = (
        np.maximum(wanted, 0) if activation == RELU else _gelu(wanted) if activation else wanted
    )
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-5)


def test_halves(lt: Lt) -> None:
    a, b = some(2, 8, 64).astype(np.float16), some(2, 64, 8, seed=1).astype(np.float16)
    status, made = lt.product(a, b, np.zeros((2, 8, 8), np.float16))
    assert status == 0
    wanted = 2 * a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(made, wanted.astype(np.float16), rtol=2e-3, atol=1e-2)


def test_the_first_algorithm_is_the_only_one(lt: Lt) -> None:
    a, b, c = some(1, 2, 3), some(1, 3, 4), some(1, 2, 4)
    result, found = (ctypes.c_uint64 * 12)(), ctypes.c_int()
    layouts = [lt.layout(x, COLUMNS) for x in (a, b, c, c)]
    ask = (lt.handle, lt.description({}), *layouts, None, 3, result, ctypes.byref(found))
    assert lt.lib.cublasLtMatmulAlgoGetHeuristic(*ask) == 0
    assert found.value == 1
    wrong = (*ask[:3], layouts[0], *ask[4:])
    assert lt.lib.cublasLtMatmulAlgoGetHeuristic(*wrong) == INVALID


def test_what_is_refused(lt: Lt) -> None:
    a, b, c = some(1, 2, 3), some(1, 3, 4), some(1, 2, 4)
    assert lt.product(a, a, c)[0] == INVALID
    assert lt.product(a, b, c, attributes={EPILOGUE: ctypes.c_int(BIAS)})[0] == INVALID
    assert lt.product(a, b, c, handle=ctypes.c_void_p(8))[0] == NOT_INITIALISED
    assert lt.product(a, b, c, attributes={EPILOGUE: ctypes.c_int(RELU_AUX)})[0] == NOT_SUPPORTED


def test_the_stand_in_header_declares_only_what_there_is(lt: Lt, tmp_path: Path) -> None:
    tools = discover()
    source = tmp_path / "all.cpp"
    source.write_text("#include <cublasLt.h>\n")
    folders = [STAND_INS, *tools.cuda_includes]
    command = [str(tools.gxx), "-E", "-P", *(f"-I{path}" for path in folders), str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    declared = set(re.findall(r"\b(cublasLt\w+)\s*\(", text))
    assert {"cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic"} <= declared
    assert not [name for name in sorted(declared) if not hasattr(lt.lib, name)]
