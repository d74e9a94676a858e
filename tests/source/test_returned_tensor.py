"""Where the tensor that `forward` returns is made, and what its lengths are written as."""

from __future__ import annotations

import ast

from grader.records import Context, DtypeMismatch, Evidence, ShapeMismatch
from grader.repair.fixes.result_form import FIX
from grader.rules.contract.output_shape_or_device_mismatch import RULE
from grader.source import parse
from grader.source.analysis.returned_tensor import allocation_of_result, length_written
from grader.source.edits import apply

CODE = """
import torch
import torch.nn as nn

def pool(x, k, stride, dilation):
    B, L = x.shape
    L_out = (L - k) // stride + 1
    y = torch.empty((B, L_out), device=x.device)
    run(x, y)
    return y.contiguous()

class Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return pool(x, 3, 1, 2)

class ModelNew(nn.Module):
    def forward(self, x):
        return Pool.apply(x)
"""


def seen(form: ShapeMismatch | DtypeMismatch, code: str) -> Context:
    return Context(evidence=(Evidence(kind="mismatch", code=code, text="m", details=form),))


def test_the_allocation_behind_calls_is_found_and_a_length_s_own_line() -> None:
    code = parse(CODE).module
    made = allocation_of_result(code)
    assert made is not None
    assert ast.unparse(made).startswith("torch.empty((B, L_out)")
    length = length_written(code, made, 1, 2)
    assert length is not None
    assert ast.unparse(length) == "(L - k) // stride + 1"


def test_a_wrong_length_is_named_where_it_is_computed_and_corrected_there() -> None:
    source = parse(CODE)
    context = seen(ShapeMismatch(got=(2, 9), want=(2, 8)), "shape")
    (finding,) = RULE.check(source, context)
    assert finding.place is not None
    assert finding.place.line == 7
    texts = [apply(CODE, one.edits) for one in FIX.propose(finding, source, context)]
    assert any("L_out = (L - k) // stride + 1 - 1\n" in text for text in texts)


def test_another_dtype_is_asked_for_where_the_tensor_is_made() -> None:
    source = parse(CODE)
    context = seen(DtypeMismatch(got="float32", want="float16"), "dtype")
    (finding,) = RULE.check(source, context)
    assert finding.place is not None
    assert finding.place.line == 8
    first = next(iter(FIX.propose(finding, source, context)))
    assert "device=x.device, dtype=torch.float16)" in apply(CODE, first.edits)
