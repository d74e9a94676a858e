"""All device functions of CUDA's headers on the simulator, against what an H200 gave (benchmarks/device_functions.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grader.build.toolchain import discover

from .device_functions import Function, declared, numbers, saved, translate
from .harness import Module, Simulator, nvcc

RECORDED = Path(__file__).parents[2] / "gpu" / "recorded" / "h200_functions.npz"
COARSE = {"__sinf": 5e-7, "__cosf": 5e-7, "__sincosf": 5e-7, "__tanf": 5e-6, "__tanhf": 1e-4}
"""Functions that are a GPU's own approximation: how far apart the two may be, as PTX allows."""


def aligned(data: np.ndarray) -> np.ndarray:
    """Return a copy that starts at a multiple of 64 bytes."""
    room = np.zeros(data.nbytes + 64, "u1")
    start = -room.ctypes.data % 64
    room[start : start + data.nbytes] = data
    return room[start : start + data.nbytes]


def differences(
    module: Module, kernel: str, function: Function, kept: dict[str, np.ndarray]
) -> Iterator[str]:
    """Yield what the simulator does otherwise."""
    before = function.inputs()
    after = [aligned(one) for one in before]
    outcome = module.launch(kernel, 1, 32, *after)
    if outcome.status != "ok" or outcome.findings:
        yield f"{function.key}: {outcome.status} {outcome.reason} {outcome.findings[:1]}"
        return
    for k, kind in enumerate(function.types):
        expected = kept.get(f"{function.key}/{k}", before[k])
        if not np.array_equal(after[k], expected) and not near(
            function.name, kind, after[k], expected
        ):
            yield f"{function.key}, array {k}: {after[k].tobytes().hex()}, H200 {expected.tobytes().hex()}"


def near(name: str, kind: str, ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether floats differ by no more than what their last digits, or an approximation, may."""
    x, y = numbers(kind, ours), numbers(kind, theirs)
    if x is None or y is None:
        return False
    step = {2: 2.0**-10, 4: 2.0**-22, 8: 2.0**-51}[ours.nbytes // x.size]
    if kind.startswith("__nv_bf"):
        step = 2.0**-7
    largest = np.nanmax(np.abs(y[np.isfinite(y)]), initial=1.0) if name in COARSE else 0.0
    return bool(
        np.allclose(
            x, y, rtol=4 * step, atol=COARSE.get(name, 0.0) * max(1.0, largest), equal_nan=True
        )
    )


@pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")
def test_they_compute_what_an_h200_computes(simulator: Simulator, tmp_path: Path) -> None:
    headers = next(p for p in discover().cuda_includes if (p / "cuda_fp16.h").exists())
    ptx, kernels = translate(nvcc() or "", declared(headers), tmp_path)
    module = simulator.load_ptx(ptx, "functions.cu")
    kept = saved(RECORDED)
    known = {key.rpartition("/")[0] for key in kept}
    ours = {kernel: one for kernel, one in kernels.items() if one.key in known}
    assert len(ours) > 0.9 * len(known), "another toolkit's headers"
    found = [
        line for kernel, one in ours.items() for line in differences(module, kernel, one, kept)
    ]
    assert not found, f"{len(found)} of {len(ours)}:\n" + "\n".join(found[:20])
