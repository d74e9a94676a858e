"""Packs the arguments of a Triton launch as the bytes of the compiled kernel's parameters."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_FLOATS = {4: "<f", 8: "<d", 2: "<e"}


def pack_arguments(
    types: Sequence[Any],
    args: Sequence[Any],
    sizes: Sequence[int],
    hidden: Sequence[Any],
    kind_of: Callable[[int], int],
) -> list[bytes]:
    """Return the bytes of each parameter: the author's arguments, then the hidden ones, if any.

    `types` are Triton's types of the arguments in the text: a constant has no parameter, a tuple has several, a tensor
    descriptor has those of its parts. `kind_of` returns whose memory an address is in; below 1 it is not the GPU's.
    """
    flat = list(_flat(types, args))
    flat += [("*i8", value) for value in hidden[: len(sizes) - len(flat)]]
    if len(flat) != len(sizes):
        raise RuntimeError(f"the kernel takes {len(sizes)} arguments; {len(flat)} were given")
    return [
        _bytes(of, value, size, position, kind_of)
        for position, ((of, value), size) in enumerate(zip(flat, sizes, strict=True))
    ]


def _flat(types: Sequence[Any], args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for of, value in zip(types, args, strict=False):
        if isinstance(of, tuple):
            yield from _flat(of, value)
        elif of.startswith("tensordesc"):
            yield from _descriptor(value)
        elif of != "constexpr":
            yield of, value


def _descriptor(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a descriptor's parts where the hardware has no descriptors: as Triton passes them, sizes twice."""
    yield "*i8", value.base
    yield from (("i64", number) for number in (*value.shape, *value.strides))
    yield "i1", getattr(value, "padding", "zero") == "nan"
    if hasattr(value, "round_f32_to_tf32"):
        yield "i1", value.round_f32_to_tf32
    yield from (("i32", number) for number in value.shape)
    yield from (("i64", number) for number in value.strides)


def _bytes(of: str, value: Any, size: int, position: int, kind_of: Callable[[int], int]) -> bytes:
    if of.startswith("*"):
        return struct.pack("<Q", _address(value, position, kind_of))
    if of == "bf16":
        return struct.pack("<f", float(value))[2:]
    if of in {"fp16", "fp32", "f32", "fp64"}:
        return struct.pack(_FLOATS[size], float(value))
    form = _INTEGERS[size]
    try:
        return struct.pack(f"<{form.upper() if of.startswith('u') else form}", int(value))
    except struct.error as error:
        raise OverflowError(f"argument {position}: {value} does not fit into {of}") from error


def _address(value: Any, position: int, kind_of: Callable[[int], int]) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not hasattr(value, "data_ptr"):
        raise TypeError("Pointer argument must be either uint64 or have data_ptr method")
    address = int(value.data_ptr())
    if address and kind_of(address) <= 0:
        raise ValueError(
            f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)"
        )
    return address
