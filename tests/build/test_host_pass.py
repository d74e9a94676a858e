"""Clang's host pass asks nothing of a toolkit that may lie in /usr/local/cuda, or may not."""

import subprocess
from pathlib import Path

import pytest

from grader.build import discover
from grader.build.configuration import configuration
from grader.build.driver import host_pass
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
