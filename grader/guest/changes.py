"""Changed programs: forward is called once for each, with other code in the place of a kernel's own, other arguments, or other host code.

The grader makes the changes and judges what comes of them; here they are put in, run and taken out again.
"""

from __future__ import annotations

import base64
import ctypes
import json
import time
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from grader.guest.host_text import HostText

MOST_PROGRAM = 4 << 20
"""Bytes of a program that is told."""
MOST_SAMPLE = 1 << 20
MOST_LAUNCHES = 24
LEAST_ADDRESS = 1 << 40
LONGER = 4
LEAST_STEPS = 1 << 20
"""A launch of a changed program may have so many times the instructions of the longest, and these at least."""


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
    arguments: Arguments,
    call: Callable[[], list[Any]],
) -> list[torch.Tensor]:
    """Return for each output what its sampled elements are under each change, as far as the time reaches.

    A changed program might write to inputs and weights: each finds them as the first did.
    """
    for number, (strings, constants) in enumerate(asked["tables"]):
        text = b"".join(one.encode() + b"\0" for one in strings)
        values = (ctypes.c_uint64 * max(len(constants), 1))(*constants)
        runtime.kgsim_extend(number, text, len(text), values, len(constants))
    known = arguments.tensors
    before = [tensor.clone() for tensor in known]
    begun = time.process_time()
    runtime.kgsim_set(b"max_blocks", str(asked["blocks"]).encode())
    arguments.replace(())
    shown = [_picked(leaf, asked["sample"][n]) for n, leaf in enumerate(call())]
    rows: list[list[torch.Tensor]] = []
    arguments.note_launches()
    kinds = b"0" if asked["clean"] else str(runtime.kgsim_found()).encode()
    steps = max(LONGER * runtime.kgsim_call_steps(), LEAST_STEPS >> 4 * bool(asked["blocks"]))
    runtime.kgsim_set(b"lane_steps", str(steps).encode())
    end = begun + asked["seconds"]
    host = HostText()
    for number, change in enumerate(asked["changes"]):
        if "settings" not in change:
            runtime.kgsim_set(b"findings", kinds)
        if time.process_time() > end:
            break
        row = _one(runtime, asked, arguments, host, change, call)
        rows.append(row or [_nothing(one) for one in shown])
        for tensor, values in zip(known, before, strict=True):
            tensor.copy_(values)
    return [torch.stack([shown[n], *(row[n] for row in rows)]) for n in range(len(shown))]


def _one(
    runtime: Any,
    asked: Mapping[str, Any],
    arguments: Arguments,
    host: HostText,
    change: Mapping[str, Any],
    call: Callable[[], list[Any]],
) -> list[torch.Tensor] | None:
    """Return what forward gives under one change; None where it fails or gives other forms."""
    key = change.get("code", "")
    if key:
        words, registers = asked["code"][key]
        program, function = map(int, key.split("."))
        widths = bytes(registers)
        _set_code(runtime, program, function, _spliced(words, change["edits"]), widths)
    for name, value in change.get("settings", ()):
        runtime.kgsim_set(name.encode(), value.encode())
    arguments.replace(change.get("given", ()))
    edited = host.edited(asked["statements"], change["text"]) if "text" in change else nullcontext()
    row = _outputs(runtime, asked, call, edited)
    if key:
        _set_code(runtime, program, function, words, widths)
    for name, _ in change.get("settings", ()):
        runtime.kgsim_set(name.encode(), b"0")
    return row


def _spliced(words: Sequence[int], edits: Sequence[Any]) -> list[int]:
    changed: list[int] = []
    at = 0
    for start, end, new in edits:
        changed += [*words[at:start], *new]
        at = end
    return [*changed, *words[at:]]


def _outputs(
    runtime: Any,
    asked: Mapping[str, Any],
    call: Callable[[], list[Any]],
    edited: AbstractContextManager[None],
) -> list[torch.Tensor] | None:
    runtime.kgsim_forget_errors()
    try:
        with edited:
            leaves = call()
        if asked["clean"] and _found_wrong(runtime):
            return None
        return [_picked(leaf, asked["sample"][n]) for n, leaf in enumerate(leaves)]
    except Exception:  # noqa: BLE001 - a changed program may fail in any way
        return None
    finally:
        runtime.kgsim_forget_errors()


def _set_code(
    runtime: Any, program: int, function: int, words: Sequence[int], widths: bytes
) -> None:
    code = array("I", words)
    address, count = code.buffer_info()
    runtime.kgsim_set_code(program, function, ctypes.c_void_p(address), count, widths, len(widths))


def _found_wrong(runtime: Any) -> bool:
    """Whether the simulator saw an access that goes where it must not, or anything else to report."""
    told = runtime.kgsim_host_report()
    seen = json.loads(ctypes.string_at(told))
    runtime.kgsim_free_text(told)
    return bool(seen["core"]["findings"])


class Arguments:
    """What launches are given, and what they get in its place; `known` are the inputs and weights by their names."""

    def __init__(self, runtime: Any, known: Sequence[tuple[str, torch.Tensor]]) -> None:
        self._runtime = runtime
        self.tensors = [tensor for _, tensor in known]
        self.told: dict[str, Any] = {
            "tensors": [{"name": name, "shape": list(tensor.shape)} for name, tensor in known],
            "launches": [],
        }
        self._laid_out: dict[tuple[int, ...], torch.Tensor] = {}
        runtime.kgsim_passed.restype = ctypes.c_char_p
        runtime.kgsim_found.restype = ctypes.c_uint64
        runtime.kgsim_call_steps.restype = ctypes.c_uint64

    def replace(self, replaced: Sequence[Sequence[Any]]) -> None:
        """Begin a call in which launches get these: launch, parameter, and the launch and parameter it is taken from.

        A fifth number is the value itself; a list stands for a known tensor, its dims in this order in memory.
        """
        self._laid_out.clear()
        flat = [
            self._address(*value) if isinstance(value, list) else value
            for one in replaced
            for value in one
        ]
        numbers = (ctypes.c_uint64 * max(len(flat), 1))(*(v & (1 << 64) - 1 for v in flat))
        self._runtime.kgsim_begin_call(numbers, len(replaced))

    def _address(self, number: int, *dims: int) -> int:
        tensor = self.tensors[number]
        if (number, *dims) not in self._laid_out:
            same = tensor.is_contiguous() and list(dims) == sorted(dims)
            made = tensor if same else tensor.detach().permute(dims).contiguous()
            self._laid_out[number, *dims] = made
        return int(self._laid_out[number, *dims].data_ptr())

    def note_launches(self) -> None:
        """Tell the launches of the last call: sizes and values of the arguments, and which are memory of a known tensor."""
        found = self.told["launches"]
        sizes, blocks = (ctypes.POINTER(ctypes.c_uint32)() for _ in range(2))
        values, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        into = (sizes, values, count, blocks)
        passed = self._runtime.kgsim_passed
        while len(found) < MOST_LAUNCHES and (
            name := passed(len(found), *(ctypes.byref(one) for one in into))
        ):
            found.append(
                {
                    "kernel": name.decode(),
                    "sizes": sizes[: count.value],
                    "values": values[: count.value],
                    "memory": [self._memory(one) for one in values[: count.value]],
                    "blocks": blocks[:3],
                }
            )

    def _memory(self, value: int) -> int:
        """Return -2 for what is no address of the GPU's, and else which known tensor begins there; -1: none.

        What is too large for a size is an address of memory that forward gave back.
        """
        if value < LEAST_ADDRESS and self._runtime.kgsim_kind(ctypes.c_void_p(value)) < 1:
            return -2
        starts = (n for n, tensor in enumerate(self.tensors) if tensor.data_ptr() == value)
        return next(starts, -1)


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
