"""The rounds of a search among small changes: when it ends, and with what."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from grader.diagnose import Program
from grader.judge import References
from grader.records import (
    Build,
    Evaluation,
    Evidence,
    Place,
    Role,
    Submission,
    TensorSpec,
    Verdict,
    Workload,
)
from grader.repair.candidates import Screen, guess, rounds
from grader.repair.candidates.rounds import FIRST, PATIENCE, ROUND
from grader.repair.candidates.screen import Allowance, Call, Outcome, _Play, count_hidden_dims
from grader.repair.candidates.weave import CHOICE
from grader.sandbox import GuestReply

from .mean import MEAN

Right = Callable[[str, int], bool]


def workload(name: str, role: Role) -> Workload:
    return Workload(name=name, role=role, inputs=())


@dataclass
class Table:
    """A screen whose outcomes are given; it notes what it is asked."""

    right: Right
    asked: list[tuple[str, int]] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)
    task: Any = field(
        default_factory=lambda: SimpleNamespace(
            judged=(workload("own", "nominal"), workload("other", "general"))
        )
    )

    reference: str = ""

    def build(self, woven: Submission) -> Build:
        return Build(status="built", device="sim")

    def suspects(self, evaluation: Evaluation) -> Sequence[Workload]:
        return self.task.judged

    def size(self, workload: Workload) -> int:
        return len(workload.name)

    def run(
        self,
        woven: Submission,
        build: Build,
        workloads: Sequence[Workload],
        numbers: Sequence[int],
        before: Evaluation,
        until: float,
        patience: float = 1.0,
    ) -> Mapping[Call, Outcome]:
        self.patience.append(patience)
        calls = [(w.name, n) for w in workloads for n in numbers]
        self.asked += calls
        return {(w, n): Outcome(float(not self.right(w, n)), clean=True) for w, n in calls}


def program() -> Program:
    submission = Submission(sample="s", code=MEAN, line_map=(), how="")
    evaluation = Evaluation(
        submission=submission.key,
        device="sim",
        sandbox="none",
        build=Build(status="built", device="sim"),
        verdict=Verdict(status="incorrect", sentence="wrong"),
    )
    return Program(submission, evaluation, ())


def searched(right: Right) -> tuple[Table, Any]:
    table = Table(right)
    return table, guess(program(), cast("Screen", table))


def test_a_change_that_is_right_everywhere_ends_the_search() -> None:
    table, found = searched(lambda workload, number: number == 3)
    assert found.right
    assert found.decides
    assert table.patience[0] == 1
    assert max(table.patience[1:]) == PATIENCE
    assert found.tried == ROUND // 3
    assert table.asked[-1] == ("other", 3)


def test_a_change_for_the_own_sizes_is_taken_a_round_later() -> None:
    _, found = searched(lambda workload, number: number == 3 and workload == "own")
    assert found.decides
    assert not found.right
    assert found.tried == ROUND // 3 + ROUND
    assert len(found.fixes) == 1


def test_one_that_is_right_everywhere_comes_before_it() -> None:
    _, found = searched(
        lambda workload, number: number == ROUND // 3 + 1 or (number == 3 and workload == "own")
    )
    assert found.right
    assert found.tried == ROUND // 3 + ROUND


def test_where_none_is_right_all_are_tried() -> None:
    table, found = searched(lambda workload, number: False)
    assert not found.decides
    assert found.tried > FIRST
    assert {name for name, _ in table.asked} == {"own"}


def test_a_program_without_a_wrong_workload_has_nothing_to_search_for() -> None:
    table = Table(lambda workload, number: True)
    table.suspects = lambda evaluation: ()  # type: ignore[method-assign]
    found = guess(program(), cast("Screen", table))
    assert (found.fixes, found.tried, table.asked) == ((), 0, [])


class Slow(_Play):
    """A guest that answers for one variant, and never comes back from number 2."""

    def _converse(self, calls: Sequence[Call]) -> GuestReply:
        stuck = any(number == 2 for _, number in calls)
        return GuestReply("timeout" if stuck else "done", "")

    def _outcomes(
        self, reply: GuestReply, source: object, calls: Sequence[Call]
    ) -> dict[Call, Outcome]:
        before = calls[: next((k for k, call in enumerate(calls) if call[1] == 2), len(calls))]
        return {call: Outcome(0.0, clean=True) for call in before}


def test_a_variant_that_never_ends_takes_no_other_with_it() -> None:
    given: dict[str, Any] = {"screen": None, "build": None, "group": None, "seconds": 1.0}
    play = Slow(woven=program().submission, allowance=Allowance(math.inf), **given)
    found = play.all([("own", 1), ("own", 2), ("own", 3)])
    assert {call[1]: outcome.right for call, outcome in found.items()} == {1: True, 2: False, 3: True}  # fmt: skip


def test_waiting_for_a_gpu_spends_nothing_of_the_allowance() -> None:
    allowance = Allowance(until=0.0)  # the clock has gone on since the machine was started
    assert allowance.spent
    allowance.excuse(-1e9)
    assert allowance.until == 0.0
    allowance.excuse(1e12)
    assert not allowance.spent


def test_sizes_that_decide_are_searched_on_before_smaller_ones_that_don_t() -> None:
    large, small = np.zeros((64, 64)), np.zeros((3, 3))
    judged = (workload("small", "general"), workload("large", "nominal"))
    references = References("t", 1, inputs={"small": (small,), "large": (large,)})
    screen = Screen(cast("Any", None), cast("Any", SimpleNamespace(judged=judged)), references)
    assert [one.name for one in screen.suspects(program().evaluation)] == ["large", "small"]


@pytest.mark.parametrize(
    ("shapes", "hides"),
    [(((33, 17),), 0), (((64, 64),), 3), (((1, 31), (31, 33)), 0), (((5, 5, 16),), 2)],
)
def test_equal_and_even_dims_hide_what_is_wrong(shapes: Any, hides: int) -> None:
    inputs = tuple(TensorSpec(shape=shape) for shape in shapes)
    assert count_hidden_dims(Workload(name="w", role="nominal", inputs=inputs)) == hides


def test_each_line_of_a_compilers_errors_loses_its_own_change() -> None:
    """Lines with no number of their own lose the nearest: a first line that has one must not keep them in."""
    lines = ["", f"/*@*/{CHOICE} == 1 ? a :", "", "", "", "f();", f"/*@*/{CHOICE} == 2 ? b :", *[""] * 40, f"/*@*/{CHOICE} == 3 ? c :"]  # fmt: skip
    woven = Submission(sample="s", code="\n".join(lines), line_map=(), how="")
    errors = tuple(
        Evidence(kind="compiler", code="error", text="refused", place=Place(line=n, end_line=n))
        for n in (2, 6)
    )
    build = Build(status="failed", device="sim", errors=errors)
    numbered = {n: SimpleNamespace(pieces=()) for n in (1, 2, 3)}
    refused = rounds._refused_candidates(woven, build, numbered, by_number=True)  # type: ignore[arg-type]
    assert refused == {1, 2}
