"""The protocol's kinds of frames between host and guest, with the check of each value.

Closed lists throughout: a key, dtype, stage or name that is not here does not exist.
The standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

MAX_DIMENSIONS = 16
MAX_TENSORS = 4096
MAX_OUTPUTS = 256
MAX_FILES = 4096
MAX_CALLS = 1024
"""Calls in one timed batch."""
SEED_STEP = 7919
"""Difference of the seeds of the inputs of two calls in a batch; each input of a call adds its position."""
MAX_TEXT = 20_000

ITEM_SIZES: Mapping[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element, for every dtype of the protocol."""

STAGES = ("import", "construct", "forward")
STRUCTURES = ("tensor", "tuple", "list", "dict", "number", "none", "other")
OUTCOMES = ("ran", "raised", "out_of_memory")
_COMPONENT = re.compile(r"(?:\.ninja_)?[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,127}")
BIG = 1 << 48


Check = Callable[[Any], bool]


def _text(limit: int) -> Check:
    return lambda value: isinstance(value, str) and len(value) <= limit


def _integer(low: int, high: int) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _milliseconds(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value < 1e9  # type: ignore[operator]


def _flag(value: object) -> bool:
    return type(value) is bool


def _one_of(*allowed: str) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def _list_of(check: Check, limit: int) -> Check:
    return lambda value: isinstance(value, list) and len(value) <= limit and all(map(check, value))


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def is_file_name(value: object) -> bool:
    """Whether a relative path has only plain components: no "..", no root, no hidden file.

    The one exception are ninja's own logs, `.ninja_log` and `.ninja_deps`.
    """
    if not isinstance(value, str) or len(value) > 512:
        return False
    parts = value.split("/")
    return len(parts) <= 8 and all(_COMPONENT.fullmatch(part) for part in parts)


_SHAPE = _list_of(_integer(0, BIG), MAX_DIMENSIONS)
_STRIDES = _list_of(_integer(-BIG, BIG), MAX_DIMENSIONS)
_TENSOR_INDEX = _integer(0, MAX_OUTPUTS)

KINDS: Mapping[str, Mapping[str, Check]] = {
    # host to guest
    "confine": {
        "limits": _is_mapping,
        "identity": _optional(_is_mapping),
        "landlock": _is_mapping,
        "drop": _flag,
    },
    "filter": {},
    "probe": {"readable": _list_of(_text(4096), 64), "writable": _list_of(_text(4096), 64)},
    "job": {
        "role": _one_of("submission", "reference"),
        "entry": _text(200),
        "device": _one_of("sim", "cuda", "cpu"),
        "seed": _integer(0, 2**63 - 1),
        "tensors": _integer(0, MAX_TENSORS),
        "state": _optional(_list_of(_text(500), MAX_TENSORS)),
        "initial": _flag,
        "files": _integer(0, MAX_FILES),
        "threads": _integer(1, 64),
        "build_only": _flag,
        "construct": _flag,
        "double": _flag,
        "want_state": _flag,
        "describe": _flag,
    },
    "settings": {},
    "workload": {
        "name": _text(500),
        "tensors": _integer(0, MAX_TENSORS),
        "rows": _optional(_integer(1, BIG)),
        "at": _integer(0, BIG),
    },
    "keep": {"limit": _integer(0, BIG)},
    "time": {"calls": _integer(1, MAX_CALLS)},
    "fill": {"seed": _integer(0, 2**62)},
    "go": {"calls": _integer(0, MAX_CALLS)},
    "take": {},
    "queue": {"calls": _integer(1, MAX_CALLS), "cycles": _integer(0, 1 << 33)},
    "cost": {"count": _flag},
    "untime": {},
    "end": {},
    # both ways
    "tensor": {"dtype": _one_of(*ITEM_SIZES), "shape": _SHAPE, "strides": _STRIDES},
    "file": {
        "name": is_file_name,
        "executable": _flag,
        "modified": _integer(0, 2**63 - 1),
    },
    # guest to host
    "hello": {"python": _text(100)},
    "probed": {"broken": _list_of(_text(500), 64)},
    "loaded": {"torch": _text(100)},
    "stage": {"stage": _one_of(*STAGES)},
    "ready": {"loaded": _text(500), "state": _list_of(_text(500), MAX_TENSORS)},
    "described": {},
    "raised": {
        "stage": _one_of(*STAGES),
        "reason": _text(MAX_TEXT),
        "traceback": _text(MAX_TEXT),
        "line": _optional(_integer(0, 1 << 31)),
        "out_of_memory": _flag,
    },
    "result": {
        "status": _one_of(*OUTCOMES),
        "reason": _text(MAX_TEXT),
        "traceback": _text(MAX_TEXT),
        "line": _optional(_integer(0, 1 << 31)),
        "structure": _one_of(*STRUCTURES),
        "outputs": _integer(0, MAX_OUTPUTS),
        "mutated": _list_of(_TENSOR_INDEX, MAX_OUTPUTS),
    },
    "output": {
        "dtype": _one_of(*ITEM_SIZES),
        "claimed_dtype": _text(100),
        "shape": _SHAPE,
        "strides": _STRIDES,
        "device": _text(100),
        "type_name": _text(200),
        "aliases": _optional(_TENSOR_INDEX),
    },
    "timed": {"status": _one_of(*OUTCOMES), "reason": _text(MAX_TEXT), "claimed": _milliseconds},
    "taken": {"tensors": _integer(0, MAX_OUTPUTS), "shapes": _list_of(_SHAPE, MAX_OUTPUTS)},
    "accounted": {
        "peak": _integer(0, BIG),
        "products": _integer(0, 1 << 62),
        "others": _integer(0, 1 << 62),
    },
    "files": {"count": _integer(0, MAX_FILES), "skipped": _list_of(_text(500), 64)},
    "changed": {"workloads": _list_of(_text(500), MAX_TENSORS)},
    "done": {},
}
"""Every kind of frame, with the exact set of keys of its header and the check of each value."""

MAX_BODIES: Mapping[str, int] = {
    "filter": 1 << 16,
    "job": 64 << 20,
    "settings": 64 << 20,
    "workload": 64 << 20,
    "time": 1 << 20,
    "take": 1 << 20,
    "file": 2 << 30,
    "described": 4 << 20,
    "result": 16 << 20,
}
"""Most bytes of a body, by kind; tensors have the size that their header says, others none."""
