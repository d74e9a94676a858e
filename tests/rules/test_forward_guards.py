"""A size that forward itself tests is not held against the kernel."""

from __future__ import annotations

import pytest

from grader.source import parse
from grader.source.analysis.host_code import is_guarded

MODEL = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        n = x.shape[-1]
        p = 0.5
        {test}
        return ext.run(x)
"""


def _source(test: str) -> str:
    return MODEL.format(test=test)


@pytest.mark.parametrize(
    "test",
    [
        "assert n % 4 == 0",
        "if (x.size(1) & 3) or (x.data_ptr() & 15): return torch.relu(x)",
        "x = torch.relu(x) if x.shape[1] % 32 else x",
    ],
)
def test_a_test_of_the_remainder_is_seen(test: str) -> None:
    assert is_guarded(parse(_source(test)))


@pytest.mark.parametrize(
    ("test", "seen"),
    [
        ("assert x.numel() <= 1024", True),
        ("if n > 48 * 1024 // 4: return torch.relu(x)", True),
        ("if n > 0: x = x + 1", False),
        ("if p > 0.3: x = x + 1", False),
        ("assert x.dim() == 2", False),
    ],
)
def test_only_comparisons_of_sizes_with_numbers_count(test: str, seen: bool) -> None:
    assert is_guarded(parse(_source(test))) is seen
