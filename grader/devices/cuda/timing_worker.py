"""The timing worker: a guest that runs batches on request, with the clock on the host."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from grader.guest.protocol import Frame
from grader.records import JsonValue
from grader.sandbox import Form, GuestJob, GuestReply, Limits, converse
from grader.sandbox.arrays import from_frame
from grader.sandbox.channel import HostChannel

if TYPE_CHECKING:
    import numpy as np

PATIENCE = 60.0
"""Time limit of one request in seconds."""
UNSEEN: Mapping[str, JsonValue] = {"most": 1, "block": 64, "parts": [0.0, 1.0]}
"""Elements to fetch of results that aren't compared: as few as possible."""
CYCLES = 2e9
"""Approximate clock cycles of a current GPU in a second."""

Order = Callable[[HostChannel, float], object]


class WorkerGoneError(Exception):
    """The guest has ended, or could not serve a request; the text says why."""

    def __init__(self, reason: str, how: str = "raised", who: str = "") -> None:
        super().__init__(reason)
        self.how = how
        """A reply's status, or `out_of_memory`."""
        self.who = who
        """The guest's name."""


@dataclass(frozen=True)
class Cost:
    """Cost of one call of a program, as its guest reports."""

    peak: int
    """Bytes of torch's allocator beside the inputs."""
    products: int
    """Floating-point operations of products and convolutions; 0 unless counted."""
    others: int


@dataclass(frozen=True)
class Batch:
    """One timed batch; seconds by the host's clock."""

    seconds: float
    """Seconds from the request to the answer that all is done."""
    claimed: float
    """Seconds by the guest's events."""
    preparing: float
    """Seconds to make the inputs."""
    answering: float
    """Seconds to fetch the chosen elements."""
    outputs: tuple[np.ndarray, ...]
    """The chosen elements of each output, one row for each call."""
    shapes: tuple[tuple[int, ...], ...]

    def of_call(self, call: int) -> Batch:
        """Return one call's result, as the outputs of a batch of one."""
        return replace(self, outputs=tuple(array[call : call + 1] for array in self.outputs))


class TimingWorker:
    """One guest, served by its own thread, which takes requests until it is closed."""

    def __init__(self, job: GuestJob, form: Form, limits: Limits, who: str = "") -> None:
        self._who = who
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._reply: GuestReply | None = None
        self._thread = threading.Thread(target=self._live, args=(job, form, limits), daemon=True)
        self._open = False
        self._ready = False
        self._thread.start()

    def _live(self, job: GuestJob, form: Form, limits: Limits) -> None:
        self._reply = converse(job, form, limits, timed=True, then=self._attend)
        self._answers.put(self._reply)

    def _attend(self, channel: HostChannel, end: float) -> None:
        self._answers.put("ready")
        while (order := self._orders.get()) is not None:
            try:
                answer: object = order(channel, min(end, time.monotonic() + PATIENCE))
            except WorkerGoneError as error:
                answer = error
            self._answers.put(answer)
        if self._open:
            channel.send(Frame("untime"))

    def _answer(self) -> Any:
        answer = self._answers.get()
        if isinstance(answer, GuestReply):
            how = "out_of_memory" if answer.out_of_memory else answer.status
            raise WorkerGoneError(answer.reason, how, self._who)
        if isinstance(answer, WorkerGoneError):
            answer.who = self._who
            raise answer
        return answer

    def ready(self) -> None:
        """Wait until the guest has constructed its model; guests start in parallel.

        Raises:
            WorkerGoneError: it could not.

        """
        if not self._ready:
            self._answer()
            self._ready = True

    def _ask(self, order: Order) -> Any:
        self.ready()
        if self._reply is not None:
            raise WorkerGoneError(self._reply.reason, self._reply.status, self._who)
        self._orders.put(order)
        return self._answer()

    def close(self) -> GuestReply | None:
        """End the guest."""
        self._orders.put(None)
        self._thread.join(PATIENCE)
        return self._reply

    def prepare(self, arguments: Sequence[JsonValue], calls: int) -> None:
        """Allocate buffers for batches of this number of calls.

        Raises:
            WorkerGoneError: it can't, e.g. for lack of memory.

        """
        frame = Frame("time", {"calls": calls}, json.dumps(list(arguments)).encode())
        self._open = True
        self._ask(lambda channel, end: _do_order(channel, end, frame))

    def overhead(self) -> float:
        """Return the seconds of an empty request."""
        return float(
            self._ask(lambda channel, end: _do_order(channel, end, Frame("go", {"calls": 0}))[0])
        )

    def queued_seconds(self, calls: int, seconds: float) -> float:
        """Return the seconds a call that the guest's events claim with the launches queued ahead.

        The calls wait on the GPU while they are launched, for about `seconds`.
        """
        cycles = int(min(seconds, 1.0) * CYCLES)
        frame = Frame("queue", {"calls": calls, "cycles": cycles})
        return (
            float(self._ask(lambda channel, end: _do_order(channel, end, frame)[1])) / 1e3 / calls
        )

    def cost(self, *, count: bool) -> Cost:
        """Return the cost of one call; operations only if requested."""
        frame = Frame("cost", {"count": count})

        def ask(channel: HostChannel, end: float) -> Cost:
            _do_order(channel, end, frame)
            return Cost(**channel.receive(end, "accounted").header)

        answer = self._ask(ask)
        assert isinstance(answer, Cost)
        return answer

    def play(self, calls: int, seed: int, wanted: Mapping[str, JsonValue]) -> Batch:
        """Run one batch: new inputs, the calls, and then the requested elements.

        Raises:
            WorkerGoneError: the program failed, or its process ended.

        """
        filling = Frame("fill", {"seed": seed})
        going = Frame("go", {"calls": calls})
        taking = Frame("take", {}, json.dumps(dict(wanted)).encode())

        def batch(channel: HostChannel, end: float) -> Batch:
            preparing, _ = _do_order(channel, end, filling)
            seconds, claimed = _do_order(channel, end, going)
            answering, _ = _do_order(channel, end, taking)
            header = channel.receive(end, "taken").header
            frames = [channel.receive(end, "tensor") for _ in range(header["tensors"])]
            return Batch(
                seconds,
                claimed / 1e3,
                preparing,
                answering,
                tuple(from_frame(frame) for frame in frames),
                tuple(tuple(shape) for shape in header["shapes"]),
            )

        answer = self._ask(batch)
        assert isinstance(answer, Batch)
        return answer


def _do_order(channel: HostChannel, end: float, frame: Frame) -> tuple[float, float]:
    """Send one request; return the seconds by our clock until the answer, and the answer's claims."""
    channel.send(frame)
    channel.flush(end)
    answer = channel.receive(end, "timed")
    seconds = channel.took
    if answer.header["status"] != "ran":
        raise WorkerGoneError(answer.header["reason"], answer.header["status"])
    return seconds, float(answer.header["claimed"])
