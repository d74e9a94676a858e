"""The simulator's library, a compiled program, and a host that uses both."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.build.toolchain import discover
from grader.simulator import library
from grader.simulator.gpus import GPUS

from .runtime_host import Host

KERNELS = Path(__file__).parent / "kernels.cu"


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from grader.build.cache import cache_folder

    toolchain = discover()
    if toolchain.gxx is None or not toolchain.cuda_includes:
        pytest.skip("no g++, or no CUDA headers")
    return library.build(
        cache_folder() / "simulator", str(toolchain.gxx), cuda_includes=toolchain.cuda_includes
    )


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    nvcc = discover().nvcc
    if nvcc is None:
        pytest.skip("no nvcc")
    output = tmp_path_factory.mktemp("ptx") / "kernels.ptx"
    subprocess.run(
        [str(nvcc), "-ptx", "-lineinfo", "-arch=compute_90", str(KERNELS), "-o", str(output)],
        check=True,
    )
    return output.read_text()


@pytest.fixture
def host(runtime: Path, tmp_path: Path) -> Host:
    """A library of its own for each test: its state is the process'."""
    copy = tmp_path / "libkgsim.so"
    shutil.copy(runtime, copy)
    made = Host(copy)
    made.use(GPUS["h100"])
    return made
