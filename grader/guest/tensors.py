"""Conversion between tensors and raw bytes, inside the guest."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from grader.guest.kinds import ITEM_SIZES, MAX_DIMENSIONS, MAX_OUTPUTS
from grader.guest.protocol import Channel, Frame

# Torch's own functions, even if a submission rebinds the names later. Those of the base class, since the public class
# can be patched.
_Base = torch._C.TensorBase
_Tensor = torch.Tensor
as_strided = _Base.as_strided
to_cpu = _Base.cpu
to_cuda = _Base.cuda
_copy = _Base.copy_
_contiguous = _Base.contiguous
_numel = _Base.numel
_stride = _Base.stride
_to = _Base.to
_view = _Base.view
_bytes_of = _Base.nbytes.__get__
_device_of = _Base.device.__get__
_dtype_of = _Base.dtype.__get__
_shape_of = _Base.shape.__get__
_layout_of = _Base.layout.__get__
_meta_of = _Base.is_meta.__get__
_dimensions_of = _Base.dim
_detach = _Base.detach
_data_of = _Base.data.__get__
_is_conj, _is_neg = _Base.is_conj, _Base.is_neg
_numpy = _Base.numpy
_requires_grad = _Base.requires_grad.__get__
_storage_of, _offset_of, _item_size = (
    _Base.untyped_storage,
    _Base.storage_offset,
    _Base.element_size,
)
_storage_bytes, _storage_data = torch._C.StorageBase.nbytes, torch._C.StorageBase.data_ptr
_resolve_conj, _resolve_neg = _Base.resolve_conj, _Base.resolve_neg
_dump = torch._C._dispatch_dump
_empty_strided = torch.empty_strided
_from_buffer = torch.frombuffer
_of_number = torch.tensor
_part = _Base.__getitem__
_byte, _short, _double, _brain, _strided = (
    torch.uint8,
    torch.int16,
    torch.float64,
    torch.bfloat16,
    torch.strided,
)
_AS_WHOLE = {_brain: _short, torch.float8_e4m3fn: _byte, torch.float8_e5m2: _byte}
"""Dtypes that numpy lacks, and the integer dtype of the same width."""
_setprofile, _settrace = sys.setprofile, sys.settrace
_disable_collector, collect_again, _collecting = gc.disable, gc.enable, gc.isenabled
_monitoring: Any = getattr(sys, "monitoring", None)
_READING = (
    "aten::to.device", "aten::to.dtype", "aten::to.dtype_layout", "aten::_to_copy", "aten::copy_",
    "aten::_copy_from", "aten::empty.memory_format", "aten::empty_strided", "aten::contiguous", "aten::clone",
)  # fmt: skip
"""Operators that copy results to the CPU."""
_no_functions = torch._C.DisableTorchFunction
_no_dispatch = torch._C._DisableTorchDispatch


def hold_undisturbed() -> bool:
    """Stop profilers, tracers and the garbage collector of a submission, until `collect_again`.

    Returns whether the collector was enabled.
    """
    collecting = _collecting()
    _setprofile(None)
    _settrace(None)
    _disable_collector()
    for tool in range(6 if _monitoring is not None else 0):
        if _monitoring.get_tool(tool) is not None:
            _monitoring.set_events(tool, 0)
    return collecting


@contextmanager
def torchs_own() -> Iterator[None]:
    """Disable a submission's hooks between torch and its operators: modes, subclasses."""
    with _no_functions(), _no_dispatch():
        yield


def kernels() -> list[str]:
    """Return the registered kernels of the operators that read results."""
    return [_dump(name) for name in _READING]


def to_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return the tensor on a device."""
    made: torch.Tensor = _to(tensor, device)
    return made


DTYPES: Mapping[str, torch.dtype] = {name: getattr(torch, name) for name in ITEM_SIZES}


def from_frame(frame: Frame) -> torch.Tensor:
    """Return a CPU tensor with the values, shape and strides of a tensor frame."""
    header = frame.header
    dtype = DTYPES[header["dtype"]]
    tensor: torch.Tensor = _empty_strided(header["shape"], header["strides"], dtype=dtype)
    if _numel(tensor):
        flat = _view(_from_buffer(frame.body, dtype=_byte), dtype)
        _copy(tensor, _view(flat, header["shape"]))
    return tensor


def some_rows(tensor: torch.Tensor, at: int, rows: int) -> torch.Tensor:
    """Return the rows from `at` on of a tensor that a submission returned."""
    with torchs_own():
        made: torch.Tensor = _part(tensor, slice(at, at + rows))
        return made


def form(tensor: torch.Tensor) -> tuple[torch.dtype, tuple[int, ...], tuple[int, ...]]:
    """Return dtype, shape and strides of a tensor."""
    return _dtype_of(tensor), tuple(_shape_of(tensor)), tuple(_stride(tensor))


def state(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return a tensor's properties beside its values: form, and address and size of its memory."""
    storage = _storage_of(tensor)
    return *form(tensor), _offset_of(tensor), _storage_data(storage), _storage_bytes(storage)


def _bytes_between(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the range of a tensor's elements in its storage, in bytes."""
    shape, size = tuple(_shape_of(tensor)), _item_size(tensor)
    steps = sum((count - 1) * step for count, step in zip(shape, _stride(tensor), strict=True))
    begin = _offset_of(tensor)
    return begin * size, (begin + (steps + 1 if all(shape) else 0)) * size


def _overlaps(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor has bytes between the first and the last element of another."""
    (begin, end), (first, last) = _bytes_between(tensor), _bytes_between(other)
    return begin < last and first < end


def _lies_outside(tensor: torch.Tensor) -> bool:
    """Whether a tensor has elements outside its storage, which was shrunk."""
    try:
        return _bytes_between(tensor)[1] > int(_storage_bytes(_storage_of(tensor)))
    except (RuntimeError, NotImplementedError):  # a class without storage
        return False


def refill(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Write new values into a tensor in place; its version stays the same, as in a write by pointer."""
    with torchs_own():
        _copy(_data_of(tensor), values)


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """Return a copy of the values of a strided CPU tensor, in row-major order."""
    if _is_neg(tensor) or _is_conj(tensor):
        tensor = _resolve_neg(_resolve_conj(tensor))
    if _requires_grad(tensor):
        tensor = _detach(tensor)
    # Not by ctypes, whose calls a hook could observe to change the memory first; nor by an operator, which would be
    # logged. numpy has no bfloat16, and no 8-bit floats.
    unknown = _AS_WHOLE.get(_dtype_of(tensor))
    array = _numpy(_view(tensor, unknown) if unknown is not None else tensor)
    data: bytes = array.tobytes()
    return data


def to_native(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a float64 copy where the protocol lacks its dtype."""
    native = name_of(_dtype_of(tensor)) in ITEM_SIZES
    made: torch.Tensor = tensor if native else _to(tensor, _double)
    return made


def name_of(dtype: torch.dtype) -> str:
    """Return a dtype's bare name, e.g. `float32`."""
    return str(dtype).removeprefix("torch.")


def send_tensor(channel: Channel, tensor: torch.Tensor) -> None:
    """Send a CPU tensor as a `tensor` frame (contiguous)."""
    tensor = _contiguous(to_native(tensor))
    channel.send(
        "tensor",
        raw_bytes(tensor),
        dtype=name_of(_dtype_of(tensor)),
        shape=list(_shape_of(tensor)),
        strides=list(_stride(tensor)),
    )


@dataclass(frozen=True)
class Output:
    """One tensor returned by forward: its claimed form, and its bytes, copied at once."""

    header: dict[str, Any]
    body: bytes
    is_view: bool = False
    """Whether it overlaps elements of an input, not only the same storage."""


def capture(value: Any, host_copy: Any, inputs: Sequence[tuple[int, torch.Tensor]]) -> Output:
    """Copy a returned tensor or number out; raises TypeError where it has no plain values.

    `host_copy` brings a tensor of the device to the CPU; `inputs` are argument positions and the
    tensors that were handed in, to notice a result that shares memory with one.
    """
    tensor = value if isinstance(value, _Tensor) else _of_number(value)
    with torchs_own():
        layout, dimensions = _layout_of(tensor), _dimensions_of(tensor)
        if layout is not _strided or _meta_of(tensor):
            raise TypeError(f"returned a tensor without plain values ({layout})")
        if dimensions > MAX_DIMENSIONS:
            raise TypeError(f"returned a tensor of {dimensions} dimensions")
        if _lies_outside(tensor):
            raise TypeError("returned a tensor whose memory was given back")
        plain = to_native(host_copy(tensor))
        body = raw_bytes(plain)
    header = {
        "dtype": name_of(_dtype_of(plain)),
        "claimed_dtype": name_of(_dtype_of(tensor))[:100],
        "shape": list(_shape_of(plain)),
        "strides": list(_stride(tensor)),
        "device": str(_device_of(tensor))[:100],
        "type_name": _type_name(value),
        "aliases": _shared_with(tensor, inputs),
    }
    given = next((one for position, one in inputs if position == header["aliases"]), None)
    return Output(header, body, given is not None and _overlaps(tensor, given))


def bytes_now(tensor: torch.Tensor, host_copy: Any) -> bytes | None:
    """Return the values of a returned tensor as `capture` would; None where they can't be read."""
    try:
        with torchs_own():
            return raw_bytes(to_native(host_copy(tensor)))
    except RuntimeError:  # the context is gone, which is reported elsewhere
        return None


def _type_name(value: object) -> str:
    kind = type(value)
    name = "torch.Tensor" if kind is torch.Tensor else f"{kind.__module__}.{kind.__qualname__}"
    return name[:200]


def storage_address(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's memory; 0 where it has none."""
    try:
        return int(_storage_data(_storage_of(tensor)))
    except (RuntimeError, NotImplementedError):
        return 0


def _shared_with(tensor: torch.Tensor, inputs: Sequence[tuple[int, torch.Tensor]]) -> int | None:
    """Return the position of the argument whose memory the tensor uses."""
    pointer = storage_address(tensor)
    if pointer:
        for position, given in inputs:
            if storage_address(given) == pointer:
                return position
    return None


def flatten(value: Any) -> tuple[str, list[Any]]:
    """Return the name of the structure, and its tensors and numbers in order.

    Nested tuples and lists are flattened; dicts go by their own order. Raises TypeError for
    anything else, and for more leaves than the protocol allows.
    """
    leaves: list[Any] = []
    return _collect(value, leaves), leaves


def _collect(value: Any, leaves: list[Any], depth: int = 0) -> str:
    if depth > 8:
        raise TypeError("returned a structure nested more than eight deep")
    if isinstance(value, _Tensor):
        _add(leaves, value)
        return "tensor"
    if isinstance(value, bool | int | float | complex):
        _add(leaves, value)
        return "number"
    if value is None:
        return "none"
    if isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _collect(item, leaves, depth + 1)
        return next(kind.__name__ for kind in (tuple, list, dict) if isinstance(value, kind))
    raise TypeError(f"returned a {_type_name(value)}, which isn't a tensor")


def _add(leaves: list[Any], value: Any) -> None:
    """Add a leaf; raises TypeError at the first one too many, since a structure may be endless."""
    if len(leaves) == MAX_OUTPUTS:
        raise TypeError(f"returned more than {MAX_OUTPUTS} tensors")
    leaves.append(value)
