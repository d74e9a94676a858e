"""The native library, built once a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.simulator import library

from .harness import Simulator


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    cache = os.environ.get("KGSIM_TEST_LIBRARY")
    if cache:
        return Simulator(Path(cache))
    shared = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kernel-grader-tests"
    return Simulator(library.build(shared, core=True))
