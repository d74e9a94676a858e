"""The simulator against what an H200 said of the same kernels (benchmarks/gpu_kernels.py).

Recorded is how each kernel ended on the machine: without an error, with which, or never. Outputs and
compute-sanitizer's reports were lost on the way back, so numbers are not held here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from .cases import Case, all_cases
from .harness import Module, Outcome, nvcc
from .test_kernels import run

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")

RECORDED = Path(__file__).parents[2] / "gpu" / "recorded" / "h200_kernels.json"
SEEN: Mapping[str, str] = json.loads(RECORDED.read_text())["kernels"]
CASES = all_cases()
MAPPED = 32 << 20
"""Bytes around an allocation that a GPU is taken to have mapped: cudart_launch.cpp."""
EXPLAINED: Mapping[str, str] = {
    "barrier_trips_in_warp": "PTX leaves it open: lanes that skip the barrier wait for the others "
    "where the compiler has them meet again; the simulator lets them go on and says so",
    "endless": "the simulator's budget is used up; it can't prove that this loop never ends",
    "stack_overflow": "the simulator stops at the end of the stack, the machine behind it",
}
"""Kernels of which the two say different things, and why."""


def ending(outcome: Outcome) -> str:
    """How a launch ended, in the recording's words."""
    if outcome.status in {"deadlock", "livelock"}:
        return "hang"
    if outcome.status == "trapped":
        return "cudaErrorLaunchFailure"
    if outcome.status != "ok":
        return outcome.status
    if "misaligned" in {kind for kind, _ in outcome.kinds()}:
        return "cudaErrorMisalignedAddress"
    far = outcome.outside_by > MAPPED or outcome.shared_outside
    return "cudaErrorIllegalAddress" if far else "ok"


LAUNCHED = [name for name in SEEN if not SEEN[name].startswith("launch:")]


@pytest.mark.parametrize("name", LAUNCHED)
def test_ends_as_on_the_machine(name: str, modules: dict[Path, Module]) -> None:
    case: Case = CASES[name]
    outcome, _ = run(case, modules[case.file], resident=64)  # more than any that can end needs
    if name in EXPLAINED:
        assert ending(outcome) != SEEN[name], "no longer a disagreement"
    else:
        assert ending(outcome) == SEEN[name], outcome.reason


def test_what_divides_a_warp_at_a_barrier_is_told(modules: dict[Path, Module]) -> None:
    case = CASES["barrier_trips_in_warp"]
    outcome, _ = run(case, modules[case.file])
    assert {kind for kind, _ in outcome.kinds()} == {"barrier-divergence"}


def test_most_kernels_are_recorded() -> None:
    assert len(SEEN.keys() & CASES.keys()) > 130
