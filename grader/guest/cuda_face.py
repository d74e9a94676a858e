"""The simulator's face in Python: torch sees a CUDA device, whose kernels are simulated.

Tensors are real CUDA tensors to torch: `libkgtorch.so` registers a backend whose memory is the
host's (grader/simulator/native/device_torch.cpp). The rest is `torch.cuda`, which needs libraries and drivers that are
absent here.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch

from grader.guest import backends, changes, cuda_api, cuda_graphs, provenance, tensors

MOST = 1 << 24
"""Most elements of memory searched for a non-contiguous result."""
MOST_LITERALS = 32
"""Most numbers of a reference's formulas that are reported."""
_state: dict[str, Any] = {}
_APART = 0x9E3779B97F4A7C15
# Bound now, since a submission may replace them.
_parse = json.loads
_string_at = ctypes.string_at


def install(options: Mapping[str, Any]) -> None:
    """Load the simulator and make torch see its GPU; before any generated code runs.

    `options` holds `library` and `torch_library` (paths of libkgsim.so and libkgtorch.so), `gpu`
    (a GPU by the fields of grader.simulator.gpus.Gpu), and settings of the simulator by their names
    in cudart_settings.cpp.

    Raises:
        OSError: a library can't be loaded.
        ValueError: a setting that the simulator doesn't know.

    """
    load(options["library"], options["torch_library"])
    gpu = dict(options["gpu"])
    for key, value in {**_prefix_keys("gpu.", gpu), **dict(options.get("simulator", {}))}.items():
        _set_option(key, value)
    for kernel, count in dict(options.get("registers", {})).items():
        _set_option(f"registers.{kernel}", count)
    seed(torch.initial_seed())
    _install_names(gpu, str(options.get("cuda_version", "13.0")))
    if "exact" in options:
        # Imported only here: torch's decompositions take half a second.
        from grader.guest.exact_mode import ExactRun

        _state["exact run"] = ExactRun
    if options.get("triton"):
        # Where Triton is missing, the submission's own import reports it.
        with suppress(ImportError):
            from grader.guest import triton_face

            triton_face.install(_state["runtime"], gpu)
            if options.get("exact_functions"):
                from grader.guest import triton_functions

                triton_functions.keep_names()
            _state["autotuned"] = triton_face.take_autotuned


def load(library: str, torch_library: str) -> None:
    """Load the simulator's libraries and register its device with torch, once in a process or before its fork.

    Raises OSError where one can't be loaded.
    """
    if _state:
        return
    runtime = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)  # for what comes after
    backend = ctypes.CDLL(torch_library)
    _declare(runtime, backend)
    backend.kgsim_torch_install()
    _state.update(runtime=runtime, backend=backend, pause=backend.kgsim_torch_pause)
    _state.update(inputs=0, unwritten=[], operators=None, autotuned=list)


def _declare(runtime: Any, backend: Any) -> None:
    """Declare argument and return types of the libraries' functions, where not `int`."""
    for function in (
        runtime.kgsim_host_report,
        runtime.kgsim_provenance_touched,
        runtime.kgsim_provenance_origins,
        runtime.kgsim_provenance_lost,
        runtime.kgsim_exact_unfollowed,
        backend.kgsim_torch_operators,
        backend.kgsim_torch_narrowed,
    ):
        function.restype = ctypes.c_void_p
    runtime.kgsim_memory.restype = ctypes.c_uint64
    runtime.kgsim_device_time.restype = ctypes.c_double
    runtime.kgsim_free_text.argtypes = (ctypes.c_void_p,)
    runtime.kgsim_mark_input.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    runtime.kgsim_unwritten_in.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    runtime.kgsim_unwritten_in.restype = ctypes.c_size_t
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    runtime.kgsim_stored.argtypes = (pointer, size, size, pointer)
    runtime.kgsim_stored_bytes.argtypes = (pointer,)
    runtime.kgsim_stored_bytes.restype = ctypes.c_uint64
    runtime.kgsim_provenance_elements.argtypes = (size, pointer, size)
    runtime.kgsim_provenance_elements.restype = size
    runtime.kgsim_provenance_origins.argtypes = (pointer, size, ctypes.c_int)
    runtime.kgsim_provenance_lost.argtypes = (pointer, size)
    runtime.kgsim_forget_errors.restype = None
    runtime.kgsim_launched.argtypes = (size, pointer)
    runtime.kgsim_launched.restype = pointer
    runtime.kgsim_extend.argtypes = (size, ctypes.c_char_p, size, pointer, size)
    runtime.kgsim_set_code.argtypes = (size, ctypes.c_uint32, pointer, size, ctypes.c_char_p, size)
    backend.kgsim_torch_seed.argtypes = (ctypes.c_uint64,)


def seed(value: int) -> None:
    """Seed the GPU's generator; the same seed gives other numbers than on the CPU."""
    draw_as_cpu(int(value) ^ _APART)


def draw_as_cpu(value: int) -> None:
    """Seed the GPU's generator so that it draws the CPU's numbers."""
    _state["backend"].kgsim_torch_seed(value % (1 << 64))


def to_device(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor on the simulated GPU, known to the simulator as an input."""
    with without_log():
        return _mark_input(tensors.to_cuda(tensor))


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return an input of a dry run: uninitialised simulator memory."""
    with without_log():
        return _mark_input(torch.empty(shape, dtype=dtype, device="cuda"))


def _mark_input(tensor: torch.Tensor) -> torch.Tensor:
    """Register a tensor with the simulator as an input."""
    _state["inputs"] += 1
    storage = tensor.untyped_storage()
    if storage.nbytes():
        name = f"input {_state['inputs']}".encode()
        _state["runtime"].kgsim_mark_input(storage.data_ptr(), storage.nbytes(), name)
    return tensor


def enlarge(tensor: torch.Tensor, rows: int, at: int) -> torch.Tensor:
    """Return a tensor of `rows` rows on the simulated GPU, the given ones from `at` on.

    It isn't registered as an input: the other rows are unwritten memory.
    """
    with without_log():
        whole = torch.empty((rows, *tensor.shape[1:]), dtype=tensor.dtype, device="cuda")
        whole[at : at + len(tensor)].copy_(tensor)
    return whole


def writes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return how each element was written, as bytes on the CPU.

    0: not at all; 1: in any way, or unknown; 2: by a kernel.
    """
    with without_log():
        return _written_elements(tensor)


def _written_elements(tensor: torch.Tensor) -> torch.Tensor:
    if _is_plain(tensor):
        return _written_in_a_row(tensor)
    unknown = torch.ones(tensor.shape, dtype=torch.uint8)
    if tensor.layout != torch.strided or not tensor.is_cuda or not 0 < tensor.numel() <= MOST:
        return unknown
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in steps)
    if extent > MOST:
        return unknown
    found = _written_in_a_row(tensors.as_strided(tensor, (extent,), (1,)))
    laid_out: torch.Tensor = tensors.as_strided(found, tensor.shape, tensor.stride())
    return laid_out.contiguous()


def _written_in_a_row(tensor: torch.Tensor) -> torch.Tensor:
    found = torch.zeros(tensor.numel(), dtype=torch.uint8)
    todo = [(0, tensor.numel())]
    size, base = tensor.itemsize, tensor.data_ptr()
    while todo:
        start, end = todo.pop()
        missing = _state["runtime"].kgsim_unwritten_in(base + start * size, (end - start) * size)
        if missing == 0:
            found[start:end] = 1
        elif missing < (end - start) * size and end - start > 1:
            middle = (start + end) // 2
            todo += [(start, middle), (middle, end)]
    return (2 * stores_of(tensor).flatten()).maximum(found).reshape(tensor.shape)


def stores_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return which elements a kernel stored to, as bytes 0 and 1 on the CPU."""
    found = torch.zeros(tensor.shape, dtype=torch.uint8)
    if _is_plain(tensor):
        size, count = tensor.itemsize, tensor.numel()
        _state["runtime"].kgsim_stored(tensor.data_ptr(), size, count, found.data_ptr())
    return found


def stored_bytes(tensor: torch.Tensor) -> int:
    """Return the number of bytes that kernels have stored to a tensor's memory, overwrites included."""
    return _state["runtime"].kgsim_stored_bytes(tensor.data_ptr()) if tensor.is_cuda else 0


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor with the values of one that a submission returned."""
    with without_log():
        plain: torch.Tensor = tensors.to_cpu(tensor)
    return plain


def begin() -> None:
    """Begin a call of forward: torch operators are logged from here to `end`."""
    if _state.pop("reported", False):
        _state["runtime"].kgsim_reset()  # operators between two calls are part of neither
    _state["runtime"].kgsim_provenance_clear()
    _state["operators"] = None
    _operators()
    _take_lost_digits()


def _take_lost_digits() -> dict[str, int]:
    """Return counts of operators that lost digits since the last call, e.g. `tf32 aten::mm`."""
    return dict(_parse(_text(_state["backend"].kgsim_torch_narrowed())))


def _operators() -> dict[str, int]:
    """Return the operators that ran since the last call."""
    return dict(_parse(_text(_state["backend"].kgsim_torch_operators(1))))


def check_outputs(outputs: Sequence[Any]) -> None:
    """Record for the report which of forward's results have unwritten bytes."""
    for position, tensor in enumerate(outputs):
        if not _is_plain(tensor):
            continue
        missing = _state["runtime"].kgsim_unwritten_in(tensor.data_ptr(), tensor.nbytes)
        if missing:
            note = {"output": position, "bytes": missing, "of": tensor.nbytes}
            _state["unwritten"].append({**note, "shape": list(tensor.shape)})


def tell_origins(
    roles: Iterable[tuple[str, Any]], outputs: Sequence[Any], asked: Sequence[Sequence[int]]
) -> None:
    """Record for the report the provenance of these elements."""
    with without_log():
        _state["provenance"] = provenance.tell(_state["runtime"], _text, roles, outputs, asked)


def run_changed(
    asked: Mapping[str, Any],
    known: Sequence[tuple[str, torch.Tensor]],
    call: Callable[..., list[Any]],
) -> list[Any]:
    """Return forward's results under changes of its kernels, and record kernels and launches for the report."""
    runtime = _state["runtime"]
    _state["programs"] = changes.programs(runtime)
    begun = time.process_time()
    arguments = changes.Arguments(runtime, known)
    found = changes.run_changed(runtime, asked, arguments, call)
    _state["passed"] = arguments.told
    _state["changed_seconds"] = time.process_time() - begun
    return list(found)


def exactly(key: int, known: Iterable[tuple[torch.Tensor, float | None]], **numbers: Any) -> Any:
    """Return the mode that follows a call in the exact algebra, with these tensors as variables."""
    with without_log():
        run = _state["exact run"](_state["runtime"], key, **numbers)
        run.algebra.mark(known)
    return run


def exact_results(run: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return the residues of forward's results, and record for the report the operators that were not followed."""
    with without_log():
        found = run.algebra.results(leaves)
        kernels = _text(_state["runtime"].kgsim_exact_unfollowed())
        literals = sorted(run.algebra.literals)[:MOST_LITERALS]
        said = {"operators": sorted(run.unfollowed), "instructions": kernels, "literals": literals}
        _state["exact"] = said
    return list(found)


def end() -> None:
    """End the log of operators, after forward's results were copied."""
    _state["operators"] = _operators()


def _is_plain(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    return bool(value.is_cuda and value.is_contiguous())


def report() -> dict[str, Any]:
    """Return the simulator's report since the last one, as JSON, and clear it."""
    runtime = _state["runtime"]
    seen = _parse(_text(runtime.kgsim_host_report()))
    operators = _operators()
    seen["operators"] = operators if _state["operators"] is None else _state["operators"]
    seen["narrowed"] = _take_lost_digits()
    seen["unwritten"] = _state["unwritten"]
    seen["provenance"] = _state.pop("provenance", None)
    seen["exact"] = _state.pop("exact", None)
    seen["programs"] = _state.pop("programs", None)
    seen["passed"] = _state.pop("passed", None)
    seen["changed_seconds"] = _state.pop("changed_seconds", 0.0)
    seen["autotuned"] = _state["autotuned"]()
    _state.update(unwritten=[], inputs=0, reported=True)
    runtime.kgsim_reset()
    return dict(seen)


def _text(pointer: int) -> str:
    text = _string_at(pointer).decode("utf-8", "replace")
    _state["runtime"].kgsim_free_text(pointer)
    return text


def _set_option(key: str, value: Any) -> None:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    if _state["runtime"].kgsim_set(key.encode(), text.encode()) != 0:
        raise ValueError(f"the simulator has no setting {key!r}")


def _prefix_keys(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {prefix + name: value for name, value in values.items()}


@contextmanager
def without_log() -> Iterator[None]:
    """Log the grader's own copies separately from the submission's operators, out of its reach."""
    collecting = tensors.hold_undisturbed()
    with tensors.torchs_own():
        _state["pause"](1)
        try:
            yield
        finally:
            _state["pause"](-1)
            if collecting:
                tensors.collect_again()


def _refuse_missing(name: str) -> None:
    _state["runtime"].kgsim_missing(name.encode())


def synchronize(_device: Any = None) -> None:
    """Raise a kernel's error; there is nothing to wait for, since calls are synchronous."""
    cuda_graphs.check(_state["runtime"].cudaDeviceSynchronize())


def _memory_info(_device: Any = None) -> tuple[int, int]:
    total = int(torch.cuda.get_device_properties(0).total_memory)
    return max(total - _memory(0), 0), total


def _memory(what: int) -> int:
    return int(_state["runtime"].kgsim_memory(what))


def _install_names(gpu: Mapping[str, Any], cuda_version: str) -> None:
    names = {**cuda_api.queries(gpu), **cuda_api.refusals(_refuse_missing)}
    names |= cuda_graphs.install(_state["runtime"])
    cuda_api.Stream.create = staticmethod(cuda_graphs.new_stream)
    names["synchronize"] = synchronize
    names["manual_seed"] = names["manual_seed_all"] = seed
    names["mem_get_info"] = _memory_info
    for name in ("memory_allocated", "memory_reserved"):
        names[name] = lambda _device=None: _memory(0)
        names[f"max_{name}"] = lambda _device=None: _memory(1)
    for name, value in names.items():
        if callable(value):
            value.__module__ = "torch.cuda"
        setattr(torch.cuda, name, value)
    for name in ("CUDAGraph", "graph"):
        setattr(torch.cuda.graphs, name, names[name])
    for name, value in cuda_api.compiled_api().items():
        setattr(torch._C, name, value)
    torch.UntypedStorage.resize_ = cuda_api.storage_resizer(_state["backend"].kgsim_torch_resize)
    torch._C._dynamo.guards._empty_strided_cuda = cuda_api.empty_strided
    cuda_api.Event.clock = staticmethod(lambda: float(_state["runtime"].kgsim_device_time()))
    torch.cuda._initialized = True
    for name in ("range_push", "range_pop", "mark"):
        setattr(torch.cuda.nvtx, name, lambda *_, **__: 0)
    torch.Generator = cuda_api.Generator
    torch.cuda.default_generators = (cuda_api.DefaultGenerator(),)
    backends.install(cuda_version)
