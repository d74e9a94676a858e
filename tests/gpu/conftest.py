"""The GPU of this machine, and programs that need no build."""

from __future__ import annotations

import pytest

from grader import sandbox
from grader.config import Options
from grader.devices.cuda.device import CudaDevice, open_cuda
from grader.devices.cuda.gpu import installed_gpus
from grader.store import Store


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> CudaDevice:
    found = installed_gpus()
    if not found:
        pytest.skip("nvidia-smi finds no GPU")
    store = Store(tmp_path_factory.mktemp("store"))
    options = Options(device="cuda", run_seconds=120)
    return open_cuda(options, sandbox.strongest(), store, found, lambda _what: None)
