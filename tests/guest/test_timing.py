"""What a timed guest hands over, on tensors of the CPU: torch's own values, whatever was patched."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.devices.cuda.timing_worker import UNSEEN
from grader.guest import timing
from grader.guest.protocol import Frame


class Sent:
    """A channel that keeps what goes out."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, dict[str, Any], bytes]] = []

    def send(self, kind: str, body: bytes = b"", **header: Any) -> None:
        self.frames.append((kind, header, body))


def taken(results: list[list[Any]], **wanted: Any) -> list[np.ndarray]:
    """What the host gets of these results, one list for each call."""
    sent = Sent()
    batches = timing.Batches(sent, None, None)  # type: ignore[arg-type]
    batches._results = results
    batches._take(Frame("take", {}, json.dumps(wanted).encode()))
    batches._deliver()
    return [
        np.frombuffer(body, np.float32).reshape(header["shape"])
        for kind, header, body in sent.frames
        if kind == "tensor"
    ]


@given(size=st.integers(1, 300), calls=st.integers(1, 3), most=st.integers(1, 400))
def test_the_elements_that_were_asked_for(size: int, calls: int, most: int) -> None:
    results = [[torch.arange(size, dtype=torch.float32) + 1000 * call] for call in range(calls)]
    block = min(size, 4)
    (got,) = taken(results, most=most, block=block, parts=[0.0, 1.0])
    chosen = list(range(size)) if size <= most else [*range(block), *range(size - block, size)]
    assert got.tolist() == [[float(k + 1000 * call) for k in chosen] for call in range(calls)]


@given(
    size=st.integers(0, 1 << 40),
    most=st.integers(1, 100),
    block=st.integers(1, 100),
    parts=st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_no_position_is_outside_of_an_output(
    size: int, most: int, block: int, parts: list[float]
) -> None:
    found = timing.positions(size, {"most": most, "block": block, "parts": parts})
    assert ((found >= 0) & (found < size)).all()
    assert len(found) == (size if size <= most else min(block, size) * len(parts))


@pytest.mark.parametrize("size", [1, 2, 16, 63, 64, 65])
def test_a_small_result_that_nobody_compares(size: int) -> None:
    """What the first call hands over, in whose blocks a result of few elements has no room."""
    (got,) = taken([[torch.arange(size, dtype=torch.float32)]], **UNSEEN)
    assert set(got[0].tolist()) <= set(range(size))


class Late(torch.Tensor):
    """A result that computes when somebody looks at it."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.full((4,), 7.0)


def test_a_result_can_not_compute_itself_when_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    late = torch.zeros(4).as_subclass(Late)
    for name in ("cpu", "reshape", "flatten", "index_select", "contiguous"):
        monkeypatch.setattr(torch.Tensor, name, lambda *_, **__: torch.full((4,), 7.0))
    monkeypatch.setattr(torch, "stack", lambda *_, **__: torch.full((1, 4), 7.0))
    (got,) = taken([[late]], most=100, block=4, parts=[0.0, 1.0])
    assert got.tolist() == [[0.0] * 4]
