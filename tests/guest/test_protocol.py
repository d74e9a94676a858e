"""Frames: what goes in comes out, and whatever else goes in is a ProtocolError."""

from __future__ import annotations

import json
import os
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.guest.kinds import ITEM_SIZES, KINDS, is_file_name
from grader.guest.protocol import MAGIC, PREFIX, Channel, Decoder, Frame, ProtocolError, encode


def tensor(shape: list[int], body: bytes, dtype: str = "float32") -> Frame:
    return Frame("tensor", {"dtype": dtype, "shape": shape, "strides": [1] * len(shape)}, body)


def wire(*frames: Frame) -> bytes:
    return b"".join(encode(frame, i) + bytes(frame.body) for i, frame in enumerate(frames))


def raw(header: bytes, body: bytes = b"", sequence: int = 0, magic: bytes = MAGIC) -> bytes:
    return PREFIX.pack(magic, sequence, len(header), len(body)) + header + body


GOOD = (
    Frame("hello", {"python": "3.12.1"}),
    Frame("stage", {"stage": "import"}),
    Frame("ready", {"loaded": "2 by name and shape", "state": ["weight", "bias"]}),
    tensor([2, 3], b"\0" * 24),
    Frame(
        "result",
        {
            "status": "ran",
            "reason": "",
            "traceback": "",
            "line": None,
            "structure": "tensor",
            "outputs": 1,
            "mutated": [0],
        },
        b'{"operators": {}}',
    ),
    Frame("file", {"name": "k/k.so", "executable": True, "modified": 5}, b"\x7fELF"),
    Frame("done"),
)


def test_frames_survive_any_cutting_of_the_stream() -> None:
    stream = wire(*GOOD)
    for size in (1, 7, 64, len(stream)):
        decoder = Decoder()
        frames = [
            f for i in range(0, len(stream), size) for f in decoder.feed(stream[i : i + size])
        ]
        assert frames == list(GOOD)


@given(st.lists(st.sampled_from(GOOD), max_size=8), st.integers(1, 99))
def test_any_series_of_good_frames_comes_out_as_it_went_in(frames: list[Frame], size: int) -> None:
    stream, decoder = wire(*frames), Decoder()
    cut = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert [frame for part in cut for frame in decoder.feed(part)] == frames


@pytest.mark.parametrize(
    "stream",
    [
        raw(b"{}"),
        raw(b"[]"),
        raw(b'{"kind": "nothing"}'),
        raw(b'{"kind": ["done"]}'),
        raw(b'{"kind": "done", "kind": "done"}'),
        raw(b'{"kind": "done", "extra": 1}'),
        raw(b'{"kind": "stage"}'),
        raw(b'{"kind": "stage", "stage": "exit"}'),
        raw(b'{"kind": "stage", "stage": NaN}'),
        raw(b'{"kind": "done"}', b"body"),
        raw(b'{"kind": "done"}', sequence=1),
        raw(b'{"kind": "done"}', magic=b"KGF0"),
        raw(b"[" * 60_000),
        raw(b'{"kind": "hello", "python": "' + b"9" * 60_000 + b'"}'),
        raw(
            b'{"kind": "tensor", "dtype": "float32", "shape": ['
            + b"9" * 5000
            + b'], "strides": [1]}'
        ),
        raw(b"\xff\xfe"),
        PREFIX.pack(MAGIC, 0, 1 << 31, 0),
        raw(json.dumps({"kind": "result"}).encode())[:-3] + b"\0\0\0",
        wire(GOOD[0]) * 2,
    ],
)
def test_what_is_no_frame_is_refused(stream: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Decoder().feed(stream))


@pytest.mark.parametrize(
    ("shape", "strides", "size", "dtype"),
    [
        ([-1], [1], 4, "float32"),
        ([2], [1], 4, "float32"),
        ([2], [], 8, "float32"),
        ([2], [1, 1], 8, "float32"),
        ([1 << 40, 1 << 40], [1, 1], 8, "float32"),
        ([1 << 40, 1 << 40, 0], [1, 1, 1], 0, "float32"),
        ([2.0], [1], 8, "float32"),
        ([True], [1], 4, "float32"),
        ([1] * 17, [1] * 17, 4, "float32"),
        ([1], [1 << 60], 4, "float32"),
        ([1], [1], 8, "object"),
        ([1], [1], 8, "O"),
    ],
)
def test_tensors_must_be_what_their_headers_say(
    shape: list[object], strides: list[int], size: int, dtype: str
) -> None:
    header = {"kind": "tensor", "dtype": dtype, "shape": shape, "strides": strides}
    with pytest.raises(ProtocolError):
        list(Decoder().feed(raw(json.dumps(header).encode(), b"\0" * size)))


def test_a_bad_header_is_refused_before_its_body_has_come() -> None:
    header = b'{"kind": "done"}'
    with pytest.raises(ProtocolError):
        list(Decoder().feed(PREFIX.pack(MAGIC, 0, len(header), 1 << 40) + header))


def test_the_limit_holds_for_all_frames_together() -> None:
    frames = [tensor([256], b"\0" * 1024)] * 4
    with pytest.raises(ProtocolError, match="allowed in all"):
        list(Decoder(limit=3500).feed(wire(*frames)))


def mutate(stream: bytes, chance: random.Random) -> bytes:
    """Damage a stream in one of the ways that an attacker or a bug would."""
    data = bytearray(stream)
    way = chance.randrange(7)
    at = chance.randrange(len(data))
    if way == 0:
        data[at] = chance.randrange(256)
    elif way == 1:
        del data[at:]
    elif way == 2:
        del data[at : at + chance.randrange(1, 30)]
    elif way == 3:
        data[at:at] = chance.randbytes(chance.randrange(1, 30))
    elif way == 4:
        data[at:at] = data[max(0, at - 40) : at]
    elif way == 5:
        number = chance.choice([b"-1", b"1e999", b"NaN", b"99999999999999999999", b"[]", b"null"])
        position = data.find(b": ", at)
        data[position + 2 : position + 3] = number
    else:
        offset = chance.choice([4, 8, 12, 16])
        data[offset : offset + 4] = chance.choice([b"\xff" * 4, b"\0" * 4, chance.randbytes(4)])
    return bytes(data)


def test_a_hundred_thousand_malformed_streams_never_raise_anything_else() -> None:
    chance = random.Random(20261121)
    refused = 0
    for _ in range(100_000):
        stream = mutate(wire(*chance.sample(GOOD, 2)), chance)
        decoder = Decoder(limit=1 << 20)
        try:
            for frame in decoder.feed(stream):
                assert frame.header.keys() == KINDS[frame.kind].keys()
                if frame.kind == "tensor":
                    assert len(frame.body) % ITEM_SIZES[frame.header["dtype"]] == 0
        except ProtocolError:
            refused += 1
    # The others were cut off at a frame's end, or changed only in a text or in raw bytes.
    assert refused > 40_000


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_noise_never_raises_anything_else(noise: bytes) -> None:
    for stream in (noise, MAGIC + noise, raw(noise)):
        try:
            list(Decoder().feed(stream))
        except ProtocolError:
            continue


@given(st.text(max_size=80))
def test_a_file_name_never_leaves_its_folder(name: str) -> None:
    if is_file_name(name):
        assert os.path.normpath(f"/base/{name}") == f"/base/{name}"
        assert not name.startswith("/")
        assert "\0" not in name


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", ".", "..", ".bashrc", "a\nb", "a/", "x" * 600],
)
def test_hostile_file_names_are_none(name: str) -> None:
    assert not is_file_name(name)


@pytest.mark.parametrize(
    "name", ["k.so", "k/main.cpp", "k/.ninja_log", "k/cuda.cuda.o", "_a/b-c+d.o"]
)
def test_names_that_a_build_makes_are_fine(name: str) -> None:
    assert is_file_name(name)


def test_the_guests_end_speaks_the_same_language() -> None:
    reader, writer = os.pipe()
    received = []

    def read() -> None:
        channel = Channel(reader, -1)
        received.extend(channel.receive(*KINDS) for _ in GOOD)

    thread = threading.Thread(target=read)
    thread.start()
    channel = Channel(-1, writer)
    for frame in GOOD:
        channel.send(frame.kind, frame.body, **frame.header)
    thread.join()
    os.close(writer)
    assert received == list(GOOD)
    with pytest.raises(ProtocolError, match="closed"):
        Channel(reader, -1).receive("done")
    os.close(reader)
