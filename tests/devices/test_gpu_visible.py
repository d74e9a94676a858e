"""CUDA_VISIBLE_DEVICES means to the grader what it means to CUDA."""

from __future__ import annotations

import pytest

from grader.devices.cuda.gpu import GpuFacts, visible

GPUS = tuple(GpuFacts(f"GPU-{name}", "a GPU", "9.0", "1", 1 << 30) for name in ("aa1", "ab2", "c3"))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, ["aa1", "ab2", "c3"]),
        ("", []),
        ("1", ["ab2"]),
        ("2, 0", ["c3", "aa1"]),
        ("GPU-ab2", ["ab2"]),
        ("GPU-c", ["c3"]),
        ("0,7,1", ["aa1"]),  # ends at the first that is none
        ("GPU-a", []),  # two begin like this
        ("-1", []),
        ("1,1", ["ab2"]),
    ],
)
def test_visible(wanted: str | None, found: list[str]) -> None:
    assert [gpu.uuid.removeprefix("GPU-") for gpu in visible(GPUS, wanted)] == found
