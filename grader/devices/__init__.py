"""Where submissions run: a real GPU, or the CPU simulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

from grader.config import Options
from grader.devices.base import Device, Readiness, RunResult
from grader.errors import GraderError, UsageError
from grader.sandbox import Form
from grader.store import Store

__all__ = ["Device", "Readiness", "RunResult", "choose_device", "cuda_gpus"]


def cuda_gpus() -> tuple[str, ...]:
    """Return the names of this machine's NVIDIA GPUs, as the driver gives them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    call = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    names = done.stdout.splitlines() if done.returncode == 0 else []
    return tuple(name.strip() for name in names if name.strip())


def choose_device(
    options: Options, form: Form, store: Store, preparing: Callable[[str], None]
) -> tuple[Device | None, str]:
    """Return the device that was asked for; None and the reason where there is none.

    `auto` takes what there is; a device that was named must be there.

    Raises:
        GraderError: the device that was named can't be used.

    """
    if options.device == "none":
        return None, "no device was asked for"
    if options.device == "cuda":
        raise UsageError("no GPU can be used", "Use --device sim.")
    from grader.devices.sim import open_simulator

    try:
        return open_simulator(options, form, store, preparing), ""
    except GraderError as error:
        if options.device == "sim":
            raise
        return None, str(error)
