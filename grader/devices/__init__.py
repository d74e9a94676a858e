"""Where submissions run: a real GPU, or the CPU simulator."""

from __future__ import annotations

from collections.abc import Callable

from grader.config import Options
from grader.devices.base import Device, Readiness, RunResult
from grader.devices.cuda.gpu import installed, trouble
from grader.errors import GraderError, UsageError
from grader.sandbox import Form
from grader.store import Store

__all__ = ["Device", "Readiness", "RunResult", "choose_device", "cuda_gpus", "trouble"]


def cuda_gpus() -> tuple[str, ...]:
    """Return the names of this machine's NVIDIA GPUs, as the driver gives them."""
    return tuple(gpu.name for gpu in installed())


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
    gpus = installed() if options.device in {"auto", "cuda"} else ()
    if options.device == "cuda" and not gpus:
        raise UsageError(trouble() or "there is no nvidia-smi here", "use --device sim")
    try:
        if gpus:
            from grader.devices.cuda.device import open_cuda

            return open_cuda(options, form, store, gpus, preparing), ""
        from grader.devices.sim.device import open_simulator

        return open_simulator(options, form, store, preparing), ""
    except GraderError as error:
        if options.device != "auto":
            raise
        return None, str(error)
