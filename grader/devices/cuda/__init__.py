"""A real GPU as a device: runs, time by a clock that programs can't reach, sanitizer and profiler."""

from __future__ import annotations

from collections.abc import Callable

from grader.config import Options
from grader.devices.base import Device
from grader.devices.cuda.gpu import installed_gpus, trouble
from grader.devices.registry import DeviceEntry
from grader.sandbox import Form
from grader.store import Store


def _absent() -> str:
    return "" if installed_gpus() else trouble() or "there is no nvidia-smi here"


def _open(options: Options, form: Form, store: Store, preparing: Callable[[str], None]) -> Device:
    from grader.devices.cuda.device import open_cuda

    return open_cuda(options, form, store, installed_gpus(), preparing)


DEVICE = DeviceEntry(name="cuda", rank=10, absent=_absent, instead="use --device sim", open=_open)
