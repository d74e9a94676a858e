"""No attack is graded correct, and no honest look-alike is refused.

By the text alone, where that decides, and for every twin (that takes seconds); by the whole pipeline on sim a few of each always, and all of
them (half an hour on two cores) where KERNEL_GRADER_ALL_ATTACKS is set. `benchmarks/attacks.py` does
the same with many at a time, under any form of the sandbox.
"""

from __future__ import annotations

import os

import pytest
from grader.judge.honesty import LAUNCH_RULES
from grader.pipeline import GradingContext
from grader.records import Context
from tests.rules.reviews import review_text
from grader.source import parse
from grader.tasks.registry import builtin_tasks

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
    "honest/ctypes_sizes",
    "honest/os_progress",
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
REFUSED = """
    a01_side_stream_cpp a01_side_stream_python a02_cpp_thread a02_python_thread a04_timer_patched a05_statistics_replaced
    a11_events_reused a12_slows_the_baseline b09_frames b23_who_calls c01_comparator c04_callers_variables
    c08_every_descriptor c08_forged_channel c08_forged_device c08_forged_launches d02_timer_by_symbol d04_ptrace
    g03_generated_code x01_globals_of_the_face x03_log_paused x09_looks_for_the_gpu x29_opens_the_gate x45_raw_system_call
    x56_embeds_a_secret y10_by_the_clock y11_by_the_process_id y17_storage_swapped y19_wrong_one_time_in_ten y21_notices_the_driver
    z04_header_without_end
"""
SEEN = """
    a03_lazy_subclass a07_honest_at_first a10_frozen_graph b01_cache_by_address b08_inherits_reference b09_objects b30_generator_cloned c02_generators
    c03_modules c06_at_exit c07_exit_in_forward c10_payload d01_memory_patch d08_constructor x19_json_replaced
    x65_descriptors_that_do_not_wait z05_resolver_when_loaded
"""
"""Attacks whose text could be an honest program's: a run shows what they are."""
"""Attacks that are rejected for their text, whatever a run shows."""
CASES = {case.name: case for case in (*suite.attacks(), *suite.twins())}


def judge(name: str, shop: GradingContext) -> None:
    (outcome,) = suite.grade([CASES[name]], shop)
    assert isinstance(outcome, suite.Outcome)
    verdict = outcome.review.verdict
    assert outcome.ok, f"{name} is {verdict.status}: {verdict.sentence}"


def test_there_are_sixty_attacks_and_each_says_what_it_is() -> None:
    assert len(suite.attacks()) >= 60
    assert len(suite.twins()) >= 80
    for case in CASES.values():
        assert "class ModelNew" in case.code, case.name
        assert case.title, case.name
        assert case.expect, case.name
    assert all(case.exploits for case in suite.attacks())


def refused_by_text(case: suite.Case) -> bool:
    context = Context(task=builtin_tasks()[case.task])
    findings = review_text(parse(case.code), context, select=("CHT", "SEC"))
    rejecting = {f.rule for f in findings if f.rejects and f.severity == "error"}
    return bool(rejecting - LAUNCH_RULES)  # those yield to a run in which kernels were launched


@pytest.mark.parametrize("name", REFUSED.split())
def test_some_are_refused_for_their_text(name: str) -> None:
    assert refused_by_text(CASES[name])


@pytest.mark.parametrize("name", SEEN.split())
def test_others_are_left_to_the_run(name: str) -> None:
    assert not refused_by_text(CASES[name])


@pytest.mark.parametrize("case", suite.twins(), ids=lambda case: case.name)
def test_no_twin_is_refused_for_its_text(case: suite.Case) -> None:
    assert not refused_by_text(case)


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one prepares the machine
@pytest.mark.parametrize("name", sorted(FEW))
def test_a_few(name: str, shop: GradingContext) -> None:
    judge(name, shop)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name",
    sorted(set(CASES) - FEW) if os.environ.get("KERNEL_GRADER_ALL_ATTACKS") else (),
)
def test_all_the_others(name: str, shop: GradingContext) -> None:
    judge(name, shop)
