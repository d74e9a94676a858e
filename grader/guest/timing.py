"""Batches of calls on a GPU, for a host that holds the clock.

Each call of a batch has its own inputs, made here from the host's seed in buffers that are reused for every batch; each
result is kept until the host has requested its elements.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader.guest import program, tensors
from grader.guest.kinds import SEED_STEP
from grader.guest.protocol import Channel, Frame

# Torch's own function, as in `tensors`, so that a lazy result class can't compute when it is read.
_Base = torch._C.TensorBase
_arange, _stack, _tensor = torch.arange, torch.stack, torch.tensor
_flat = _Base.flatten
_select = _Base.index_select
_numel = _Base.numel
_device_of = _Base.device.__get__
_shape_of = _Base.shape.__get__
FLUSH = 256 << 20
"""Bytes written after the inputs are made, so that none is in a cache: more than any L2 has."""


ORDERS = ("time", "fill", "go", "take", "queue", "cost", "untime")


class Batches:
    """Serves the host's requests from `time` until `untime`."""

    def __init__(
        self,
        channel: Channel,
        model: Any,
        scratch: Any,
        widen: Callable[[Any], Any] | None = None,
        counter: Callable[[], Any] | None = None,
    ) -> None:
        self._counter = counter
        """Factory of the counter of a call's operations; only in a reference's guest."""
        self._widen = widen
        """Makes float64 of each input, for a reference that is exact and not timed."""
        self._channel = channel
        self._model = model
        self._scratch = scratch
        self._arguments: list[list[Any]] = []
        self._results: list[list[Any]] = []
        self._flush: torch.Tensor | None = None
        self._cost_of_a_call: dict[str, int] = {}

    def serve(self, frame: Frame) -> None:
        """Serve every request; exceptions of the submission are reported and don't end the conversation."""
        while frame.kind != "untime":
            try:
                reply = getattr(self, f"_{frame.kind}")(frame)
            except Exception as error:  # noqa: BLE001 - outcomes of the submission
                failed = program.failure(error, self._scratch)
                self._send("out_of_memory" if failed.out_of_memory else "raised", failed.reason)
            else:
                self._send("ran", "", reply or 0.0)
                if frame.kind == "take":
                    self._deliver()
                if frame.kind == "cost":
                    self._channel.send("accounted", b"", **self._cost_of_a_call)
            frame = self._channel.receive(*ORDERS)
        self._results.clear()
        self._arguments.clear()

    def _send(self, status: str, reason: str, claimed: float = 0.0) -> None:
        self._channel.send("timed", status=status, reason=reason, claimed=claimed)

    def _time(self, frame: Frame) -> None:
        """Allocate the inputs of all calls in a batch."""
        self._results.clear()
        self._arguments.clear()
        torch.cuda.empty_cache()
        self._specs = json.loads(bytes(frame.body))
        self._flush = torch.empty(FLUSH, dtype=torch.uint8, device="cuda")
        self._arguments = [
            [empty(value) if kind == "made" else value for kind, value in self._specs]
            for _ in range(frame.header["calls"])
        ]
        torch.cuda.synchronize()

    def _fill(self, frame: Frame) -> None:
        """Write new contents to all inputs; drop the last batch's results."""
        self._results.clear()
        seed = frame.header["seed"]
        for call, arguments in enumerate(self._arguments):
            for position, (kind, spec) in enumerate(self._specs):
                if kind == "made":
                    fill(arguments[position], spec, seed + SEED_STEP * call + position)
        if self._flush is not None:
            self._flush.zero_()
        torch.cuda.synchronize()

    def _go(self, frame: Frame) -> float:
        """Call the model once on each set of inputs; return the events' milliseconds."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.no_grad():
            begin.record()
            results = [self._call(given) for given in self._arguments[: frame.header["calls"]]]
            end.record()
            torch.cuda.synchronize()
        self._results = [tensors.flatten(result)[1] for result in results]
        return float(begin.elapsed_time(end))

    def _call(self, given: list[Any]) -> Any:
        return self._model(*(map(self._widen, given) if self._widen else given))

    def _queue(self, frame: Frame) -> float:
        """Call as `_go` does, all queued behind a wait, so that the milliseconds exclude launch overhead."""
        self._results.clear()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.no_grad():
            torch.cuda._sleep(frame.header["cycles"])
            begin.record()
            # Each result is freed at once: the next call reuses its memory, in the stream's order.
            for given in self._arguments[: frame.header["calls"]]:
                self._model(*given)
            end.record()
            torch.cuda.synchronize()
        return float(begin.elapsed_time(end))

    def _account(self, frame: Frame) -> None:
        """Record the cost of one call: memory beside its inputs, and operations if requested."""
        self._results.clear()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        counting = self._counter() if self._counter and frame.header["count"] else None
        with torch.no_grad(), counting or contextlib.nullcontext():
            self._model(*self._arguments[0])
            torch.cuda.synchronize()
        self._cost_of_a_call = {
            "peak": max(torch.cuda.max_memory_allocated() - before, 0),
            "products": counting.products if counting else 0,
            "others": counting.others if counting else 0,
        }

    def _take(self, frame: Frame) -> None:
        """Gather the requested elements, the same of every call."""
        wanted = json.loads(bytes(frame.body))
        with torch.no_grad(), tensors.torchs_own():
            self._taken = [
                tensors.to_cpu(
                    _stack([_choose_elements(results[i], index) for results in self._results])
                )
                for i, index in enumerate(_indices(self._results, wanted))
            ]

    def _deliver(self) -> None:
        first = self._results[0] if self._results else []
        shapes = [list(_shape_of(leaf)) for leaf in first]
        self._channel.send("taken", tensors=len(self._taken), shapes=shapes)
        for tensor in self._taken:
            tensors.send_tensor(self._channel, tensor)


def _indices(results: Sequence[Sequence[Any]], wanted: Mapping[str, Any]) -> list[torch.Tensor]:
    """Return the requested flat positions in each output, on the output's device."""
    leaves = results[0] if results else []
    return [tensors.to_device(positions(_numel(leaf), wanted), _device_of(leaf)) for leaf in leaves]


def positions(size: int, wanted: Mapping[str, Any]) -> torch.Tensor:
    """Return the flat positions of `blocks`, as int64 on the CPU."""
    starts, length = blocks(size, wanted)
    return _flat(_tensor(starts)[:, None] + _arange(length))


def blocks(size: int, wanted: Mapping[str, Any]) -> tuple[list[int], int]:
    """Return start positions and length of the requested blocks of an output of `size` elements.

    One block up to `wanted["most"]` elements; of more, blocks of `wanted["block"]` at the fractions
    `wanted["parts"]`, where 0 is the first block and 1 the last. A block is never longer than the
    output: a position outside of it is an assertion on the device, which no program survives.
    """
    if size <= wanted["most"]:
        return [0], size
    length = min(int(wanted["block"]), size)
    return [int(part * (size - length)) for part in wanted["parts"]], length


def _choose_elements(leaf: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    chosen: torch.Tensor = _select(_flat(leaf), 0, index)
    return chosen


def empty(spec: Mapping[str, Any]) -> torch.Tensor:
    """Return memory for one input on the GPU, in the task's layout."""
    order = spec["order"] or range(len(spec["shape"]))
    shape = [spec["shape"][dim] for dim in order]
    made = torch.empty(shape, dtype=getattr(torch, spec["dtype"]), device="cuda")
    return made.permute(sorted(range(made.dim()), key=order.__getitem__))


def fill(tensor: torch.Tensor, spec: Mapping[str, Any], seed: int) -> None:
    """Draw new contents in place; the same seed gives the same on any GPU of one kind."""
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed % (1 << 63))
    _draw(tensor, spec, generator)
    structure = spec["structure"]
    if structure == "upper":
        tensor.triu_()
    elif structure == "lower":
        tensor.tril_()
    elif structure == "symmetric":
        tensor.copy_((tensor + tensor.transpose(-1, -2)) / 2)
    elif structure == "simplex":
        tensor.abs_().add_(1e-3)
        tensor.div_(tensor.sum(dim=-1, keepdim=True))
    if spec["step"]:
        tensor.div_(spec["step"]).round_().mul_(spec["step"])
    if spec["filler"] is not None:
        tensor.masked_fill_(_places(tensor, spec, generator), float(spec["filler"]))


def _places(
    tensor: torch.Tensor, spec: Mapping[str, Any], generator: torch.Generator
) -> torch.Tensor:
    """Return a mask of the fillers, as in `grader.judge.inputs`."""
    shape, place = tensor.shape, spec["place"]
    if place == "anywhere":
        return torch.rand(shape, generator=generator, device="cuda") < spec["share"]
    if place == "tail":
        begins = torch.rand((*shape[:-1], 1), generator=generator, device="cuda") * shape[-1]
        return torch.arange(shape[-1], device="cuda").expand(shape) >= begins.clamp(min=1)
    ones = torch.ones(shape, dtype=torch.bool, device="cuda")
    beside = int(place.startswith("strictly"))
    return ones.triu(beside) if place.endswith("upper") else ones.tril(-beside)


def _draw(tensor: torch.Tensor, spec: Mapping[str, Any], generator: torch.Generator) -> None:
    low, high, distribution = spec["low"], spec["high"], spec["distribution"]
    if tensor.is_floating_point() and tensor.itemsize == 1:  # torch draws no 8-bit floats
        wide = torch.empty(tensor.shape, dtype=torch.float32, device=tensor.device)
        _draw(wide, spec, generator)
        tensor.copy_(wide)
    elif distribution in {"range", "ascending", "increasing", "permutation"}:
        _draw_series(tensor, spec, generator)
    elif distribution == "constant":
        tensor.fill_(low)
    elif not tensor.is_floating_point():
        top = max(int(high), int(low) + 1)
        tensor.random_(int(low), 2 if tensor.dtype == torch.bool else top, generator=generator)
    elif distribution in {"uniform", "ramp", "spike"}:
        tensor.uniform_(low, high, generator=generator)
    elif distribution == "signed_uniform":
        tensor.random_(0, 2, generator=generator).mul_(2).sub_(1)
        tensor.mul_(torch.empty_like(tensor).uniform_(low, high, generator=generator))
    elif distribution == "randint":
        tensor.random_(int(low), max(int(high), int(low) + 1), generator=generator)
    else:
        tensor.normal_(low, abs(high) or 1.0, generator=generator)


def _draw_series(tensor: torch.Tensor, spec: Mapping[str, Any], generator: torch.Generator) -> None:
    """Draw sorted integers from `low` to below `high`, or each number from `low` on once, along the last dim."""
    low, high = int(spec["low"]), int(spec["high"])
    drawn = torch.rand(tensor.shape, generator=generator, device="cuda")
    if spec["distribution"] == "range":
        tensor.copy_(torch.arange(low, low + tensor.shape[-1], device="cuda"))
    elif spec["distribution"] == "permutation":
        tensor.copy_(drawn.argsort(-1) + low)
    elif spec["distribution"] == "increasing":
        tensor.copy_(torch.linspace(low, high - 1, tensor.shape[-1], device="cuda").round())
    else:
        tensor.copy_((drawn.sort(-1).values * (high - low)).floor() + low)
        tensor[..., 0], tensor[..., -1] = low, high - 1
