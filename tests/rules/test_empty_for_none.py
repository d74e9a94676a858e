"""Empty tensors in the place of none: which question they answer wrongly, and what is asked after the fix."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence
from grader.rules.api.empty_tensor_for_none import CODE
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

RAISED = (
    "IndexError: select(): index 0 out of range for tensor of size [0] at dimension 0",
    "RuntimeError: shape '[1, 32, 1, 1]' is invalid for input of size 0",
)


@pytest.mark.parametrize("words", RAISED)
def test_what_was_raised_over_nothing_is_proof(words: str) -> None:
    context = Context(evidence=(Evidence(kind="python", code="raised", text=words),))
    (found,) = review_with_fixes(parse(CODE), context, select=("API008",))
    assert (found.severity, found.confidence) == ("error", "proven")
    fixed = apply(CODE, found.fixes[0].edits)
    assert "if ((bias.defined() && bias.numel() > 0))" in fixed
    assert review_with_fixes(parse(fixed), context, select=("API008",)) == ()


def test_without_that_it_is_a_warning() -> None:
    other = Evidence(kind="python", code="raised", text="RuntimeError: CUDA error")
    (found,) = review_with_fixes(parse(CODE), Context(evidence=(other,)), select=("API008",))
    assert (found.severity, found.confidence) == ("warning", "likely")


def test_an_optional_is_asked_for_its_value() -> None:
    code = CODE.replace("torch::Tensor bias", "c10::optional<torch::Tensor> bias")
    code = code.replace("bias.defined()", "bias.has_value()")
    (found,) = review_with_fixes(parse(code), Context(), select=("API008",))
    assert "bias.has_value() && bias.value().numel() > 0" in apply(code, found.fixes[0].edits)
