"""Tensors to raw bytes and back, inside the guest."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from grader.guest.kinds import ITEM_SIZES, MAX_DIMENSIONS, MAX_OUTPUTS
from grader.guest.protocol import Channel, Frame

# Torch's own, whatever a submission makes of the names by the time that they are used. The base's
# functions, since the class that everybody sees can be given others.
_Base = torch._C.TensorBase
_Tensor = torch.Tensor
to_cpu = _Base.cpu
to_cuda = _Base.cuda
_copy = _Base.copy_
_contiguous = _Base.contiguous
_data_ptr = _Base.data_ptr
_detach = _Base.detach
_numel = _Base.numel
_resolve_conj = _Base.resolve_conj
_resolve_neg = _Base.resolve_neg
_stride = _Base.stride
_to = _Base.to
_view = _Base.view
_bytes_of = _Base.nbytes.__get__
_device_of = _Base.device.__get__
_dtype_of = _Base.dtype.__get__
_shape_of = _Base.shape.__get__
_empty_strided = torch.empty_strided
_from_buffer = torch.frombuffer
_of_number = torch.tensor
_part = _Base.__getitem__
_byte, _double = torch.uint8, torch.float64
_string_at = ctypes.string_at
_no_functions = torch._C.DisableTorchFunction
_no_dispatch = torch._C._DisableTorchDispatch


@contextmanager
def torchs_own() -> Iterator[None]:
    """Leave out whatever a submission has put between torch and its operators: modes, subclasses."""
    with _no_functions(), _no_dispatch():
        yield


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


def first(tensor: torch.Tensor, rows: int) -> torch.Tensor:
    """Return the first rows of a tensor that a submission returned."""
    with torchs_own():
        made: torch.Tensor = _part(tensor, slice(rows))
        return made


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """Return a copy of the values of a strided CPU tensor, in row-major order."""
    flat = _contiguous(_resolve_neg(_resolve_conj(_detach(tensor))))
    return _string_at(_data_ptr(flat), _bytes_of(flat)) if _numel(flat) else b""


def to_native(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a float64 copy where its dtype is none that may cross."""
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
    """One tensor that forward returned: what it claims to be, and its bytes, taken at once."""

    header: dict[str, Any]
    body: bytes


def capture(value: Any, host_copy: Any, inputs: Sequence[tuple[int, torch.Tensor]]) -> Output:
    """Copy a returned tensor or number out; raises TypeError where it has no plain values.

    `host_copy` brings a tensor of the device to the CPU; `inputs` are argument positions and the
    tensors that were handed in, to notice a result that shares memory with one.
    """
    tensor = value if isinstance(value, _Tensor) else _of_number(value)
    if tensor.layout is not torch.strided or tensor.is_meta:
        raise TypeError(f"returned a tensor without plain values ({tensor.layout})")
    if tensor.dim() > MAX_DIMENSIONS:
        raise TypeError(f"returned a tensor of {tensor.dim()} dimensions")
    with torchs_own():
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
    return Output(header, body)


def bytes_now(tensor: torch.Tensor, host_copy: Any) -> bytes | None:
    """Return the values of a returned tensor as `capture` would; None where they can't be had."""
    try:
        with torchs_own():
            return raw_bytes(to_native(host_copy(tensor)))
    except RuntimeError:  # the context is gone, which another place tells
        return None


def _type_name(value: object) -> str:
    kind = type(value)
    name = "torch.Tensor" if kind is torch.Tensor else f"{kind.__module__}.{kind.__qualname__}"
    return name[:200]


def _storage(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):
        return 0


def _shared_with(tensor: torch.Tensor, inputs: Sequence[tuple[int, torch.Tensor]]) -> int | None:
    """Position of the argument whose memory the tensor uses."""
    pointer = _storage(tensor)
    if pointer:
        for position, given in inputs:
            if _storage(given) == pointer:
                return position
    return None


def flatten(value: Any) -> tuple[str, list[Any]]:
    """Return the structure's name and its tensors and numbers, in order.

    Nested tuples and lists are flattened; dicts go by their own order. Raises TypeError for
    anything else, and for more leaves than may cross.
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
    raise TypeError(f"returned a {_type_name(value)}, which is no tensor")


def _add(leaves: list[Any], value: Any) -> None:
    """Add a leaf; raises TypeError at one too many, at once, since a structure need not end."""
    if len(leaves) == MAX_OUTPUTS:
        raise TypeError(f"returned more than {MAX_OUTPUTS} tensors")
    leaves.append(value)
