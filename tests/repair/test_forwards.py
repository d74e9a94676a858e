"""Changes of `forward`: what is proposed, and how a woven program takes one by its number."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from grader.records import Submission
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.order import candidates
from grader.repair.candidates.weave import CHOICE, weave
from grader.source import edits, parse

from .test_slips import incorrect

ANSWER = '''
import torch
import torch.nn as nn
import torch.nn.functional as F


class Kernels:
    """Stands for an extension: a product, and a sum that both need their operands in order."""

    def scaled(self, x, a, b):
        return x * a + b

    def rows(self, x):
        return x.sum(1)


ops = Kernels()


class ModelNew(nn.Module):
    def __init__(self, scale, shift):
        super().__init__()
        self.scale = scale
        self.shift = shift
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        BODY
'''


def answer(body: str) -> str:
    return ANSWER.replace("BODY", body.replace("\n", "\n        "))


def forwards(code: str) -> list[Candidate]:
    return candidates(parse(code), incorrect(code))


def proposed(body: str) -> list[str]:
    code = answer(body)
    made = (one.fix() for one in forwards(code))
    return [edits.apply(code, fix.edits) for fix in made if fix is not None]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return ops.scaled(x, self.shift, self.shift)", "return ops.scaled(x, self.scale, self.shift)"),
        ("return ops.scaled(x, self.shift, self.scale)", "return ops.scaled(x, self.scale, self.shift)"),
        ("return ops.rows(x)", "return ops.rows(x.contiguous())"),
        ("return ops.rows(self.norm.weight)", "return ops.rows(self.norm.weight.transpose(0, 1).contiguous())"),
    ],
)  # fmt: skip
def test_what_an_author_may_have_meant_is_among_the_changes(body: str, line: str) -> None:
    assert any(line in text for text in proposed(body))


def test_each_change_runs_under_its_number() -> None:
    code = answer("return ops.scaled(x, self.scale, self.shift)")
    every = forwards(code)
    submission = Submission(sample="s", code=code, line_map=(), how="")
    woven: dict[str, Any] = {}
    exec(weave(submission, dict(enumerate(every, 1))).code, woven)
    x = torch.arange(8.0).reshape(2, 4)
    for number, change in [(0, None), *enumerate(every, 1)]:
        alone: dict[str, Any] = {}
        fix = change.fix() if change is not None else None
        exec(edits.apply(code, fix.edits) if fix else code, alone)
        outcomes = []
        for model, arguments in ((woven, (x, number)), (alone, (x,))):
            try:
                outcomes.append(model["ModelNew"](2.0, 3.0)(*arguments).tolist())
            except (RuntimeError, TypeError, IndexError) as error:
                outcomes.append(type(error).__name__)
        assert outcomes[0] == outcomes[1]
    os.environ.pop(CHOICE, None)
