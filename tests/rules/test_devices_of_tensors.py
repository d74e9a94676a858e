"""Tensors that stay on the CPU: which are named, and where they are after the fix."""

from __future__ import annotations

from grader.records import Context
from grader.rules.api.tensor_left_on_the_cpu import MODEL, RIGHT, TOLD
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes


def fixed(code: str) -> list[str]:
    found = review_with_fixes(parse(code), TOLD, select=("API007",))
    return [apply(code, fix.edits) for finding in found for fix in finding.fixes]


def test_a_plain_attribute_becomes_a_buffer() -> None:
    code = MODEL.replace("SHIFT", "torch.zeros(n)").replace("MADE", "1")
    (text,) = fixed(code)
    assert 'self.register_buffer("shift", torch.zeros(n), persistent=False)' in text


def test_a_tensor_of_forward_is_made_beside_its_input() -> None:
    (text,) = fixed(RIGHT.replace("torch.ones_like(x)", "torch.full((3,), 2.0)"))
    assert "torch.full((3,), 2.0, device=x.device)" in text


def test_what_says_where_it_is_made_is_left_alone() -> None:
    for value in ('torch.zeros(n, device="cuda")', "torch.zeros(n).cuda()"):
        assert fixed(RIGHT.replace("nn.Parameter(torch.ones(n))", value)) == []
    code = MODEL.replace("SHIFT", "torch.zeros(n)").replace("MADE", "1")
    assert review_with_fixes(parse(code), Context(), select=("API007",)) == ()


def test_a_weight_that_is_taken_off_the_gpu_stays_there() -> None:
    (text,) = fixed(RIGHT.replace("x + self.shift", "x + self.shift.cpu()"))
    assert text == RIGHT
