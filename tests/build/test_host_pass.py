"""Clang's host pass asks nothing of a toolkit that may lie in /usr/local/cuda, or may not."""

import subprocess
from pathlib import Path

import pytest

from grader.build import discover
from grader.build.configuration import configuration
from grader.build.driver import cccl, host_pass
from grader.build.driver.command import parse
from grader.build.prepare import prepare

LAUNCH = """\
#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>
__global__ void twice(float* x);
void run(float* x) { twice<<<1, 32>>>(x); }
"""


@pytest.mark.slow
def test_a_launch_compiles_where_clang_finds_no_toolkit(tmp_path: Path) -> None:
    toolchain = discover()
    if not toolchain.builds or not toolchain.zig:
        pytest.skip("no compilers, or no clang, on this machine")
    config = configuration(toolchain, prepare(toolchain).folder, "sim", "fast")
    source = tmp_path / "launch.cu"
    source.write_text(LAUNCH)
    arguments = [
        *host_pass.common(config),
        *host_pass.cuda_mode(),
        f"--cuda-path={tmp_path}",
        "-include-pch",
        config.path("types.pch"),
        "-include",
        config.path("stubs", "cuda_after.h"),
        *host_pass.headers(config, cuda=True),
        "-fsyntax-only",
        str(source),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_the_abi_that_an_older_torch_names_is_the_precompiled_one(tmp_path: Path) -> None:
    """Before 2.9 torch gives it to each call: every build went the stock way for it."""
    toolchain = discover()
    if not toolchain.builds or not toolchain.zig:
        pytest.skip("no compilers, or no clang, on this machine")
    config = configuration(toolchain, prepare(toolchain).folder, "sim", "fast")
    source, made = tmp_path / "main.cpp", tmp_path / "main.o"
    source.write_text("#include <torch/extension.h>\ntorch::Tensor same(torch::Tensor x);\n")
    command = parse([host_pass.PRESENT_ABI, "-std=c++20", "-c", str(source), "-o", str(made)])
    assert host_pass.why_unsuited(config, command, [("-std", config.standard)]) == ""
    assert host_pass.cpp_object(config, command, source.read_text(), tmp_path).ok
    other = parse(["-D_GLIBCXX_USE_CXX11_ABI=2", "-c", str(source), "-o", str(made)])
    assert "changes what is precompiled" in host_pass.why_unsuited(config, other, [])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("#include <thrust/sort.h>", (True,)),
        ("#include <cub/cub.cuh>\nvoid f() { cub::DeviceScan::InclusiveSum(a, b, c, d, n); }", (True,)),
        ("#include <cub/block/block_reduce.cuh>", (False, True)),
        ("// a thrust of its own: thrust(x)", (False,)),
    ],
)  # fmt: skip
def test_cccl_is_read_where_host_code_calls_it(text: str, read: tuple[bool, ...]) -> None:
    assert cccl.ways(text) == read
