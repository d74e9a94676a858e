"""Changed programs: forward is called once for each, with other code in the place of a kernel's own.

The grader makes the changes and judges what comes of them; here they are put in, run and taken out again.
"""

from __future__ import annotations

import base64
import ctypes
import time
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

MOST_PROGRAM = 4 << 20
"""Bytes of a program that is told."""
MOST_SAMPLE = 1 << 20
SLOWER = 20.0
"""A changed program may take so many times as long as it did."""


def programs(runtime: Any) -> list[str]:
    """Return the programs that were launched, packed."""
    found: list[str] = []
    size = ctypes.c_size_t()
    while data := runtime.kgsim_launched(len(found), ctypes.byref(size)):
        taken = ctypes.string_at(data, size.value) if size.value <= MOST_PROGRAM else b""
        found.append(base64.b64encode(zlib.compress(taken, 1)).decode())
    return found


def run_changed(
    runtime: Any,
    asked: Mapping[str, Any],
    known: Sequence[torch.Tensor],
    call: Callable[[], list[Any]],
) -> list[torch.Tensor]:
    """Return for each output what its sampled elements are under each change, as far as the time reaches.

    `known` are tensors that a changed program might write to: each finds them as the first did.
    """
    for number, (strings, constants) in enumerate(asked["tables"]):
        text = b"".join(one.encode() + b"\0" for one in strings)
        values = (ctypes.c_uint64 * max(len(constants), 1))(*constants)
        runtime.kgsim_extend(number, text, len(text), values, len(constants))
    before = [tensor.clone() for tensor in known]
    begun = time.process_time()
    shown = [_picked(leaf, asked["sample"][n]) for n, leaf in enumerate(call())]
    rows: list[list[torch.Tensor]] = []
    once = time.process_time() - begun
    runtime.kgsim_set(b"seconds", str(max(SLOWER * once, 0.05)).encode())
    end = begun + asked["seconds"]
    for change in asked["changes"]:
        if time.process_time() > end:
            break
        rows.append(_one(runtime, asked, change, call) or [_nothing(one) for one in shown])
        for tensor, values in zip(known, before, strict=True):
            tensor.copy_(values)
    return [torch.stack([shown[n], *(row[n] for row in rows)]) for n in range(len(shown))]


def _one(
    runtime: Any, asked: Mapping[str, Any], change: Sequence[Any], call: Callable[[], list[Any]]
) -> list[torch.Tensor] | None:
    """Return what forward gives under one change; None where it fails or gives other forms."""
    program, function, edits = change
    words, registers = asked["code"][f"{program}.{function}"]
    changed: list[int] = []
    at = 0
    for start, end, new in edits:
        changed += [*words[at:start], *new]
        at = end
    widths = bytes(registers)
    _set_code(runtime, program, function, [*changed, *words[at:]], widths)
    runtime.kgsim_forget_errors()
    try:
        leaves = call()
        return [_picked(leaf, asked["sample"][n]) for n, leaf in enumerate(leaves)]
    except Exception:  # noqa: BLE001 - a changed program may fail in any way
        return None
    finally:
        _set_code(runtime, program, function, words, widths)
        runtime.kgsim_forget_errors()


def _set_code(
    runtime: Any, program: int, function: int, words: Sequence[int], widths: bytes
) -> None:
    code = array("I", words)
    address, count = code.buffer_info()
    runtime.kgsim_set_code(program, function, ctypes.c_void_p(address), count, widths, len(widths))


def _picked(leaf: Any, sample: Sequence[int] | None) -> torch.Tensor:
    flat = torch.as_tensor(leaf).detach().cpu().flatten()
    return flat[:MOST_SAMPLE] if sample is None else flat[torch.tensor(sample, dtype=torch.int64)]


def _nothing(like: torch.Tensor) -> torch.Tensor:
    if like.is_floating_point():
        return torch.full_like(like, float("nan"))
    return (
        torch.zeros_like(like)
        if like.dtype == torch.bool
        else torch.full_like(like, torch.iinfo(like.dtype).max)
    )
