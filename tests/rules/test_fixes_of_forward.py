"""What rules propose around a kernel: what `forward` hands over and gives back, weights, names that Python lacks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import (
    Context,
    DtypeMismatch,
    Evidence,
    ShapeMismatch,
    Task,
    TensorSpec,
    Workload,
)
from grader.repair.fixes.result_form import suffixes
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes, review_with_fixes

from .fixed import PLAIN, program, seen
from .fixed import fixes as fixes_of


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (ShapeMismatch(got=(16,), want=(16, 1)), "return ops.run(x).unsqueeze(-1)"),
        (ShapeMismatch(got=(1,), want=()), "return ops.run(x).squeeze(0)"),
        (DtypeMismatch(got="float64", want="float32"), "return ops.run(x).to(torch.float32)"),
    ],
)
def test_the_result_gets_the_form_that_was_expected(
    form: ShapeMismatch | DtypeMismatch, line: str
) -> None:
    code = form.kind.removesuffix("-mismatch")
    context = seen("mismatch", "another form", code, details=form)
    ways = fixes_of("EXT005", program(PLAIN), context)
    assert any(line in lines for lines in ways)


@settings(deadline=None)
@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_a_change_of_shape_fits_every_workload(sizes: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(sizes)))
    pairs = [(tuple(s), (*s[:k], 1, *s[k:])) for s in (sizes, [n + 1 for n in sizes])]
    assert suffixes(pairs)
    assert suffixes([(want, got) for got, want in pairs]) == [f".squeeze({k})"]
    assert not suffixes([*pairs, (tuple(sizes), (*sizes, 7))])


def test_how_many_results_there_are_is_said_where_forward_returns_them() -> None:
    code = program(PLAIN).replace("return ops.run(x)", "return ops.run(x), x")
    context = seen("mismatch", "2 tensors returned, 1 expected", "count")
    [found] = review_with_fixes(parse(code), context, select=("EXT005",))
    assert found.place is not None
    assert "return ops.run(x), x" in code.splitlines()[found.place.line - 1]


TWO = (
    program(PLAIN).replace("forward(self, x)", "forward(self, x, y)").replace("run(x)", "run(x, y)")
)


def test_matrices_of_the_wrong_shape_are_handed_over_transposed() -> None:
    form = ShapeMismatch(got=(256, 256), want=(64, 128))
    ways = fixes_of("EXT005", TWO, seen("mismatch", "another shape", "shape", details=form))
    turned = {"x = x.t().contiguous()", "y = y.t().contiguous()"}
    assert [lines & turned for lines in ways] == [turned, *({one} for one in sorted(turned))]


def test_inputs_of_other_shapes_are_broadcast_where_reads_go_past_the_end() -> None:
    inputs = tuple(TensorSpec(shape=shape) for shape in ((64, 32), (32,)))
    work = Workload(name="w", role="nominal", inputs=inputs)
    task = Task(name="t", title="t", source="file", reference="", workloads=(work,))
    item = Evidence(kind="simulator", code="oob", text="thread 40 reads y[40], past its end")
    (lines,) = fixes_of("MEM011", TWO, Context(evidence=(item,), task=task, device="sim"))
    assert "x, y = (t.contiguous() for t in torch.broadcast_tensors(x, y))" in lines


OWN = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i, k))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.kaiming_uniform_(self.weight)

    def forward(self, x):
        return ext.conv(x, self.weight, self.bias)
"""


def test_weights_are_those_that_the_references_layer_draws() -> None:
    reference = """
class Model(nn.Module):
    def __init__(self, channels, out, size):
        super().__init__()
        self.conv = nn.Conv1d(channels, out, size, stride=1)
    def forward(self, x):
        return self.conv(x)
"""
    item = Evidence(kind="probe", code="own-weights", text="weight differs")
    task = Task(name="t", title="t", source="file", reference=reference, workloads=())
    lines, _ = fixes_of("NUM006", OWN, Context(evidence=(item,), task=task))
    assert {"conv = nn.Conv1d(i, o, k, stride=1)", "self.weight = conv.weight"} <= lines
    assert "self.bias = conv.bias" in lines
    assert not any(re.search(r"randn|init\.", line) for line in lines)


REFERENCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.bn = torch.nn.BatchNorm2d(num_features, eps)
    def forward(self, x):
        return self.bn(x)
"""


CALLS = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ops = load_inline(name="ops", functions=["run"], cuda_sources="",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor weight, double eps);")
class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)
    def forward(self, x):
        flat = x.flatten(1)
        return ops.run(flat, self.bn.weight, self.bn.eps)
"""


@pytest.mark.parametrize(
    ("rule", "old", "new", "fixed"),
    [
        ("API004", "flat, self.bn.weight, self.bn.eps", "flat, self.bn.weight", None),
        ("API004", "flat, self.bn.weight, self.bn.eps", "", None),
        ("API004", "flat, self.bn.weight, self.bn.eps", "flat", None),
        ("EXT003", "num_features, eps=", "eps=", None),
        ("EXT003", "x.flatten(1)", "x.to(device).flatten(1)", None),
        ("EXT003", "run(flat,", "run(flatt,", None),
        ("EXT007", "self.bn = ", "self.norm = ", CALLS.replace("self.bn", "self.norm")),
        (
            "NUM006",
            "    def forward",
            "        nn.init.normal_(self.bn.weight)\n    def forward",
            None,
        ),
    ],
)
def test_names_and_arguments_that_python_lacks(
    rule: str, old: str, new: str, fixed: str | None
) -> None:
    code = CALLS.replace(old, new)
    task = Task(name="t", title="t", source="file", reference=REFERENCE, workloads=())
    findings = detected_with_fixes(rule, parse(code), Context(task=task))
    fixes = [fix for finding in findings for fix in finding.fixes]
    assert (fixed or CALLS) in [apply(code, fix.edits) for fix in fixes]


NORM = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ops = load_inline(name="ops", functions=["run"], cuda_sources="",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);")
class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels)
    def forward(self, x):
        return ops.run(x, self.norm.weight, self.norm.bias)
"""
