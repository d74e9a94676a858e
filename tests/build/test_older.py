"""What older tools took is asked of these in their own words; everything else stays."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.build.configuration import STUBS
from grader.build.driver import older


@pytest.fixture
def nvcc(tmp_path: Path) -> str:
    tool = tmp_path / "nvcc"
    tool.write_text("#!/bin/sh\nprintf 'compute_75\\ncompute_80\\ncompute_90\\n'\n")
    tool.chmod(0o755)
    return str(tool)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (["-arch=sm_70", "-c", "a.cu"], ["-arch=sm_75", "-c", "a.cu"]),
        (["-arch", "sm_60"], ["-arch", "sm_75"]),
        (
            ["-gencode", "arch=compute_61,code=[sm_61,compute_61]"],
            ["-gencode", "arch=compute_75,code=[sm_75,compute_75]"],
        ),
        (
            ["-gencode=arch=compute_70,code=sm_70", "-gencode=arch=compute_90,code=sm_90"],
            ["-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_90,code=sm_90"],
        ),
        (["--gpu-architecture=compute_50"], ["--gpu-architecture=compute_75"]),
    ],
)
def test_a_dropped_model_is_raised(nvcc: str, call: list[str], expected: list[str]) -> None:
    assert older._with_models(nvcc, call) == expected


@pytest.mark.parametrize(
    "call",
    [
        ["-arch=sm_90a", "-DNAME=sm_70", "-I", "/sm_60/include"],
        ["-gencode=arch=compute_80,code=sm_80"],
        ["-arch=native"],
        ["-O3"],
    ],
)
def test_everything_else_stays_and_no_toolkit_is_asked(call: list[str]) -> None:
    assert older._with_models("/not/there", call) == call


def test_without_an_answer_the_call_stays() -> None:
    assert older._with_models("/not/there", ["-arch=sm_70"]) == ["-arch=sm_70"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (["-O3", "-std=c++17"], ["-O3", "-std=c++20"]),
        (["--std=c++17", "-c"], ["-std=c++20", "-c"]),
        (["-std", "gnu++17"], ["-std", "c++20"]),
        (["-std=c++14"], ["-std=c++14"]),
        (["-std=c++20"], ["-std=c++20"]),
        (["-DX=c++17", "c++17"], ["-DX=c++17", "c++17"]),
    ],
)
def test_the_standard_of_an_older_torch(call: list[str], expected: list[str]) -> None:
    assert older._with_standard("c++20", call) == expected
    assert older._with_standard("c++17", call) == call


CUB = """#include <cub/block/block_reduce.cuh>
__global__ void largest(const float* x, float* y) {
    using Block = cub::BlockReduce<float, 64>;
    __shared__ typename Block::TempStorage room;
    float most = Block(room).Reduce(x[threadIdx.x], cub::Max());
    if (threadIdx.x == 0 && !cub::Equality()(most, 0.0f)) y[0] = cub::Sum()(most, 1);
}
"""


def test_operators_that_cub_has_lost_are_given_to_a_source_that_names_them(tmp_path: Path) -> None:
    class Stubs:
        stubs = str(STUBS)

    source = tmp_path / "cuda.cu"
    source.write_text("cub::BlockReduce<float, 64> r;  // a Max of its own: Max()\n")
    call = ["-c", str(source)]
    assert older._operators_of_cub(Stubs(), call) == []  # type: ignore[arg-type]
    source.write_text(CUB)
    assert older._operators_of_cub(Stubs(), call) == [  # type: ignore[arg-type]
        "-isystem",
        f"{STUBS}/older",
    ]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc on the path")
def test_the_operators_of_cub_compile(tmp_path: Path) -> None:
    source = tmp_path / "cuda.cu"
    source.write_text(CUB)
    done = subprocess.run(
        ["nvcc", "-ptx", "-std=c++20", "-isystem", f"{STUBS}/older", str(source), "-o", str(tmp_path / "a.ptx")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = done.stdout + done.stderr
    if "No such file" in told and "<cub/" in told:
        pytest.skip("this toolkit comes without cub")
    assert done.returncode == 0, told
