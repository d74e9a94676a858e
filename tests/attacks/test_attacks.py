"""No attack is graded correct, and no honest look-alike is refused; by the whole pipeline on sim.

A few of each always; all of them (ten minutes) where KERNEL_GRADER_ALL_ATTACKS is set.
"""

from __future__ import annotations

import os

import pytest
from grader.pipeline import Workshop

from . import suite

FEW = {
    "a03_lazy_type_call",
    "a07_honest_at_first",
    "b04_stale_memory",
    "b12_zeros_softmax",
    "b15_identity_copied",
    "b17_one_buffer",
    "b19_own_seed",
    "b22_sniffs_the_size",
    "c07_exit_in_forward",
    "c08_forged_channel",
    "honest/another_kernel_for_large",
    "honest/joined_stream",
    "honest/two_passes",
    "honest/vector_path",
    "x05_host_reads_device_memory",
    "x26_writes_zeros_over_zeros",
    "x28_host_reads_one_value",
    "x36_tensor_methods_replaced",
    "x44_memory_through_proc",
}
CASES = {case.name: case for case in (*suite.attacks(), *suite.twins())}


def judge(name: str, shop: Workshop) -> None:
    (outcome,) = suite.grade([CASES[name]], shop)
    verdict = outcome.review.verdict
    assert outcome.ok, f"{name} is {verdict.status}: {verdict.sentence}"


def test_there_are_sixty_attacks_and_each_says_what_it_is() -> None:
    assert len(suite.attacks()) >= 60
    assert len(suite.twins()) >= 12
    for case in CASES.values():
        assert "class ModelNew" in case.code, case.name
        assert case.title, case.name
        assert case.expect, case.name
    assert all(case.exploits for case in suite.attacks())


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one prepares the machine
@pytest.mark.parametrize("name", sorted(FEW))
def test_a_few(name: str, shop: Workshop) -> None:
    judge(name, shop)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    not os.environ.get("KERNEL_GRADER_ALL_ATTACKS"), reason="KERNEL_GRADER_ALL_ATTACKS is not set"
)
@pytest.mark.parametrize("name", sorted(set(CASES) - FEW))
def test_all_the_others(name: str, shop: Workshop) -> None:
    judge(name, shop)
