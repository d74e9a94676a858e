"""What is concluded from an audit, and what is not."""

from __future__ import annotations

import pytest

from grader import sandbox
from grader.execution.audit import AuditRow
from grader.execution.describe import examine_reference
from grader.execution.strong_sizes import _mistakes, _settle_choice, _Tried
from grader.judge.candidates import Workloads
from grader.judge.sizes import Chosen
from grader.records import Workload

SWAP = "swapped equal dims: 0, 1 of weight"


def tried(name: str, *rows: AuditRow) -> _Tried:
    nominal = Workload(name=name, role="nominal", inputs=())
    return _Tried(Workloads(Chosen((), {}, (), None), (nominal,), 1), rows)


def test_what_was_not_computed_is_not_caught():
    passes = tried("a", AuditRow(SWAP, passes=("a",), fails=()))
    unknown = tried("b", AuditRow(SWAP, passes=(), fails=(), unknown=("b",)))
    fails = tried("c", AuditRow(SWAP, passes=(), fails=("c",)))
    assert SWAP in unknown.passing
    assert SWAP not in _mistakes([passes, unknown])
    assert [w.name for w in _settle_choice([passes, unknown], 2).workloads] == ["a"]
    assert [w.name for w in _settle_choice([passes, fails], 2).workloads] == ["c"]


@pytest.mark.parametrize(("choices", "weak"), [(1, (SWAP,)), (2, ())])
def test_one_choice_of_sizes_does_not_show_that_nothing_depends_on_it(choices, weak):
    found = _settle_choice([tried("a", AuditRow(SWAP, passes=("a",), fails=()))], choices)
    assert found.undetected == weak
    assert bool(found.unmoved) is not bool(weak)


PRODUCT = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.cumprod(x, dim=1)
batch_size = 32768
length = 32768
def get_inputs():
    return [torch.rand(batch_size, length)]
def get_init_inputs():
    return []
"""


@pytest.mark.slow
def test_a_product_that_vanishes_is_decided_by_values_near_one():
    found = examine_reference(PRODUCT, sandbox.strongest(), sandbox.Limits(wall=60))
    assert not found.weak
    assert any("near one" in workload.name for workload in found.workloads)
