"""The simulator's Triton driver, set active before any generated code runs.

Triton compiles as for a GPU; our driver in the assembler's place (grader/build/driver/triton.py) returns a program of
the simulator, which is launched here as Triton's own driver would launch machine code.
"""

# ruff: noqa: ARG002, D102

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import triton
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.driver import GPUDriver
from triton.runtime import _allocation

from grader.guest import triton_refusals
from grader.guest.triton_arguments import pack_arguments
from grader.guest.triton_benchmark import Benchmark

CAPABILITY = 89
"""Triton's target: the newest architecture whose matrix instructions and copies the simulator supports."""
TELLS_MOST_THREADS = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 4)
MOST_PARAMETERS = 1024
_MOST_OF_NAME = 80
_MAX_DYNAMIC_SHARED = 8
"""cudaFuncAttributeMaxDynamicSharedMemorySize."""
_state: dict[str, Any] = {}


class Dim3(ctypes.Structure):
    """`dim3` of the CUDA runtime."""

    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]


def install(runtime: Any, gpu: Mapping[str, Any]) -> None:
    """Make Triton launch on the simulator, whose library is loaded and whose GPU torch sees."""
    pointer = ctypes.c_void_p
    runtime.kgsim_kernel.restype = pointer
    runtime.kgsim_kernel.argtypes = (
        pointer, ctypes.c_size_t, ctypes.c_char_p, pointer, ctypes.c_int, pointer,
    )  # fmt: skip
    runtime.kgsim_kind.argtypes = (pointer,)
    runtime.kgsim_name_memory.argtypes = (pointer, ctypes.c_char_p)
    runtime.kgsim_name_memory.restype = None
    runtime.cudaFuncSetAttribute.argtypes = (pointer, ctypes.c_int, ctypes.c_int)
    runtime.cudaGetErrorString.restype = ctypes.c_char_p
    launch = (pointer, Dim3, Dim3, pointer, ctypes.c_size_t, pointer)
    runtime.cudaLaunchKernel.argtypes = runtime.cudaLaunchCooperativeKernel.argtypes = launch
    _state.update(runtime=runtime, gpu=dict(gpu), benchmark=Benchmark())
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = _state["benchmark"]
    triton.runtime.driver.set_active(Driver())
    triton_refusals.note_all()
    _keep_numbers()


def _keep_numbers() -> None:
    """Keep Triton from specialising on argument values, for code that follows the text step by step."""
    specialize = getattr(triton.runtime.jit, "native_specialize_impl", None)
    if specialize is None:
        return

    def specialize_less(
        backend: Any, arg: Any, is_const: bool, specialize_value: bool, align: bool
    ) -> Any:
        keeps = isinstance(arg, int) and "DISABLE_LLVM_OPT" in os.environ
        return specialize(
            backend, arg, is_const, specialize_value and not keeps, align and not keeps
        )

    triton.runtime.jit.native_specialize_impl = specialize_less


def warm_up() -> None:
    """Compute Triton's cache key, which hashes its own sources, once before a guest is forked."""
    from triton.runtime.cache import triton_key

    triton_key()


def take_autotuned() -> list[dict[str, Any]]:
    """Return the configurations that autotuning chose since the last call, and clear them."""
    return _state["benchmark"].take() if _state else []


class Driver(GPUDriver):  # type: ignore[misc]
    """The driver interface that Triton uses."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utilities()
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "CUdeviceptr" if ty.startswith("*") else ty

    def get_current_target(self) -> Any:
        return GPUTarget("cuda", CAPABILITY, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        return _state["benchmark"]  # type: ignore[no-any-return]

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: torch.Tensor) -> None:
        cache.zero_()


class Utilities:
    """Triton's queries of a GPU, and its loading of kernels."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        gpu = _state["gpu"]
        return {
            "max_shared_mem": gpu["shared_per_block_optin"],
            "max_num_regs": gpu["registers_per_block"],
            "multiprocessor_count": gpu["multiprocessors"],
            "warpSize": 32,
            "sm_clock_rate": gpu["clock"],
            "mem_clock_rate": gpu["memory_clock"],
            "mem_bus_width": gpu["memory_bus"],
        }

    def load_binary(self, name: str, image: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """Return module, function, registers, spills and, from Triton 3.4 on, the most threads of a block."""
        sizes, count = (ctypes.c_uint32 * MOST_PARAMETERS)(), ctypes.c_int()
        runtime = _state["runtime"]
        stub = runtime.kgsim_kernel(
            image, len(image), name.encode(), sizes, MOST_PARAMETERS, ctypes.byref(count)
        )
        if stub is None:
            raise RuntimeError("Triton Error [CUDA]: device kernel image is invalid")
        registers, spills = struct.unpack("<2I", image[-8:])
        runtime.kgsim_set(f"registers.{name}".encode(), str(registers).encode())
        if shared:
            runtime.cudaFuncSetAttribute(stub, _MAX_DYNAMIC_SHARED, shared)
        function = Function(stub, tuple(sizes[: count.value]))
        most = (_state["gpu"]["threads_per_block"],) if TELLS_MOST_THREADS else ()
        return function, function, registers, spills, *most

    def unload_module(self, module: Any) -> None: ...

    def set_printf_fifo_size(self, size: int) -> None: ...


class Function:
    """A loaded kernel: its handle for launches, and the sizes of its parameters."""

    def __init__(self, stub: int, sizes: Sequence[int]) -> None:
        self.stub = stub
        self.sizes = sizes


class Launcher:
    """Launcher of one compiled kernel, made by Triton from a kernel's source and metadata."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self._types = tuple(src.signature.values())
        self._names = tuple(f"argument {name}"[:_MOST_OF_NAME].encode() for name in src.signature)
        self._metadata = metadata

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: Function,
        _packed: Any,
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *args: Any,
    ) -> None:
        scratch = list(self._scratch(x * y * z, stream))
        values = pack_arguments(
            self._types, args, function.sizes, scratch, _state["runtime"].kgsim_kind
        )
        if x * y * z <= 0 or _state["benchmark"].running:
            return
        self._name_memory(args)
        if enter is not None:
            enter(launch_metadata)
        self._launch((x, y, z), stream, function, values)
        if leave is not None:
            leave(launch_metadata)

    def _name_memory(self, args: Sequence[Any]) -> None:
        """Name memory after the kernel's parameters, for evidence; a task's inputs keep their names."""
        for name, value in zip(self._names, args, strict=False):
            tensor = getattr(value, "base", value)  # of a tensor descriptor
            if isinstance(tensor, torch.Tensor):
                _state["runtime"].kgsim_name_memory(tensor.data_ptr(), name)

    def _launch(
        self, grid: tuple[int, int, int], stream: int, function: Function, values: list[bytes]
    ) -> None:
        runtime, metadata = _state["runtime"], self._metadata
        kept = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * len(kept))(*map(ctypes.addressof, kept))
        cooperative = getattr(metadata, "launch_cooperative_grid", False)
        start = runtime.cudaLaunchCooperativeKernel if cooperative else runtime.cudaLaunchKernel
        block = Dim3(32 * metadata.num_warps, 1, 1)
        error = start(function.stub, Dim3(*grid), block, pointers, metadata.shared, stream)
        if error:
            said = runtime.cudaGetErrorString(error).decode()
            raise RuntimeError(f"Triton Error [CUDA]: {said}")

    def _scratch(self, programs: int, stream: int) -> Iterator[Any]:
        """Yield the values of the two hidden parameters: scratch memory for the kernel and for a profiler."""
        metadata, allocators = self._metadata, ("_allocator", "_profile_allocator")
        for kind, name in zip(("global", "profile"), allocators, strict=True):
            size = getattr(metadata, f"{kind}_scratch_size", 0) or 0
            align = getattr(metadata, f"{kind}_scratch_align", 1)
            allocator = getattr(_allocation, name, None)
            if size and allocator:
                made = allocator.get() if hasattr(allocator, "get") else allocator  # before 3.5
                yield made(programs * size, align, stream)
            else:
                yield None
