"""Changes of what `forward` returns: one of several results, and shapes that hold the same values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import CountMismatch, FormMismatch
from grader.repair.fixes.result_form import result_in_form, suffixes
from grader.source import parse
from grader.source.edits import apply
from tests.rules.examples import each
from tests.rules.reviews import detected_with_fixes

MODEL = """
from torch import nn
class ModelNew(nn.Module):
    def forward(self, x):
        y, state = self.layer(x)
        return RESULT
"""


def returned(result: str, seen: FormMismatch) -> list[str]:
    source = parse(MODEL.replace("RESULT", result))
    fixes = result_in_form(source, source.module, [seen])
    return [apply(source.code, one.edits).rsplit("return ", 1)[1].strip() for one in fixes]


def test_what_is_made_last_is_returned_where_nothing_is() -> None:
    code = MODEL.replace("        return RESULT\n", "        z = y + 1\n")
    source = parse(code)
    (made,) = result_in_form(source, source.module, [CountMismatch(got=0, want=1)])
    assert apply(code, made.edits) == f"{code.rstrip()}\n        return z\n"


@pytest.mark.parametrize(
    ("got", "want", "suffix"),
    [
        ((4, 8), (4, 8, 1, 1), "[..., None, None]"),
        ((4, 1, 3), (4, 3), ".squeeze(1)"),
    ],
)
def test_a_shape_of_the_same_values_is_one_call_away(
    got: tuple[int, ...], want: tuple[int, ...], suffix: str
) -> None:
    assert suffixes([(got, want)]) == [suffix]


def test_a_kernel_gets_the_batchs_statistics_in_training_mode() -> None:
    bad = each("NUM005", "Bad")[0]
    (found,) = detected_with_fixes("NUM005", parse(bad.code), bad.context)
    (made,) = found.fixes
    text = apply(bad.code, made.edits)
    over = "[d for d in range(x.dim()) if d != 1]"
    assert f"(x.mean({over}) if self.training else self.bn.running_mean)" in text
    assert f"(x.var({over}, unbiased=False) if self.training else self.bn.running_var)" in text


@settings(deadline=None)
@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_a_change_of_shape_fits_every_workload(sizes: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(sizes)))
    pairs = [(tuple(s), (*s[:k], 1, *s[k:])) for s in (sizes, [n + 1 for n in sizes])]
    assert suffixes(pairs)
    assert suffixes([(want, got) for got, want in pairs]) == [f".squeeze({k})"]
    assert not suffixes([*pairs, (tuple(sizes), (*sizes, 7))])
