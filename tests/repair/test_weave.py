"""How all small changes stand in one program, which of them are left out, and how long one may take."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.diagnose import Program
from grader.records import Launch, Run, Workload
from grader.repair.variants.candidates import candidates
from grader.repair.variants.origins import origins
from grader.repair.variants.screen import allowed
from grader.repair.variants.weave import CHOICE, weave
from grader.source import parse

from .mean import MEAN, changed


def test_nothing_is_changed_that_the_compiler_must_know(program: Program) -> None:
    assert not any("part[257]" in line or "part[128]" in line for line in changed(program))


def test_no_variable_is_proposed_where_it_is_not_known(program: Program) -> None:
    assert not any("] = part[s]" in line or "y[i]" in line for line in changed(program))


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_without_what_was_woven_in_the_program_is_the_old_one(
    program: Program, data: st.DataObject
) -> None:
    every = candidates(parse(MEAN), program)
    chosen = data.draw(st.lists(st.sampled_from(range(len(every))), unique=True, max_size=40))
    woven = weave(program.submission, {n + 1: every[n] for n in chosen}).code
    ast.parse(woven)
    assert all(
        woven.count(a) - MEAN.count(a) == woven.count(b) - MEAN.count(b) for a, b in ("()", "{}")
    )
    for n in chosen:
        assert re.search(rf"{CHOICE}(?: [!=]= |forward_){n + 1}\b", woven)


def test_where_no_kernel_began_only_host_code_is_changed(program: Program) -> None:
    ended = program.evaluation.model_copy(
        update={"runs": (Run(workload="w", device="sim", status="raised"),)}
    )
    found = candidates(parse(MEAN), Program(program.submission, ended, ()))
    host = next(i for i, line in enumerate(MEAN.splitlines(), 1) if "torch::Tensor run" in line)
    assert found
    assert all(variant.line > host for variant in found)


def test_device_code_is_changed_for_a_workload_on_which_it_ran(program: Program) -> None:
    launched = Launch(kernel="row_mean", grid=(1, 1, 1), block=(256, 1, 1), shared_bytes=0)
    runs = (
        Run(workload="half", device="sim", status="raised"),
        Run(workload="float", device="sim", status="ran", launches=(launched,)),
    )
    known = program.evaluation.model_copy(update={"runs": runs})
    state = Program(program.submission, known, ())
    every = {variant.label for variant in candidates(parse(MEAN), state, "float")}
    host = {variant.label for variant in candidates(parse(MEAN), state, "half")}
    assert host < every


@pytest.mark.parametrize(("took", "may"), [(None, 2.0), (0.001, 1.0), (0.15, 1.5), (9.0, 2.0)])
def test_a_change_may_take_many_times_as_long_as_the_program(
    program: Program, took: float | None, may: float
) -> None:
    status: Any = "hung" if took is None else "ran"
    run = Run(workload="w", device="sim", status=status, seconds=took or 0.0)
    before = program.evaluation.model_copy(update={"runs": (run,)})
    workload = Workload(name="w", role="nominal", inputs=())
    assert allowed(before, (workload,)) == pytest.approx(may)


def test_the_likeliest_come_first(program: Program) -> None:
    costs = [variant.cost for variant in candidates(parse(MEAN), program)]
    assert costs == sorted(costs)


def test_a_copy_with_other_code_has_another_key(program: Program) -> None:
    assert program.submission.key != program.submission.model_copy(update={"code": "x"}).key


def test_a_line_that_made_what_a_wrong_line_uses_is_suspect_too() -> None:
    source = parse(MEAN)
    line = next(k for k, words in enumerate(MEAN.splitlines(), 1) if "sum += v * w[i]" in words)
    named = {MEAN.splitlines()[k - 1].strip() for k in origins(source.cuda, {line})}
    assert named == {
        "float sum = 0.0f;",
        "for (int i = threadIdx.x; i <= cols; i += blockDim.x) {",
        "float v = x[blockIdx.x * cols + i];",
    }
