"""A right program that races: compute-sanitizer sees it on a GPU, where it is asked."""

from __future__ import annotations

import pytest

from grader.config import Options
from grader.devices.cuda.gpu import installed
from grader.pipeline import open_context
from grader.pipeline.review import review as reviewed
from grader.records import Review, Sample
from grader.store import Store
from tests.corpus import corpus

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not installed(), reason="nvidia-smi finds no GPU"),
]
LABELS = {label.name: label for label in (*corpus.originals(), *corpus.mutants())}


def graded(name: str, *, sanitize: bool) -> Review:
    options = Options(
        device="cuda", repair=False, timing=False, sanitize=sanitize, task=LABELS[name].task
    )
    shop = open_context(options, Store(), 20260101)
    sample = Sample(id=name, origin=name, format="python", text=LABELS[name].code)
    return reviewed(shop, sample)


@pytest.mark.parametrize(
    "name",
    [
        "softmax_tree--drop-barrier-3",
        "uniform_factor_mean--racing-stores",
        "matmul_tiled--load-then-guard",
    ],
)
def test_what_the_sanitizer_sees_is_unsound(name: str) -> None:
    found = graded(name, sanitize=True).verdict
    assert found.status in {"unsound", "incorrect"}, found
    assert found.status == "incorrect" or found.sentence.startswith("Line ")


def test_stores_of_one_value_stay_correct() -> None:
    review = graded("uniform_factor_mean", sanitize=True)
    assert review.verdict.status == "correct", review.verdict


def test_an_overwritten_argument_is_seen_without_any_tool() -> None:
    review = graded("gelu_vec4--write-input", sanitize=False)
    assert review.verdict.status == "unsound", review.verdict
    assert any(one.severity == "error" and "MEM010" in one.rule for one in review.findings)
