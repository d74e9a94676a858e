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
