"""Which small changes come first, and which are left out: by what evidence says of the place and the cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from grader.diagnose import Program
from grader.records import (
    Comparison,
    Evidence,
    Finding,
    Launch,
    Mismatch,
    Place,
    Run,
    RunStatus,
    Slice,
)
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.evidence import POINTS_AT
from grader.repair.candidates.order import candidates
from grader.source import parse
from tests.rules.examples import as_submission

from .test_slips import PROGRAMS, changed, incorrect

ROOT = Path(__file__).resolve().parents[2]
CUDA = {one["name"]: one["code"] for one in PROGRAMS}
CODE = as_submission(CUDA["mean of rows"])
HOST = next(i for i, line in enumerate(CODE.splitlines(), 1) if "torch::Tensor run" in line)


def ordered(program: Program, workload: str = "w") -> list[Candidate]:
    return candidates(parse(program.submission.code), program, workload)


def seen(program: Program, device: str = "sim", **runs: Any) -> Program:
    """Return a program that ran, with evidence of one kind."""
    run = Run(**{"workload": "w", "device": device, "status": "ran"} | runs)
    evaluation = program.evaluation.model_copy(update={"runs": (run,), "device": device})
    return replace(program, evaluation=evaluation)


def evidence(code: str, line: int = 0) -> Evidence:
    place = Place(line=line, end_line=line, column=0, end_column=1, language="cuda") if line else None  # fmt: skip
    return Evidence(kind="simulator", code=code, text="seen", place=place)


def first(found: list[Candidate], *touches: str) -> int:
    """Return at which place the first change of a kind comes."""
    return next(k for k, one in enumerate(found) if one.touches in touches)


def test_the_likeliest_come_first() -> None:
    costs = [one.cost for one in ordered(incorrect(CODE))]
    assert costs == sorted(costs)


def test_a_barrier_comes_early_where_a_race_was_seen_and_late_where_none_was() -> None:
    program = incorrect(CODE)
    raced = ordered(seen(program, evidence=(evidence("race"),)))
    assert first(raced, "sync") < 20
    assert first(ordered(seen(program, device="cuda")), "sync") < first(ordered(seen(program)), "sync")  # fmt: skip


@pytest.mark.parametrize(
    ("code", "touches"),
    [
        ("probe-degree", "degree"),
        ("constant-factor", "factor"),
        ("constant-offset", "shift"),
        ("transposed", "index"),
        ("unwritten", "launch"),
        ("borders", "guard"),
        ("zeros", "store"),
        ("other-elements", "index"),
        ("lost", "store"),
        ("missing", "guard"),
    ],
)
def test_what_was_seen_points_at_a_kind_of_change(code: str, touches: str) -> None:
    plain = incorrect(CODE)
    wrong = incorrect(CODE, patterns=(evidence(code),))
    assert first(ordered(wrong), touches) < max(first(ordered(plain), touches), 1)


def test_all_codes_that_point_somewhere_are_said_by_some_part_of_the_grader() -> None:
    rooms = [
        room for room in (ROOT / "grader").iterdir() if room.is_dir() and room.name != "repair"
    ]
    texts = "".join(p.read_text("utf-8") for room in rooms for p in room.rglob("*.[ch]pp"))
    texts += "".join(p.read_text("utf-8") for room in rooms for p in room.rglob("*.py"))
    assert [code for code in POINTS_AT if f'"{code}"' not in texts] == []


def test_lines_that_evidence_names_come_first() -> None:
    line = next(i for i, words in enumerate(CODE.splitlines(), 1) if "sum += v" in words)
    plain = incorrect(CODE)
    program = replace(plain, findings=(named(line, "SYN001"),))
    vague = replace(plain, findings=(named(line, "NUM001"),))
    counts = [sum(one.line == line for one in ordered(p)[:40]) for p in (plain, vague, program)]
    assert counts == sorted(set(counts))


def test_lines_that_made_a_wrong_value_come_before_those_whose_values_are_right() -> None:
    lines = CODE.splitlines()
    wrong, right = (
        next(k for k, words in enumerate(lines, 1) if one in words)
        for one in ("sum += v * w[i]", "part[threadIdx.x] += part")
    )
    made = Slice(element=(0,), computed=(wrong, right), stored=0, right=(right,))
    traced = evidence("slice").model_copy(update={"kind": "provenance", "details": made})
    plain = incorrect(CODE)
    evaluation = plain.evaluation.model_copy(update={"probes": (traced,)})
    before, after = ordered(plain), ordered(replace(plain, evaluation=evaluation))

    def share(found: list[Candidate], line: int) -> int:
        return sum(one.line == line for one in found[:40])

    assert share(after, wrong) > share(before, wrong)
    assert share(after, right) <= share(before, right)


def named(line: int, rule: str) -> Finding:
    place = evidence("", line).place
    return Finding(rule=rule, name="n", severity="error", confidence="proven", message="m", place=place)  # fmt: skip


@pytest.mark.parametrize(
    ("code", "likely", "unlikely"),
    [
        ("sizes of the other side", "plane[ow*2]*scale;", "plane[ow*2]*total;"),
        ("a name that says more", "width*i", "full_size*i"),
    ],
)
def test_what_stands_unused_and_a_name_in_another_come_before_others(
    code: str, likely: str, unlikely: str
) -> None:
    texts = changed(CUDA[code])
    places = [next(k for k, text in enumerate(texts) if one in text) for one in (likely, unlikely)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("code", "line", "most"),
    [
        ("a launch of two axes", "<<<grid,dim3(side,side)>>>", 20),
        ("a block for each row", "dim3grid(n,(m+255)/256);", 60),
        ("an index divided up", "y[b*rows*width+r*width+w]", 40),
    ],
)
def test_what_the_text_itself_points_at_comes_early(code: str, line: str, most: int) -> None:
    assert any(line in text for text in changed(CUDA[code])[:most])


@pytest.mark.parametrize(("second", "swapped"), [("", False), (" * blockDim.y", True)])
def test_a_second_axis_is_taken_where_the_kernel_has_one(second: str, swapped: bool) -> None:
    code = CUDA["mean of rows"].replace("i += blockDim.x)", f"i += blockDim.x{second})")
    other = f"i += blockDim.y{second})".replace(" ", "")
    assert any(other in text for text in changed(code)) == swapped


# ---------------------------------------------------------------- what is left out


def test_where_no_kernel_began_only_host_code_is_changed() -> None:
    found = ordered(seen(incorrect(CODE), status="raised"))
    assert found
    assert all(one.line >= HOST for one in found)


@pytest.mark.parametrize(("kind", "kernels"), [("shape", False), ("values", True)])
def test_no_kernel_is_changed_where_nothing_but_the_shape_is_wrong(
    kind: Literal["shape", "values"], kernels: bool
) -> None:
    program = incorrect(CODE)
    wrong = Comparison(workload="w", role="nominal", equal=False, mismatch=Mismatch(kind=kind, text="wrong"))  # fmt: skip
    evaluation = program.evaluation.model_copy(update={"comparisons": (wrong,)})
    made = ordered(replace(program, evaluation=evaluation))
    assert any(one.line >= HOST for one in made)
    assert any(one.line < HOST for one in made) == kernels
    assert any(one.touches == "shape" for one in made) == (not kernels)


def test_device_code_is_changed_for_a_workload_on_which_it_ran() -> None:
    launched = Launch(kernel="row_mean", grid=(1, 1, 1), block=(256, 1, 1), shared_bytes=0)
    program = incorrect(CODE)
    runs = (
        Run(workload="half", device="sim", status="raised"),
        Run(workload="float", device="sim", status="ran", launches=(launched,)),
    )
    known = replace(program, evaluation=program.evaluation.model_copy(update={"runs": runs}))
    every = {one.label for one in ordered(known, "float")}
    host = {one.label for one in ordered(known, "half")}
    assert host < every


# ---------------------------------------------------------------- which program came further


def test_fewer_reasons_and_a_result_of_the_right_form_are_steps() -> None:
    (error, other) = (
        Finding(rule=rule, name="n", severity="error", confidence="proven", message="m")
        for rule in ("SYN003", "NUM001")
    )
    plain = incorrect(CODE)
    two, one = replace(plain, findings=(error, other)), replace(plain, findings=(other,))
    shape = plain.evaluation.model_copy(
        update={
            "comparisons": (
                Comparison(workload="w", role="n", equal=False, mismatch=Mismatch(kind="shape", text="")),
            )
        }
    )  # fmt: skip
    assert one.rank > two.rank
    assert one.rank > replace(one, evaluation=shape).rank


def test_to_fail_on_one_workload_alone_is_further_than_wrong_results() -> None:
    def after(*ends: RunStatus) -> Program:
        runs = tuple(Run(workload=f"w{k}", device="sim", status=end) for k, end in enumerate(ends))
        right = tuple(
            Comparison(workload=run.workload, role="nominal", equal=True)
            for run in runs
            if run.status == "ran"
        )
        wrong = incorrect(CODE)
        verdict = wrong.evaluation.verdict.model_copy(update={"status": "crashed"})
        update = {"runs": runs, "comparisons": right, "verdict": verdict}
        return replace(wrong, evaluation=wrong.evaluation.model_copy(update=update))

    wrong = incorrect(CODE)
    assert after("ran", "ran", "raised").rank > wrong.rank
    assert after("raised", "raised", "ran").rank < wrong.rank
    assert after("raised").rank < wrong.rank


def test_stores_to_an_array_that_a_suspect_line_reads_are_where_its_value_comes_from() -> None:
    read = next(i for i, line in enumerate(CODE.splitlines(), 1) if "part[threadIdx.x] +=" in line)
    shifted = "part[threadIdx.x + 1] = sum"
    one, other = (
        next(c.cost for c in ordered(seen(incorrect(CODE), evidence=(evidence("uninit-shared-read", line),))) if c.pieces[0].code == shifted)
        for line in (0, read)
    )  # fmt: skip
    assert other < one
