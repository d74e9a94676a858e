"""Conversion between numpy arrays and tensor frames, on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from grader.guest.kinds import ITEM_SIZES
from grader.guest.protocol import Frame
from grader.records import JsonValue
from grader.sandbox.job import Argument, GuestOutput, Part

OF_ML_DTYPES = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})


def dtype_of(name: str) -> np.dtype[Any]:
    """Return numpy's dtype for a name of the protocol; what numpy lacks comes from ml_dtypes."""
    if name in OF_ML_DTYPES:
        import ml_dtypes

        return np.dtype(cast("type[Any]", getattr(ml_dtypes, name)))
    return np.dtype(name)


def to_frame(array: np.ndarray) -> Frame:
    """Return the frame of an array; a transposed array arrives as a transposed tensor.

    Raises ValueError for a dtype that the protocol lacks.
    """
    if array.dtype.name not in ITEM_SIZES:
        raise ValueError(f"arrays of {array.dtype.name} do not cross to a guest")
    strides = _dense_strides(array)
    header = {"dtype": array.dtype.name, "shape": list(array.shape), "strides": strides}
    return Frame("tensor", header, np.ascontiguousarray(array).tobytes())


def _dense_strides(array: np.ndarray) -> list[int]:
    """Strides in elements: the array's own where it is a permuted dense block, else row-major."""
    own = [stride // array.itemsize for stride in array.strides]
    span = 1 + sum((size - 1) * step for size, step in zip(array.shape, own, strict=True))
    if array.size and min(own, default=1) > 0 and span == array.size:
        return own
    steps = [1]
    for size in reversed(array.shape[1:]):
        steps.insert(0, steps[0] * max(size, 1))
    return steps[: array.ndim]


def from_frame(frame: Frame) -> np.ndarray:
    """Return the array of a checked `tensor` or `output` frame."""
    flat = np.frombuffer(frame.body, dtype=dtype_of(frame.header["dtype"]))
    return flat.reshape(frame.header["shape"])


def output_of(frame: Frame) -> GuestOutput:
    """Return the contents of an `output` frame."""
    header = frame.header
    return GuestOutput(
        array=from_frame(frame),
        device=header["device"],
        strides=tuple(header["strides"]),
        type_name=header["type_name"],
        aliases=header["aliases"],
        dtype=header["claimed_dtype"],
    )


def split_tensors(arguments: Sequence[Argument]) -> tuple[list[JsonValue], list[Frame]]:
    """Return JSON for each argument, and the tensors.

    That is `["tensor", i]`, `["part", [i, rows of the whole, its first row]]` or `["value", x]`.
    """
    values: list[JsonValue] = []
    frames: list[Frame] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            values.append(["tensor", len(frames)])
            frames.append(to_frame(argument))
        elif isinstance(argument, Part):
            values.append(["part", [len(frames), argument.rows, argument.at]])
            frames.append(to_frame(argument.array))
        else:
            values.append(["value", argument])
    return values, frames


def name_arrays(frames: Iterator[Frame], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the arrays of one frame for each name."""
    return {name: from_frame(next(frames)) for name in names}
