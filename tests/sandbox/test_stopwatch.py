"""A relay between host and guest: it changes nothing, and its clock is not the host's business."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.guest.protocol import PREFIX, Frame, encode
from grader.sandbox import GuestJob, Limits, converse, strongest
from grader.sandbox.channel import HostChannel
from grader.sandbox.form import Guest
from grader.sandbox.relay import Frames
from grader.sandbox.stopwatch import attach

ANSWER = encode(Frame("timed", {"status": "ran", "reason": "", "claimed": 1.0}), 0)


@dataclass
class Stage:
    """A guest that is this test, and its own ends of the pipes."""

    guest: Guest
    orders: int
    answers: int


@pytest.fixture
def stage() -> Iterator[Stage]:
    orders, to_guest = os.pipe()
    from_guest, answers = os.pipe()
    guest = Guest(to_guest, from_guest, -1, "/", {})
    attach(guest)
    made = Stage(guest, orders, answers)
    try:
        yield made
    finally:
        guest.kill()
        guest.close()
        for descriptor in (made.orders, made.answers):
            os.close(descriptor)


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(descriptor, size - len(data))
    return data


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def test_bytes_pass_unchanged_in_both_directions_at_once(stage: Stage) -> None:
    sent = random.Random(1).randbytes(5 << 20)
    writers = [
        threading.Thread(target=_write_all, args=(to, sent))
        for to in (stage.guest.to_guest, stage.answers)
    ]
    for writer in writers:
        writer.start()
    assert _read(stage.orders, len(sent)) == sent
    assert _read(stage.guest.from_guest, len(sent)) == sent
    for writer in writers:
        writer.join()


def test_the_clock_stops_when_the_guest_answers_not_when_the_host_looks(stage: Stage) -> None:
    took = stage.guest.took
    assert took is not None
    os.write(stage.guest.to_guest, b"go")
    assert _read(stage.orders, 2) == b"go"
    assert took() == 0.0  # an answer is still due
    os.write(stage.answers, ANSWER[:-1])
    assert _read(stage.guest.from_guest, len(ANSWER) - 1) == ANSWER[:-1]
    assert took() == 0.0  # an answer that has begun is none
    os.write(stage.answers, ANSWER[-1:])
    while not (first := took()):
        pass
    assert first > 0
    assert _read(stage.guest.from_guest, 1) == ANSWER[-1:]
    assert took() == first


def test_the_end_of_a_guest_shows_through_the_relay(stage: Stage) -> None:
    os.close(stage.answers)
    stage.answers = os.open(os.devnull, os.O_WRONLY)
    assert os.read(stage.guest.from_guest, 1) == b""


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=6),
    cuts=st.lists(st.integers(min_value=1, max_value=70), max_size=30),
)
def test_every_frame_ends_where_its_last_byte_is(bodies: list[bytes], cuts: list[int]) -> None:
    frames = [
        PREFIX.pack(b"KGF1", n, 3, len(body)) + b"abc" + body for n, body in enumerate(bodies)
    ]
    stream, ends = b"".join(frames), set()
    for frame in frames:
        ends.add(max(ends, default=0) + len(frame))
    finder, at = Frames(PREFIX.format), 0
    for cut in [*cuts, len(stream)]:
        piece = stream[at : at + cut]
        assert finder.end_in(memoryview(piece)) == any(at < end <= at + len(piece) for end in ends)
        at += len(piece)


def test_a_guest_is_spoken_to_through_the_relay() -> None:
    taken: list[float] = []

    def then(channel: HostChannel, end: float) -> None:
        taken.append(channel.took)

    code = (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    )
    job = GuestJob(role="reference", code=code, entry="Model", device="cpu")
    reply = converse(job, strongest(), Limits(), timed=True, then=then)
    assert (reply.status, len(taken)) == ("done", 1)
    assert taken[0] > 0
