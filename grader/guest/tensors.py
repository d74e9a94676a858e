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

# Torch's own, whatever a submission makes of the names by the time that they are used.
to_cpu = torch._C.TensorBase.cpu
to_cuda = torch._C.TensorBase.cuda
_device_of = torch._C.TensorBase.device.__get__
_string_at = ctypes.string_at
_no_functions = torch._C.DisableTorchFunction
_no_dispatch = torch._C._DisableTorchDispatch


@contextmanager
def torchs_own() -> Iterator[None]:
    """Leave out whatever a submission has put between torch and its operators: modes, subclasses."""
    with _no_functions(), _no_dispatch():
        yield


DTYPES: Mapping[str, torch.dtype] = {name: getattr(torch, name) for name in ITEM_SIZES}


def from_frame(frame: Frame) -> torch.Tensor:
    """Return a CPU tensor with the values, shape and strides of a tensor frame."""
    header = frame.header
    dtype = DTYPES[header["dtype"]]
    tensor = torch.empty_strided(header["shape"], header["strides"], dtype=dtype)
    if tensor.numel():
        flat = torch.frombuffer(frame.body, dtype=torch.uint8).view(dtype)
        tensor.copy_(flat.view(header["shape"]))
    return tensor


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """Return a copy of the values of a strided CPU tensor, in row-major order."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return _string_at(flat.data_ptr(), flat.nbytes) if flat.numel() else b""


def to_native(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, or a float64 copy where its dtype is none that may cross."""
    return tensor if name_of(tensor.dtype) in ITEM_SIZES else tensor.to(torch.float64)


def name_of(dtype: torch.dtype) -> str:
    """Return a dtype's bare name, e.g. `float32`."""
    return str(dtype).removeprefix("torch.")


def send_tensor(channel: Channel, tensor: torch.Tensor) -> None:
    """Send a CPU tensor as a `tensor` frame (contiguous)."""
    tensor = to_native(tensor).contiguous()
    channel.send(
        "tensor",
        raw_bytes(tensor),
        dtype=name_of(tensor.dtype),
        shape=list(tensor.shape),
        strides=list(tensor.stride()),
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
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    if tensor.layout is not torch.strided or tensor.is_meta:
        raise TypeError(f"returned a tensor without plain values ({tensor.layout})")
    if tensor.dim() > MAX_DIMENSIONS:
        raise TypeError(f"returned a tensor of {tensor.dim()} dimensions")
    with torchs_own():
        plain = to_native(host_copy(tensor))
        body = raw_bytes(plain)
    header = {
        "dtype": name_of(plain.dtype),
        "claimed_dtype": name_of(tensor.dtype)[:100],
        "shape": list(plain.shape),
        "strides": list(tensor.stride()),
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
    structure = _collect(value, leaves)
    if len(leaves) > MAX_OUTPUTS:
        raise TypeError(f"returned {len(leaves)} tensors")
    return structure, leaves


def _collect(value: Any, leaves: list[Any], depth: int = 0) -> str:
    if depth > 8:
        raise TypeError("returned a structure nested more than eight deep")
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        return "tensor"
    if isinstance(value, bool | int | float | complex):
        leaves.append(value)
        return "number"
    if value is None:
        return "none"
    if isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _collect(item, leaves, depth + 1)
        return next(kind.__name__ for kind in (tuple, list, dict) if isinstance(value, kind))
    raise TypeError(f"returned a {_type_name(value)}, which is no tensor")
