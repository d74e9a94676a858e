"""The GPUs of this machine, as reported by the driver."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import threading
from dataclasses import dataclass
from typing import Any

_FIELDS = "uuid,name,compute_cap,driver_version,memory.total"


@dataclass(frozen=True)
class GpuFacts:
    """One GPU."""

    uuid: str
    name: str
    arch: str
    """Compute capability, e.g. `9.0`."""
    driver: str
    memory: int
    """Bytes."""


def installed_gpus() -> tuple[GpuFacts, ...]:
    """Return this machine's NVIDIA GPUs, those of CUDA_VISIBLE_DEVICES where that is set.

    None where there is no driver.
    """
    return visible(_ask_nvidia_smi()[0], os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(gpus: tuple[GpuFacts, ...], wanted: str | None) -> tuple[GpuFacts, ...]:
    """Return the GPUs that a CUDA_VISIBLE_DEVICES names, in its order; all where it is not set.

    As CUDA does, it takes indices and (beginnings of) UUIDs, and ends at the first that names none.
    """
    if wanted is None:
        return gpus
    found: list[GpuFacts] = []
    for name in (part.strip() for part in wanted.split(",")):
        named = _gpu_named(gpus, name)
        if named is None or named in found:
            break
        found.append(named)
    return tuple(found)


def _gpu_named(gpus: tuple[GpuFacts, ...], name: str) -> GpuFacts | None:
    if name.isdecimal():
        return gpus[int(name)] if int(name) < len(gpus) else None
    fitting = [gpu for gpu in gpus if name and gpu.uuid.startswith(name)]
    return fitting[0] if len(fitting) == 1 else None


def trouble() -> str:
    """Return nvidia-smi's message where it is installed but finds no GPU; else ""."""
    return _ask_nvidia_smi()[1]


def _ask_nvidia_smi() -> tuple[tuple[GpuFacts, ...], str]:
    """Run nvidia-smi; return the GPUs, and its message where there are none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return (), ""
    call = [program, f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return (), f"nvidia-smi: {error}"
    rows = [line.split(", ") for line in done.stdout.splitlines()] if done.returncode == 0 else []
    gpus = tuple(
        GpuFacts(row[0], row[1], row[2], row[3], int(float(row[4])) << 20)
        for row in rows
        if len(row) == 5 and row[4].strip().replace(".", "").isdigit()
    )
    said = " ".join((done.stdout + done.stderr).split())[:300]
    return gpus, "" if gpus else f"nvidia-smi says: {said}"


@functools.cache
def _nvml() -> Any:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - a library that is missing or doesn't fit the driver
        return None
    return pynvml


class Watch:
    """The driver's observations of a GPU while a program runs; unknown without NVML."""

    PERIOD = 0.25

    def __init__(self, gpu: GpuFacts) -> None:
        self._nvml = _nvml()
        self._busy: list[bool] = []
        self._over = threading.Event()
        self._handle = None
        if self._nvml is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._handle = self._nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        if self._handle is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(self.PERIOD):
            with contextlib.suppress(self._nvml.NVMLError):
                self._busy.append(self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu > 0)

    def busy(self, seconds: float = 1.0) -> bool | None:
        """Whether kernels ran all through the last seconds; None where unknown."""
        last = self._busy[-max(int(seconds / self.PERIOD), 1) :]
        # The first sample after the end may already show it idle.
        return sum(last) >= len(last) - 1 if len(last) > 1 else None


_REASONS = {
    "nvmlClocksEventReasonSwPowerCap": "the power limit",
    "nvmlClocksEventReasonHwSlowdown": "a hardware slowdown",
    "nvmlClocksEventReasonSwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwThermalSlowdown": "heat",
    "nvmlClocksEventReasonHwPowerBrakeSlowdown": "the power brake",
}


def clock(gpu: GpuFacts) -> int | None:
    """Return the multiprocessors' clock now, in MHz; None where NVML doesn't report it."""
    nvml = _nvml()
    if nvml is None:
        return None
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        return int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
    except (nvml.NVMLError, AttributeError):
        return None


def condition(gpu: GpuFacts, own: int) -> str:
    """Return influences on a measurement now: clock, throttling, processes beside our `own`."""
    nvml = _nvml()
    if nvml is None:
        return "clocks and other processes not watched (no nvidia-ml-py)"
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
        clock = nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)
        bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
        others = len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)) - own
    except (nvml.NVMLError, AttributeError) as error:
        return f"clocks and other processes not watched ({error})"
    slowed = {text for name, text in _REASONS.items() if bits & getattr(nvml, name, 0)}
    parts = [f"SM clock {clock} MHz"]
    parts += [f"slowed by {' and '.join(sorted(slowed))}"] if slowed else []
    if others > 0:
        parts += [f"{others} other {'processes' if others > 1 else 'process'} on the GPU"]
    return "; ".join(parts)
