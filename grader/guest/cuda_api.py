"""`torch.cuda` on the simulator: one GPU, synchronous calls.

Names and parameters are torch's own, whether or not they are used here.
"""

# ruff: noqa: ARG002, ARG004, ARG005, D102

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch


class NotSimulatedError(NotImplementedError):
    """A requested feature needs a real GPU."""


class Stream:
    """A stream without effect, since nothing runs concurrently."""

    create: Callable[[], int] = staticmethod(lambda: 0)

    def __init__(self, device: Any = None, priority: int = 0, **handle: Any) -> None:
        self.device = torch.device("cuda", 0)
        self.device_index = 0
        self.priority = priority
        self.cuda_stream = int(handle.get("stream_ptr", 0)) or Stream.create()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        _current.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.pop()


class ExternalStream(Stream):
    """A stream made from a handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


class StreamContext:
    """Makes a stream the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        _current.append(self.stream or _current[-1])

    def __exit__(self, *_: object) -> None:
        _current.pop()


class Event:
    """An event; elapsed times increase but measure nothing."""

    clock: Callable[[], float] = staticmethod(lambda: 0.0)

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        self._time = Event.clock()

    def wait(self, stream: Any = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


class Generator(torch._C.Generator):  # type: ignore[misc]
    """A generator of the GPU draws from the CPU's, as the simulator's operators do."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """Accept any device, and make a CPU generator."""
        return super().__new__(cls, device="cpu")


class DefaultGenerator(Generator):
    """The GPU's generator: its state is a seed and an offset, which kernels with random numbers use and advance."""

    offset = 0

    def get_state(self) -> torch.Tensor:
        """Return seed and offset as a GPU's generator does: 16 bytes."""
        seed = torch.default_generator.initial_seed() & (2**63 - 1)
        return torch.tensor([seed, self.offset], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        """Set seed and offset; a new seed is also set on the CPU."""
        seed, self.offset = state.view(torch.int64).tolist()
        if seed != torch.default_generator.initial_seed() & (2**63 - 1):
            torch.default_generator.manual_seed(seed)


def properties(gpu: Mapping[str, Any]) -> Any:
    """Return this GPU's `torch.cuda.get_device_properties`."""
    return SimpleNamespace(
        name=gpu["name"],
        major=gpu["major"],
        minor=gpu["minor"],
        total_memory=gpu["memory"],
        multi_processor_count=gpu["multiprocessors"],
        warp_size=32,
        max_threads_per_multi_processor=gpu["threads_per_multiprocessor"],
        max_threads_per_block=gpu["threads_per_block"],
        shared_memory_per_block=gpu["shared_per_block"],
        shared_memory_per_block_optin=gpu["shared_per_block_optin"],
        shared_memory_per_multiprocessor=gpu["shared_per_multiprocessor"],
        regs_per_multiprocessor=gpu["registers_per_multiprocessor"],
        L2_cache_size=gpu["l2_cache"],
        clock_rate=gpu["clock"],
        memory_clock_rate=gpu["memory_clock"],
        memory_bus_width=gpu["memory_bus"],
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
        uuid="00000000-0000-0000-0000-000000000000",
    )


_default = Stream()
_current: list[Stream] = [_default]


def _set_stream(stream: Stream | None) -> None:
    if stream is not None:
        _current[-1] = stream


def queries(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """Return `torch.cuda`'s query functions, by name."""
    capability = (gpu["major"], gpu["minor"])
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "_is_compiled": lambda: True,
        "_lazy_init": lambda: None,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties(gpu),
        "get_device_capability": lambda device=None: capability,
        "get_device_name": lambda device=None: gpu["name"],
        "get_arch_list": lambda: [f"sm_{capability[0]}{capability[1]}"],
        "is_bf16_supported": lambda including_emulation=True: capability >= (8, 0),
        "can_device_access_peer": lambda device, peer: False,
        "current_stream": lambda device=None: _current[-1],
        "default_stream": lambda device=None: _default,
        "stream": StreamContext,
        "StreamContext": StreamContext,
        "set_stream": _set_stream,
        "set_device": lambda device: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "empty_cache": lambda: None,
        "ipc_collect": lambda: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "reset_max_memory_allocated": lambda device=None: None,
        "reset_accumulated_memory_stats": lambda device=None: None,
        "set_per_process_memory_fraction": lambda fraction, device=None: None,
        "memory_stats": lambda device=None: {},
        "memory_summary": lambda device=None, abbreviated=False: "",
        "seed": lambda: None,
        "seed_all": lambda: None,
        "initial_seed": torch.initial_seed,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "Stream": Stream,
        "ExternalStream": ExternalStream,
        "Event": Event,
    }


def compiled_api() -> dict[str, Any]:
    """Return the names of `torch._C` in a CUDA build that torch's Python modules import.

    A wheel for the CPU lacks it: whatever imports torch's compiler then fails on a GPU that is simulated.
    """
    return {"_cuda_getCurrentRawStream": lambda device: _current[-1].cuda_stream}


def empty_strided(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    """Return new GPU memory, for code generated by torch's compiler."""
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def storage_resizer(resize: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Return a replacement of `UntypedStorage.resize_`, which would need CUDA's library for GPU memory."""
    on_cpu = torch.UntypedStorage.resize_

    def resize_(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return on_cpu(self, size)
        if size != self.nbytes():
            resize(ctypes.c_void_p(self._cdata), ctypes.c_size_t(size))
        return self

    return resize_


def refusals(missing: Callable[[str], None]) -> dict[str, Any]:
    """Return the functions of `torch.cuda` that need a real GPU; `missing` is called with the name."""

    def refusal(name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            missing(name)
            raise NotSimulatedError(f"{name} can't run on the simulator")

        return refuse

    names = (
        "make_graphed_callables",
        "MemPool",
        "current_blas_handle",
        "change_current_allocator",
        "CUDAPluggableAllocator",
    )
    return {name: refusal(f"torch.cuda.{name}") for name in names}
