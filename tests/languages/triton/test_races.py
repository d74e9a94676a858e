"""What races in Triton: programs with each other, and the warps of one in global memory; of shared memory the compiler takes care."""

from __future__ import annotations

from tests.languages.triton.conftest import Graded

IN_PLACE = """import torch
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(y_ptr, n, BLOCK: tl.constexpr):
    row = y_ptr + tl.program_id(0) * n
    top = -float("inf")
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(row + offsets, mask=offsets < n, other=-float("inf"))
        top = tl.maximum(top, tl.max(x, 0))
    total = 0.0
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.exp(tl.load(row + offsets, mask=offsets < n, other=-float("inf")) - top)
        tl.store(row + offsets, x, mask=offsets < n)
        total += tl.sum(x, 0)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(row + offsets, mask=offsets < n)
        tl.store(row + offsets, x / total, mask=offsets < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        n = y.shape[-1]
        softmax_kernel[(y.numel() // n,)](y, n, BLOCK=64)
        return y
"""
"""With blocks of fewer elements than threads: some threads repeat what others do."""
SUMS = """import torch
import triton
import triton.language as tl

@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    part = tl.sum(x, 0) / n
    ADD

class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        difference = ((predictions - targets) ** 2).reshape(-1)
        out = torch.zeros((), device=difference.device)
        n = difference.numel()
        sum_kernel[(triton.cdiv(n, 256),)](difference, out, n, BLOCK=256)
        return out
"""

SCRATCH = """import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x_ptr, scratch_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(scratch_ptr + offsets, tl.maximum(x, 0.0), mask=offsets < n)
    last = tl.minimum(start + BLOCK, n) - 1
    y = tl.load(scratch_ptr + start + last - offsets, mask=offsets < n)
    tl.store(y_ptr + start + last - offsets, y, mask=offsets < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.numel()
        y = torch.empty_like(x)
        relu_kernel[(triton.cdiv(n, 1024),)](x, torch.empty_like(x), y, n, BLOCK=1024)
        return y
"""


def test_a_program_that_writes_in_place_what_it_has_read_is_correct(graded: Graded) -> None:
    found = graded(IN_PLACE, "softmax")
    assert found.verdict.status == "correct"
    evidence = [item.code for run in found.evaluation.runs for item in run.evidence]
    assert not any("race" in code for code in evidence)


def test_programs_that_add_without_atomics_race_at_that_line(graded: Graded) -> None:
    line = "tl.store(out_ptr, tl.load(out_ptr) + part)"
    found = graded(SUMS.replace("ADD", line), "mse_loss")
    assert found.verdict.status in {"unsound", "incorrect"}
    places = [
        item.place.excerpt
        for run in found.evaluation.runs
        for item in run.evidence
        if item.code == "global-race" and item.place
    ]
    assert line in places


def test_atomics_do_not(graded: Graded) -> None:
    found = graded(SUMS.replace("ADD", "tl.atomic_add(out_ptr, part)"), "mse_loss")
    assert found.verdict.status == "correct"


def test_warps_of_a_program_race_in_global_memory_where_no_barrier_is_between(
    graded: Graded,
) -> None:
    found = graded(SCRATCH)
    assert found.verdict.status == "unsound"
    (finding,) = (one for one in found.findings if one.severity == "error")
    assert finding.rule == "SYN002"
    assert finding.place is not None
    assert finding.place.excerpt.startswith("y = tl.load(scratch_ptr")
    assert finding.fixes[0].label == "let the program's warps meet"


def test_with_a_barrier_they_do_not(graded: Graded) -> None:
    met = SCRATCH.replace("    y = tl.load", "    tl.debug_barrier()\n    y = tl.load")
    assert graded(met).verdict.status == "correct"
