"""Devices that run submissions: a real GPU, or the CPU simulator."""

from __future__ import annotations

from grader.devices.base import Device, Readiness, RunResult, Sanitized
from grader.devices.capabilities import (
    Bounded,
    CallBuilder,
    DryRunner,
    ExactDevice,
    IdleRunner,
    Sanitizer,
    Timer,
    Tracer,
    Warm,
    looks_closer,
)
from grader.devices.choose import choose_checker, choose_device
from grader.devices.cuda.gpu import installed_gpus, trouble
from grader.devices.registry import DeviceEntry, devices
from grader.devices.timed import Timed

__all__ = [
    "Bounded",
    "CallBuilder",
    "Device",
    "DeviceEntry",
    "DryRunner",
    "ExactDevice",
    "IdleRunner",
    "Readiness",
    "RunResult",
    "Sanitized",
    "Sanitizer",
    "Timed",
    "Timer",
    "Tracer",
    "Warm",
    "choose_checker",
    "choose_device",
    "cuda_gpus",
    "devices",
    "looks_closer",
    "trouble",
]


def cuda_gpus() -> tuple[str, ...]:
    """Return the names of this machine's NVIDIA GPUs, as the driver gives them."""
    return tuple(gpu.name for gpu in installed_gpus())
