"""Changes of what `forward` returns: one of several results, and shapes that hold the same values."""

from __future__ import annotations

import pytest

from grader.records import ContainerMismatch, Context, CountMismatch, Evidence, FormMismatch
from grader.repair.fixes.result_form import result_in_form, suffixes
from grader.rules import all_rules
from grader.rules.rule import Example
from grader.source import parse
from grader.source.edits import apply
from grader.source.python_code import python_code
from tests.rules.reviews import detected_with_fixes, review_with_fixes

MODEL = """
from torch import nn
class ModelNew(nn.Module):
    def forward(self, x):
        y, state = self.layer(x)
        return RESULT
"""


def returned(result: str, seen: FormMismatch) -> list[str]:
    source = parse(MODEL.replace("RESULT", result))
    code = python_code(source)
    assert code is not None
    fixes = result_in_form(source, code, [seen])
    return [apply(source.code, one.edits).rsplit("return ", 1)[1].strip() for one in fixes]


def test_each_of_several_results_may_be_the_one_that_is_asked_for() -> None:
    assert returned("y, state", CountMismatch(got=2, want=1)) == ["y", "state"]
    assert returned("self.ops.run(x)", ContainerMismatch(got="list", want="tensor")) == [
        "self.ops.run(x)[0]"
    ]
    assert returned("y", CountMismatch(got=1, want=2)) == []


def test_what_is_made_last_is_returned_where_nothing_is() -> None:
    code = MODEL.replace("        return RESULT\n", "        z = y + 1\n")
    source = parse(code)
    python = python_code(source)
    assert python is not None
    (made,) = result_in_form(source, python, [CountMismatch(got=0, want=1)])
    assert apply(code, made.edits) == f"{code.rstrip()}\n        return z\n"


@pytest.mark.parametrize(
    ("got", "want", "suffix"),
    [
        ((4, 8), (4, 8, 1, 1), "[..., None, None]"),
        ((4, 8, 2, 3), (4, 48), ".flatten(1, 3)"),
        ((4, 1, 3), (4, 3), ".squeeze(1)"),
    ],
)
def test_a_shape_of_the_same_values_is_one_call_away(
    got: tuple[int, ...], want: tuple[int, ...], suffix: str
) -> None:
    assert suffixes([(got, want)]) == [suffix]


LAST_ONLY = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
source = \'\'\'
torch::Tensor longest(torch::Tensor x, int dim) {
    if (x.dim() != 3 || dim != 2) {
        throw std::runtime_error("only the last of three dimensions is taken");
    }
    return x;
}
\'\'\'
ext = load_inline(name="e", functions=["longest"], cuda_sources=source,
                  cpp_sources="torch::Tensor longest(torch::Tensor x, int dim);")
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        return ext.longest(x, self.dim)
"""


def test_a_function_of_the_last_dimension_is_handed_the_dimension_as_the_last() -> None:
    text = "RuntimeError: only the last of three dimensions is taken"
    raised = Evidence(kind="python", code="raised", text=text)
    (found,) = review_with_fixes(parse(LAST_ONLY), Context(evidence=(raised,)), select=("API006",))
    fixed = [apply(LAST_ONLY, one.edits).rsplit("return ", 1)[1].strip() for one in found.fixes]
    call = "ext.longest(x.movedim(self.dim, -1).contiguous(), x.dim() - 1)"
    assert fixed == [call, f"{call}.unsqueeze(self.dim)", f"{call}.movedim(-1, self.dim)"]


def test_a_kernel_gets_the_batchs_statistics_in_training_mode() -> None:
    rule = all_rules()["NUM005"]
    bad = rule.bad[0] if isinstance(rule.bad, tuple) else rule.bad
    assert isinstance(bad, Example)
    (found,) = detected_with_fixes("NUM005", parse(bad.code), bad.context)
    (made,) = found.fixes
    text = apply(bad.code, made.edits)
    over = "[d for d in range(x.dim()) if d != 1]"
    assert f"(x.mean({over}) if self.training else self.bn.running_mean)" in text
    assert f"(x.var({over}, unbiased=False) if self.training else self.bn.running_var)" in text
