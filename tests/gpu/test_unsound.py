"""A right program that races: the simulator sees it beside a GPU, and compute-sanitizer on it, where it is asked."""

from __future__ import annotations

import pytest

from grader.config import Options
from grader.devices.cuda.gpu import installed_gpus
from grader.pipeline import open_context
from grader.pipeline.review import review as reviewed
from grader.records import Review, Sample
from grader.store import Store
from tests.corpus import corpus

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not installed_gpus(), reason="nvidia-smi finds no GPU"),
]
LABELS = {label.name: label for label in (*corpus.originals(), *corpus.mutants())}


def graded(name: str, *, sanitize: bool | None) -> Review:
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


@pytest.mark.parametrize(
    "name",
    [
        "softmax_tree--drop-barrier-3",
        "uniform_factor_mean--racing-stores",
        "uniform_factor_mean--unwritten-branch",
        "matmul_tiled--load-then-guard",
    ],
)
def test_without_any_option_the_simulator_tells(name: str) -> None:
    review = graded(name, sanitize=None)
    found = review.verdict
    assert found.status in {"unsound", "incorrect"}, found
    if found.status == "unsound":
        assert "(seen on sim)" in found.sentence
        assert any(item.evidence for item in review.evaluation.checked)


def test_a_sound_program_is_correct_and_was_examined() -> None:
    review = graded("softmax_tree", sanitize=None)
    assert review.verdict.status == "correct", review.verdict
    assert not [reason for reason in review.verdict.reasons if "not examined" in reason]


def test_stores_of_one_value_stay_correct() -> None:
    review = graded("uniform_factor_mean", sanitize=True)
    assert review.verdict.status == "correct", review.verdict


def test_an_overwritten_argument_is_seen_without_any_tool() -> None:
    review = graded("gelu_vec4--write-input", sanitize=False)
    assert review.verdict.status == "unsound", review.verdict
    assert any(one.severity == "error" and "MEM010" in one.rule for one in review.findings)
