"""The simulator against what an H200 and compute-sanitizer said of the same kernels.

Recorded by benchmarks/gpu_kernels.py on the machine: how each kernel ended (without an error, with
which, or never), its outputs, and what memcheck and racecheck reported at which line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from .cases import Case, all_cases
from .harness import Module, Outcome, nvcc
from .test_kernels import run

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")

RECORDED = Path(__file__).parents[2] / "gpu" / "recorded" / "h200_kernels.json"
KEPT = json.loads(RECORDED.read_text())
SEEN: Mapping[str, str] = KEPT["kernels"]
REPORTS: Mapping[str, Mapping[str, list[tuple[str, int]]]] = KEPT["reports"]
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


MEMORY = {"out-of-bounds", "shared-out-of-bounds", "misaligned", "null-pointer"}
"""Kinds of finding that memcheck has a word for, as an access at a line."""
UNSEEN = {
    "shared_underrun": "below a block's shared memory lies the system's own, which memcheck allows"
}
RACES = {"race", "race-volatile", "uninit-shared-read"}
"""Kinds that stand for what racecheck calls a hazard; a read before the write came is unwritten here."""
NEAR = 4
"""Lines by which the two may name different sides of one race."""
NO_RACE = {
    "shared_lock": "a spin lock orders the accesses; racecheck knows barriers only",
    "flag_wait": "a flag orders the accesses; racecheck knows barriers only",
}


def lines(outcome: Outcome, kinds: set[str]) -> set[int]:
    return {line for kind, line in outcome.kinds() if kind in kinds}


CHECKED = [n for n in LAUNCHED if n in CASES and SEEN[n] != "hang"]


@pytest.mark.parametrize("name", [n for n in CHECKED if "memcheck" in REPORTS[n]])
def test_memory_errors_are_memcheck_s(name: str, modules: dict[Path, Module]) -> None:
    outcome, _ = run(CASES[name], modules[CASES[name].file], resident=64)
    reported = {line for text, line in REPORTS[name]["memcheck"] if text.startswith("Invalid")}
    found = lines(outcome, MEMORY)
    assert reported <= found  # a GPU stops at the first error, the simulator goes on
    if name in UNSEEN:
        assert not reported, "no longer a disagreement"
    else:
        assert bool(reported) == bool(found)


@pytest.mark.parametrize("name", [n for n in CHECKED if REPORTS[n].get("racecheck")])
def test_races_are_racecheck_s(name: str, modules: dict[Path, Module]) -> None:
    outcome, _ = run(CASES[name], modules[CASES[name].file], resident=64)
    reported = {line for _, line in REPORTS[name]["racecheck"]}
    found = lines(outcome, RACES)
    if name in NO_RACE:
        assert not found, "no longer a disagreement"
    else:
        assert any(abs(one - other) <= NEAR for one in reported for other in found)


def test_outputs_are_the_machine_s(modules: dict[Path, Module]) -> None:
    kept = np.load(RECORDED.with_name("h200_outputs.npz"))
    compared = 0
    for name in dict.fromkeys(key.split("/")[0] for key in kept.files):
        if name not in CASES:
            continue
        outcome, arrays = run(CASES[name], modules[CASES[name].file], resident=64)
        if outcome.status != "ok" or outcome.findings:
            continue  # what it gives is then a matter of luck
        for number, array in enumerate(arrays):
            there = kept[f"{name}/{number}"]
            np.testing.assert_allclose(array, there, rtol=1e-5, atol=1e-6, err_msg=name)
            compared += 1
    assert compared > 100
