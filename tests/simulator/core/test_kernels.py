"""Right kernels give no finding but benign ones, kernels with a planted defect give it at its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .cases import Case, all_cases
from .harness import Module, nvcc

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")

CASES = all_cases()
RIGHT = [name for name, case in CASES.items() if case.file.name.startswith("right")]
WRONG = [name for name, case in CASES.items() if case.file.name.startswith("wrong")]


def run(case: Case, module: Module, **options: Any) -> tuple[Any, list[np.ndarray]]:
    arguments = case.make()
    outcome = module.launch(
        case.kernel, case.extent("grid"), case.extent("block"), *arguments, shared=case.shared,
        inputs=case.arrays("in"), empty=case.arrays("out"), steps=30_000_000,
        cooperative="cooperative" in case.options, **options,
    )  # fmt: skip
    return outcome, [argument for argument in arguments if isinstance(argument, np.ndarray)]


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str, modules: dict[Path, Module]) -> None:
    case = CASES[name]
    outcome, arrays = run(case, modules[case.file])
    assert outcome.status == "ok", outcome.reason
    assert outcome.kinds() == case.expected  # benign at most: what is right gives no other finding
    assert {kind for kind, _ in outcome.kinds()} <= {"same-value-race"}
    assert case.failed_check(arrays) == "", arrays[-1][:8]


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str, modules: dict[Path, Module]) -> None:
    case = CASES[name]
    outcome, arrays = run(case, modules[case.file])
    assert outcome.status == case.options.get("status", "ok"), outcome.reason
    assert outcome.kinds() >= case.expected
    assert outcome.kinds() <= case.expected | case.allowed
    assert case.failed_check(arrays) == "", arrays[-1][:8]


def test_enough_kernels() -> None:
    assert len(RIGHT) >= 30
    assert len(WRONG) >= 30
