"""Host code under changes: what is proposed, and that a guest runs it and gets its own back."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest

from grader.guest.host_text import HostText
from grader.guest.program import MODULE, execute
from grader.records.changes import OtherHostCode
from grader.simulator.changes import Change
from grader.simulator.changes.host import host_changes

CODE = """
import torch
import triton
import triton.language as tl

LIMIT = 240.0

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr, tl.load(x_ptr) * 2.0)

class Both(torch.autograd.Function):
    @staticmethod
    def backward(ctx, up):
        a, b = ctx.saved_tensors
        return b * up, a * up

class ModelNew(torch.nn.Module):
    def __init__(self):
        self.n = 5

    def forward(self, x):
        y = torch.zeros(4, 5, device=x.device)
        kernel[(1,)](x.movedim(1, -1), y, x.numel(), BLOCK=64)
        y = y.repeat(1, 3) - LIMIT
        rows, columns = x.shape
        y = y.view(self.n, columns)[: self.rows]
        return torch.clamp(y.mean() + 1.0, min=0.0)
"""


def changes(reference: str = "") -> list[Change]:
    return list(host_changes(CODE, reference))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("b * up, a * up", "a * up, b * up"),
        ("torch.zeros(4, 5, device=x.device)", 'torch.full((4, 5), float("-inf"), device=x.device)'),
        ("x.movedim(1, -1)", "x"),
        ("x.numel()", "x.shape[0]"),
        ("torch.clamp(y.mean() + 1.0, min=0.0)", "y.mean() + 1.0"),
        ("y.repeat(1, 3)", "y.repeat_interleave(3, dim=1)"),
        ("y.repeat(1, 3) - LIMIT", "(y.repeat(1, 3) - LIMIT).contiguous()"),
        ("torch.clamp(y.mean() + 1.0, min=0.0)", "torch.clamp(y + 1.0, min=0.0).mean()"),
        ("torch.clamp(y.mean() + 1.0, min=0.0)", "torch.clamp(y.mean() + 1.0, min=0.0) / x.shape[0]"),
        ("self.rows", "self.n"),
        ("columns", "rows"),
        ("240.0", "448.0"),
    ],
)  # fmt: skip
def test_what_host_code_could_say(before: str, after: str) -> None:
    other = OtherHostCode((before,), (after,))
    found = [one for one in changes("clamp(x, 448.0)") if one.changed == other]
    assert [CODE.splitlines()[one.line - 1].count(before.splitlines()[0]) for one in found] == [1]


def test_kernels_and_what_they_are_compiled_for_stay() -> None:
    lines = {CODE.splitlines()[one.line - 1].strip() for one in changes()}
    assert "tl.store(y_ptr, tl.load(x_ptr) * 2.0)" not in lines
    assert not any(one.changed.before == ("64",) for one in changes())


CONSTRUCTOR = """
import math
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, width, heads, window, stride=None):
        super().__init__()
        self.proj = nn.Linear(width, 2 * width)
        self.turned = nn.Parameter(self.proj.weight.data.reshape(width, 2 * width))
        self.eps = 1e-3
        self.stride = window
        self.scale = 1.0 / math.sqrt(width)

    def forward(self, x):
        return run(x, 0.25)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("width", "width // heads"),
        ("window", "stride if stride is not None else window"),
        ("1e-3", "1e-05"),
        ("self.proj.weight.data.reshape(width, 2 * width)", "self.proj.weight.data.t().contiguous()"),
    ],
)  # fmt: skip
def test_what_a_constructor_could_keep(before: str, after: str) -> None:
    found = [one for one in host_changes(CONSTRUCTOR, "") if (one.changed.before, one.changed.after) == ((before,), (after,))]  # fmt: skip
    assert found
    assert all(one.text is not None and one.text.constructs for one in found)


def test_a_number_of_forward_could_be_one_that_the_layer_keeps() -> None:
    (kept,) = (one for one in host_changes(CONSTRUCTOR, "") if (one.changed.before, one.changed.after) == (("0.25",), ("self.scale",)))  # fmt: skip
    assert kept.text is not None
    assert not kept.text.constructs


def test_a_constructor_s_numbers_have_no_steps_of_tensors() -> None:
    made = {
        one.changed.after[0]
        for one in host_changes(CONSTRUCTOR, "")
        if one.changed.before == ("window",)
    }
    assert "2 * window" in made
    assert not any("transpose" in one or "contiguous" in one for one in made)


RUN = """
LIMIT = 2.0

def scaled(x):
    return x * LIMIT

class Model:
    def forward(self, x):
        return scaled(x) + 1.0
"""


def test_a_guest_runs_a_change_and_takes_it_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULE, sys)  # put back afterwards
    module = execute(RUN.replace("Model", "ModelNew"), tmp_path)
    results, host = set(), HostText()
    for one in host_changes(RUN.replace("Model", "ModelNew"), "448.0"):
        assert one.text is not None
        asked = {"statement": 0, "start": one.text.start, "end": one.text.end, "after": one.text.after}  # fmt: skip
        with suppress(AttributeError, NameError), host.edited_statement([one.text.whole], asked):
            results.add((*one.changed.before, *one.changed.after, module.ModelNew().forward(3.0)))
        assert module.ModelNew().forward(3.0) == 7.0
    assert {("2.0", "448.0", 1345.0), ("x * LIMIT", "x / LIMIT", 2.5)} <= results
    assert ("scaled(x) + 1.0", "1 / (scaled(x) + 1.0)", 1 / 7.0) in results


def test_alike_places_are_changed_together_and_apart() -> None:
    code = """
def run(k, v, g):
    k = k.repeat(1, g, 1)
    v = v.repeat(1, g, 1)
    return attend(k, v)
"""
    (both,) = (
        one for one in host_changes(code, "") if one.also and "interleave" in one.changed.after[0]
    )
    assert (both.line, both.also, both.changed.before) == (3, (4,), ("k.repeat(1, g, 1)",))
    assert both.text is not None
    assert [text for _, _, text in both.text.edits] == [
        "k.repeat_interleave(g, dim=1)",
        "v.repeat_interleave(g, dim=1)",
    ]
    assert both.text.after.splitlines()[1].strip() == "v = v.repeat_interleave(g, dim=1)"
