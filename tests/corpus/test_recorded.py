"""The labels against what an H200 said of the same programs (benchmarks/gpu_agreement.py).

It was asked without compute-sanitizer, so that a race whose values came out right is `correct` there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from . import corpus

KEPT: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "gpu" / "recorded" / "h200_labelled.json").read_text("utf-8")
)
LABELS = {label.name: label for label in (*corpus.originals(), *corpus.mutants())}


def test_nearly_all_are_recorded() -> None:
    assert len(KEPT["programs"].keys() & LABELS.keys()) > 0.95 * len(LABELS)


@pytest.mark.parametrize("name", sorted(KEPT["programs"].keys() & LABELS.keys()))
def test_the_machine_says_what_the_label_says(name: str) -> None:
    labels = {*LABELS[name].verdict}
    status = KEPT["programs"][name]["status"]
    said = status in labels or (status == "correct" and "unsound" in labels)
    assert said != (name in KEPT["explained"])


TRITON: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "gpu" / "recorded" / "h100_triton.json").read_text("utf-8")
)
TRITON_LABELS = {
    label.name: label
    for label in (
        *corpus.originals("triton"),
        *corpus.variants("triton"),
        *corpus.mutants("triton"),
    )
}
SAID = {
    True: {"correct", "unsound"},
    False: {"incorrect", "dishonest", "unsound"},
    None: {"build_failed", "crashed", "rejected"},
}
"""Statuses that stand for right, wrong, and raised on an H100 (benchmarks/triton_truth.py), which has no sanitizer."""


def test_nearly_all_triton_programs_are_recorded() -> None:
    assert len(TRITON["programs"].keys() & TRITON_LABELS.keys()) > 0.95 * len(TRITON_LABELS)


@pytest.mark.parametrize("name", sorted(TRITON["programs"].keys() & TRITON_LABELS.keys()))
def test_the_h100_says_what_the_triton_label_says(name: str) -> None:
    assert {*TRITON_LABELS[name].verdict} & SAID[TRITON["programs"][name]["right"]]
