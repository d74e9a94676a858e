"""The native library, built once a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.build.cache import cache_folder
from grader.build.toolchain import discover
from grader.simulator import library

from .cases import FOLDER
from .harness import Module, Simulator, compile_ptx


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    cache = os.environ.get("KGSIM_TEST_LIBRARY")
    if cache:
        return Simulator(Path(cache))
    tools = discover()
    if tools.gxx is None or not tools.cuda_includes:
        pytest.skip("no g++, or no CUDA headers")
    folder = cache_folder() / "simulator"
    return Simulator(library.build(folder, str(tools.gxx), cuda_includes=tools.cuda_includes))


@pytest.fixture(scope="session")
def modules(simulator: Simulator) -> dict[Path, Module]:
    """The kernels of tests/simulator/kernels, by file."""
    files = sorted(FOLDER.glob("*.cu"))
    return {file: simulator.load_ptx(compile_ptx(file), file.name) for file in files}
