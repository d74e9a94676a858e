"""The search for a repair: which programs small changes are tried on, and which they are not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from grader.diagnose import Program
from grader.records import (
    Build,
    Comparison,
    Edit,
    Evaluation,
    Finding,
    Fix,
    LineCount,
    Mismatch,
    Place,
    Run,
    Submission,
    Verdict,
    Workload,
)
from grader.repair import find_repair
from grader.repair.candidates import Screen
from grader.repair.candidates.weave import CHOICE
from grader.repair.said import how_far
from grader.repair.trials import leads_around
from grader.repair.wrong import cancels
from tests.examiners import Scripted

CODE = '''
from torch.utils.cpp_extension import load_inline

source = """
__global__ void in_turn(float* y, volatile int* turn, int n) {
    if (threadIdx.x == 0) {
        while (*turn != blockIdx.x) { }
    }
    __syncthreads();
    if (threadIdx.x < n) y[blockIdx.x * n + threadIdx.x] += 1.0f;
    if (threadIdx.x == 0) *turn = blockIdx.x + 1;
}
torch::Tensor run(torch::Tensor y, torch::Tensor turn) {
    in_turn<<<y.size(0), 256>>>(y.data_ptr<float>(), turn.data_ptr<int>(), y.size(1));
    return y;
}
"""
ops = load_inline(name="ops", cpp_sources="", cuda_sources=source, functions=["run"])
'''


@dataclass
class Watched:
    """A screen that notes what it is asked to build, and builds nothing."""

    asked: list[str] = field(default_factory=list)
    reference: str = ""

    def suspects(self, evaluation: Evaluation) -> tuple[Workload, ...]:
        del evaluation
        return (Workload(name="4x8", role="nominal", inputs=()),)

    def build(self, woven: Submission) -> Build:
        self.asked.append(woven.code)
        return Build(status="failed", device="sim")


def program(status: Any, *rules: str) -> Program:
    submission = Submission(sample="s", code=CODE, line_map=(), how="")
    evaluation = Evaluation(
        submission=submission.key,
        device="sim",
        sandbox="none",
        build=Build(status="built", device="sim"),
        verdict=Verdict(status=status, sentence="wrong"),
    )
    found = (
        Finding(rule=rule, name="n", severity="error", confidence="proven", message="m")
        for rule in rules
    )
    return Program(submission, evaluation, tuple(found))


def tried_on(program: Program) -> list[str]:
    """Return the programs of small changes that a search from there asks for."""
    screen = Watched()
    found, said, _ = find_repair(
        (program,),
        Scripted(lambda _: program.evaluation, lambda _: program.findings),
        3,
        cast("Screen", screen),
    )
    assert found is None
    assert said
    return screen.asked


def test_small_changes_are_tried_on_a_wrong_result() -> None:
    woven = tried_on(program("incorrect", "MEM011"))
    assert any(f"{CHOICE} == 1" in text for text in woven)


@pytest.mark.parametrize(("status", "rule"), [("hung", "MEM011"), ("incorrect", "SYN006")])
def test_no_small_change_takes_out_a_wait_of_blocks_for_each_other(status: str, rule: str) -> None:
    assert not tried_on(program(status, rule))


@pytest.mark.parametrize(
    ("rule", "worst", "explains"),
    [("NUM004", 1.004, True), ("NUM004", 3.0, False), ("MEM011", 1.004, False)],
)
def test_no_small_change_brings_back_digits_that_a_formula_loses(
    rule: str, worst: float, explains: bool
) -> None:
    """A one-pass variance of values far from 0: right in its first digits, and named."""
    mismatch = Mismatch(kind="values", text="wrong", worst_value=worst, worst_reference=1.0)
    compared = Comparison(workload="offset", role="general", equal=False, mismatch=mismatch)
    wrong = program("correct", rule)
    evaluation = wrong.evaluation.model_copy(update={"comparisons": (compared,)})
    assert cancels(Program(wrong.submission, evaluation, wrong.findings)) is explains


def test_small_changes_are_tried_on_a_program_once() -> None:
    wrong = program("incorrect", "MEM011")
    nearer = program("incorrect", "MEM011")
    fix = Fix(label="another name", edits=(Edit(start=0, end=0, text="# nearer\n"),))
    (finding,) = wrong.findings
    start = Program(
        wrong.submission, wrong.evaluation, (finding.model_copy(update={"fixes": (fix,)}),)
    )
    screen = Watched()
    compared = Comparison(
        workload="4x8",
        role="nominal",
        equal=False,
        decides=True,
        mismatch=Mismatch(kind="values", text="wrong", fraction=0.1),
    )
    evaluation = nearer.evaluation.model_copy(update={"comparisons": (compared,)})
    find_repair(
        (start,),
        Scripted(lambda _: evaluation, lambda _: nearer.findings),
        9,
        cast("Screen", screen),
    )
    assert screen.asked
    assert len(screen.asked) == len(set(screen.asked))


def fixed(number: int, confidence: Any = "proven") -> Finding:
    at = [0, *(match.end() for match in re.finditer("\n", CODE))][-number]
    fix = Fix(label=f"fix {number}", edits=(Edit(start=at, end=at, text=f"# {number}\n"),))
    return Finding(
        rule="MEM001",
        name="n",
        severity="error",
        confidence=confidence,
        message="m",
        fixes=(fix,),
    )


def shares_of(code: str) -> float:
    """Return how much of the result is wrong in a program with these fixes."""
    return 0.9 - 0.3 * sum(f"# {number}" in code for number in (1, 2))


def test_several_fixes_at_once_are_left_where_a_single_one_helped() -> None:
    wrong = program("incorrect")
    findings = tuple(fixed(number) for number in (3, 1, 4))
    asked: list[str] = []

    def evaluate(submission: Submission) -> Evaluation:
        asked.append(submission.code)
        share = shares_of(submission.code)
        mismatch = Mismatch(kind="values", text="wrong", fraction=share)
        compared = Comparison(workload="4x8", role="nominal", equal=False, mismatch=mismatch)
        return wrong.evaluation.model_copy(update={"comparisons": (compared,)})

    start = Program(wrong.submission, evaluate(wrong.submission), findings)
    asked.clear()
    found, _, _ = find_repair((start,), Scripted(evaluate), 30)
    assert found is None
    assert len(asked) == 4  # all at once, then each alone


def test_a_proven_cause_that_stands_before_another_is_fixed_with_it() -> None:
    """A loop that ends too early hides reads without a guard: without the second fix the first makes it worse.

    Two evaluations are enough: the first fix, tried alone before, is not paid for again.
    """
    wrong = program("incorrect")

    def evaluate(submission: Submission) -> Evaluation:
        done = [number for number in (1, 2) if f"# {number}\n" in submission.code]
        share = {(): 0.5, (1,): 1.0, (2,): 0.5, (1, 2): 0.0}[tuple(done)]
        mismatch = Mismatch(kind="values", text="wrong", fraction=share)
        compared = Comparison(workload="4x8", role="nominal", equal=not share, mismatch=mismatch)
        verdict = Verdict(status="incorrect" if share else "correct", sentence="s", general=True)
        update = {"comparisons": (compared,), "verdict": verdict}
        return wrong.evaluation.model_copy(update=update)

    def inspect(submission: Submission) -> tuple[Finding, ...]:
        cut, unguarded = fixed(1).model_copy(update={"rule": "DEP001"}), fixed(2)
        return (unguarded,) if "# 1\n" in submission.code else (cut,)

    start = Program(wrong.submission, evaluate(wrong.submission), inspect(wrong.submission))
    found, said, vain = find_repair((start,), Scripted(evaluate, inspect), 2)
    assert found is not None, said
    assert "# 1\n" in found.code
    assert "# 2\n" in found.code
    assert not vain
    assert find_repair((start,), Scripted(evaluate, inspect), 1).in_vain == set(fixed(1).fixes)


def test_what_is_right_only_where_it_decides_is_made_right_at_other_sizes() -> None:
    narrow = program("correct")

    def evaluate(submission: Submission) -> Evaluation:
        general = "# 1\n" in submission.code
        verdict = Verdict(status="correct", sentence="s", general=general)
        return narrow.evaluation.model_copy(update={"verdict": verdict})

    def start(number: int) -> Program:
        return Program(narrow.submission, evaluate(narrow.submission), (fixed(number),))

    examiner = Scripted(evaluate, lambda _: ())
    found, _, _ = find_repair((start(1),), examiner, 2)
    assert found is not None
    assert "# 1\n" in found.code
    assert find_repair((start(2),), examiner, 2)[:2] == (None, "")


def repaired_program(
    needed: set[int], seen: list[list[int]], confidence: Any = "likely"
) -> tuple[str, int]:
    """Return the repair's code and how many programs were evaluated.

    Right is a program with the fixes that are needed; each of them alone makes it less wrong. `seen` are
    the numbers of the fixes that are found one after the other.
    """
    wrong = program("incorrect")
    asked: set[str] = set()

    def evaluate(submission: Submission) -> Evaluation:
        asked.add(submission.code)
        missing = sum(f"# {number}" not in submission.code for number in needed)
        mismatch = Mismatch(kind="values", text="wrong", fraction=missing / 10)
        compared = Comparison(workload="4x8", role="nominal", equal=not missing, mismatch=mismatch)
        verdict = Verdict(status="incorrect" if missing else "correct", sentence="s", general=True)
        update = {"comparisons": (compared,), "verdict": verdict}
        return wrong.evaluation.model_copy(update=update)

    def inspect(submission: Submission) -> tuple[Finding, ...]:
        left = (numbers for numbers in seen if f"# {numbers[0]}\n" not in submission.code)
        return tuple(fixed(number, confidence) for number in next(left, ()))

    first = evaluate(wrong.submission)
    asked.clear()
    start = Program(wrong.submission, first, inspect(wrong.submission))
    found, said, _ = find_repair((start,), Scripted(evaluate, inspect), 30)
    assert found is not None, said
    return found.code, len(asked)


def test_changes_that_came_one_by_one_are_not_taken_back_on_trial() -> None:
    code, evaluated = repaired_program({1, 2}, [[1], [2]])
    assert evaluated == 2
    assert "# 1\n" in code
    assert "# 2\n" in code


def test_of_changes_that_came_together_the_needless_are_taken_back() -> None:
    code, evaluated = repaired_program({1, 3}, [[1, 2, 3]])
    assert evaluated == 4  # all at once, then each of the three left out
    assert "# 1\n" in code
    assert "# 2\n" not in code
    assert "# 3\n" in code


def test_what_a_run_has_shown_is_not_taken_back_on_trial() -> None:
    code, evaluated = repaired_program({1, 2, 3}, [[1, 2, 3]], "proven")
    assert evaluated == 1
    assert all(f"# {number}\n" in code for number in (1, 2, 3))


def digits_lost(*rules: str, half: bool) -> list[str]:
    """Return what small changes were tried on: a repair that is right, but elsewhere not to the last digits."""
    wrong = program("incorrect", "BLD001")

    def evaluate(submission: Submission) -> Evaluation:
        del submission
        missing = Mismatch(kind="values", text="wrong", fraction=0.5)
        off = Comparison(
            workload="4x8", role="general", equal=False, mismatch=missing, half_precision=half
        )
        verdict = Verdict(status="correct", sentence="s", general=False)
        update = {"comparisons": (off,), "verdict": verdict}
        return wrong.evaluation.model_copy(update=update)

    def inspect(submission: Submission) -> tuple[Finding, ...]:
        del submission
        return tuple(
            f.model_copy(update={"severity": "note"}) for f in program("correct", *rules).findings
        )

    screen = Watched()
    start = Program(wrong.submission, wrong.evaluation, (fixed(1),))
    found, said, _ = find_repair((start,), Scripted(evaluate, inspect), 30, cast("Screen", screen))
    assert found is not None, said
    return screen.asked


def test_digits_that_a_formula_loses_are_not_searched_for() -> None:
    assert not digits_lost("NUM004", half=True)
    assert digits_lost("NUM004", half=False)
    assert digits_lost(half=True)


@pytest.mark.parametrize(
    ("line", "status", "advice"),
    [(1, "unsound", False), (5, "unsound", True), (5, "crashed", False)],
)
def test_a_change_with_an_error_of_its_own_or_that_comes_no_nearer_is_no_advice(
    line: int, status: str, advice: bool
) -> None:
    first = program("crashed", "MEM011")
    (finding,) = first.findings
    fix = Fix(label="guard it", edits=(Edit(start=0, end=0, text="# guarded\n"),))
    place = Place(line=line, end_line=line)
    code = f"# guarded\n{CODE}"
    nearer = Program(
        first.submission.model_copy(update={"code": code}),
        program(status).evaluation,
        (finding.model_copy(update={"place": place}),),
        ((finding, fix),),
    )
    assert ("guard it" in how_far(first, nearer, 3, 0)) is advice


def test_a_fix_that_takes_away_what_shows_a_defect_comes_no_nearer() -> None:
    zeros = fixed(0)
    zeros = zeros.model_copy(update={"fixes": tuple(one.model_copy(update={"hides": True}) for one in zeros.fixes)})  # fmt: skip
    start = replace(program("incorrect"), findings=(zeros,))
    found, said, in_vain = find_repair((start,), Scripted(lambda _: start.evaluation, lambda _: ()), 3)  # fmt: skip
    assert found is None
    assert "Nearest" not in said
    assert in_vain == set(zeros.fixes)


def test_a_change_after_which_lines_that_use_tensors_run_no_more_leads_around_the_defect() -> None:
    start = program("incorrect")

    def counted(*lines: int) -> Program:
        counts = tuple(LineCount(kernel="k", line=n, instructions=1, accesses=n == 6) for n in lines)  # fmt: skip
        run = Run(workload="w", device="sim", status="ran", counts=counts)
        return replace(start, evaluation=start.evaluation.model_copy(update={"runs": (run,)}))

    before = counted(5, 6, 7)
    assert leads_around(before, counted(5, 7))
    assert not leads_around(before, counted(6, 7))  # line 5 uses no tensor
    assert not leads_around(before, start)  # nothing is counted on a GPU
