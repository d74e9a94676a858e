"""Counterfactual runs: a kernel's code, launch arguments or host code is changed, and the launches or forward run again.

The host makes the changes and judges the results; here they are applied, run and reverted.
"""

from __future__ import annotations

import base64
import ctypes
import time
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import accumulate
from typing import Any

import torch

from grader.guest.compile_bound import CompileBound
from grader.guest.host_text import HostText
from grader.guest.replay import MOST_SAMPLE, Replay

MOST_PROGRAM = 4 << 20
"""Most bytes of a reported program."""
MOST_LAUNCHES = 24
LEAST_ADDRESS = 1 << 40
LONGER = 4
UNWRITTEN = 0b111 << 5
"""Kinds of evidence that may be harmless in the end: unwritten values that are read, and overwritten later."""
EVERY_KIND = (1 << 32) - 1
LEAST_SECONDS = 0.002
LEAST_STEPS = 1 << 20
"""A launch of a changed program may take `LONGER` times the instructions of the longest launch and the seconds of the
call, and at least these."""


def programs(runtime: Any) -> list[str]:
    """Return the launched programs, packed."""
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
    call: Callable[..., list[Any]],
) -> list[torch.Tensor]:
    """Return the sampled elements of each output under each change, as far as the time allows.

    `call` calls forward; with `anew`, that of a model constructed under the change.
    A changed program might write to inputs and weights, so they are restored for each.
    """
    _give_code(runtime, asked)
    known = arguments.tensors
    before = [tensor.clone() for tensor in known]
    end = time.process_time() + asked["seconds"]
    runtime.kgsim_set(b"max_blocks", str(asked["blocks"]).encode())
    arguments.replace(())
    replay = Replay(runtime)
    compiled = CompileBound()
    leaves = _bound_by(runtime, asked, replay, call)
    compiled.closed = True
    arguments.note_launches()
    shown = _take_samples(leaves, asked)
    rows: list[list[torch.Tensor]] = []
    host = HostText()
    for change in asked["changes"]:
        if time.process_time() > end:
            break
        first = replay.first(change)
        anew = change.get("text", {}).get("constructs", False)
        forward = partial(_call_forward, partial(call, anew=True) if anew else call, asked)
        again = forward if first < 0 else partial(replay.outputs, first)
        row = _run_change(runtime, asked, arguments, host, change, again)
        rows.append(row or [_nothing(one) for one in shown])
        for tensor, values in zip(known, before, strict=True) if first < 0 else ():
            tensor.copy_(values)
    return [torch.stack([shown[n], *(row[n] for row in rows)]) for n in range(len(shown))]


def _give_code(runtime: Any, asked: Mapping[str, Any]) -> None:
    """Prepare programs for the named changes, with registers for the changed functions."""
    for number, (strings, constants) in enumerate(asked["tables"]):
        text = b"".join(one.encode() + b"\0" for one in strings)
        values = (ctypes.c_uint64 * max(len(constants), 1))(*constants)
        runtime.kgsim_extend(number, text, len(text), values, len(constants))
    for key, (words, registers) in asked["code"].items():
        program, function = map(int, key.split("."))
        _set_code(runtime, program, function, words, bytes(registers))


def _bound_by(
    runtime: Any, asked: Mapping[str, Any], replay: Replay, call: Callable[[], list[Any]]
) -> list[Any]:
    """Return the unchanged program's results, and set the limits of changed launches from its cost and evidence."""
    begun = time.process_time()
    replay.begin()
    leaves = call()
    replay.end(leaves, asked["sample"])
    seconds = LONGER * (time.process_time() - begun) + LEAST_SECONDS
    steps = max(LONGER * runtime.kgsim_call_steps(), LEAST_STEPS >> 4 * bool(asked["blocks"]))
    kinds = UNWRITTEN | (0 if asked["clean"] else runtime.kgsim_found())
    # A probe's fewer blocks leave memory unwritten that others read: evidence from all blocks doesn't limit them.
    kinds = EVERY_KIND if any("settings" in one for one in asked["changes"]) else kinds
    for name, bound in (("seconds", seconds), ("lane_steps", steps), ("findings", kinds)):
        runtime.kgsim_set(name.encode(), str(bound).encode())
    return leaves


def _call_forward(call: Callable[[], list[Any]], asked: Mapping[str, Any]) -> list[torch.Tensor]:
    return _take_samples(call(), asked)


def _run_change(
    runtime: Any,
    asked: Mapping[str, Any],
    arguments: Arguments,
    host: HostText,
    change: Mapping[str, Any],
    again: Callable[[], list[torch.Tensor] | None],
) -> list[torch.Tensor] | None:
    """Return the results under one change; None where the run fails or their form differs."""
    if "code" in change and not _edit_code(runtime, change):
        return None
    for name, value in change.get("settings", ()):
        runtime.kgsim_set(name.encode(), value.encode())
    arguments.replace(change.get("given", ()))
    edited = (
        host.edited_statement(asked["statements"], change["text"])
        if "text" in change
        else nullcontext()
    )
    row = _outputs(runtime, asked, again, edited)
    row = None if "text" in change and arguments.leaves_out_kernels() else row
    runtime.kgsim_undo()
    for name, _ in change.get("settings", ()):
        runtime.kgsim_set(name.encode(), b"0")
    return row


def _edit_code(runtime: Any, change: Mapping[str, Any]) -> bool:
    """Insert a change's instructions; False where they are invalid."""
    program, function = map(int, change["code"].split("."))
    places = array("I", [at for at, _ in change["edits"]])
    words = array("I", [word for _, new in change["edits"] for word in new])
    ends = array("I", accumulate(len(new) for _, new in change["edits"]))
    at, end, new = (ctypes.c_void_p(one.buffer_info()[0]) for one in (places, ends, words))
    done = bool(runtime.kgsim_edit(program, function, at, end, len(places), new) == 0)
    if not done:
        runtime.kgsim_undo()
    return done


def _outputs(
    runtime: Any,
    asked: Mapping[str, Any],
    again: Callable[[], list[torch.Tensor] | None],
    edited: AbstractContextManager[None],
) -> list[torch.Tensor] | None:
    runtime.kgsim_forget_errors()
    try:
        with edited:
            sampled = again()
        return None if asked["clean"] and runtime.kgsim_found() else sampled
    except Exception:  # noqa: BLE001 - a changed program may fail in any way
        return None
    finally:
        runtime.kgsim_forget_errors()


def _set_code(
    runtime: Any, program: int, function: int, words: Sequence[int], widths: bytes
) -> None:
    """Set code with additional registers for changes."""
    code = array("I", words)
    address, count = code.buffer_info()
    runtime.kgsim_set_code(program, function, ctypes.c_void_p(address), count, widths, len(widths))


class Arguments:
    """Arguments of launches, and their replacements; `known` are the inputs and weights by name."""

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
        """Begin a call with replaced arguments: launch, parameter, and the launch and parameter of the source.

        A fifth number is the value itself; a list is a known tensor with its dims in this memory order.
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

    def leaves_out_kernels(self) -> bool:
        """Whether the last call launched not every kernel of the first: torch may have done its work."""
        sizes, blocks = (ctypes.POINTER(ctypes.c_uint32)() for _ in range(2))
        values, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        into = [ctypes.byref(one) for one in (sizes, values, count, blocks)]
        passed = (self._runtime.kgsim_passed(n, *into) for n in range(MOST_LAUNCHES))
        now = {name.decode() for name in passed if name}
        return not {one["kernel"] for one in self.told["launches"]} <= now

    def note_launches(self) -> None:
        """Report the launches of the last call: sizes and values of the arguments, and the known tensor that each points to."""
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
        """Return the known tensor that begins at an address, -1 for none, and -2 for no address of the GPU.

        A value too large for a size counts as an address of memory that forward freed.
        """
        if value < LEAST_ADDRESS and self._runtime.kgsim_kind(ctypes.c_void_p(value)) < 1:
            return -2
        starts = (n for n, tensor in enumerate(self.tensors) if tensor.data_ptr() == value)
        return next(starts, -1)


def _take_samples(leaves: Sequence[Any], asked: Mapping[str, Any]) -> list[torch.Tensor]:
    """Return the sampled elements of each result."""
    flat = [torch.as_tensor(leaf).detach().cpu().flatten()[:MOST_SAMPLE] for leaf in leaves]
    samples = asked["sample"]
    return [
        one if samples[n] is None else one[torch.tensor(samples[n], dtype=torch.int64)]
        for n, one in enumerate(flat)
    ]


def _nothing(like: torch.Tensor) -> torch.Tensor:
    if like.is_floating_point():
        return torch.full_like(like, float("nan"))
    return (
        torch.zeros_like(like)
        if like.dtype == torch.bool
        else torch.full_like(like, torch.iinfo(like.dtype).max)
    )
