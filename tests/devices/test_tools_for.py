"""Which of compute-sanitizer's tools look at a program."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from grader.config import Options
from grader.devices.base import Sanitized
from grader.devices.cuda.sanitizer import ALL, is_examined, telling_workload, tools_for
from grader.judge import References, verdict
from grader.pipeline.evaluation import _add_sanitizer
from grader.records import (
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Race,
    Role,
    Run,
    RunStatus,
    Status,
    Submission,
    TensorSpec,
    Verdict,
    Workload,
)

from .conftest import a_task


@pytest.mark.parametrize(
    ("status", "wish", "expected"),
    [
        ("incorrect", None, ALL),
        ("hung", None, ("synccheck",)),
        ("crashed", None, ("memcheck",)),
        ("correct", None, ()),
        ("correct", True, ALL),
        ("incorrect", False, ()),
    ],
)
def test_what_went_wrong_is_looked_at_unless_all_or_none_is_wished(
    status: str, wish: bool | None, expected: tuple[str, ...]
) -> None:
    assert tools_for(status, wish) == expected


def test_the_smallest_that_went_wrong_and_decides_is_looked_at() -> None:
    hung: tuple[Role, RunStatus] = ("nominal", "hung")
    cases: dict[str, tuple[int, tuple[Role, RunStatus]]] = {
        "never reached": (3, ("nominal", "not_run")),
        "decides nothing": (4, ("general", "hung")),
        "small": (10, hung),
        "large": (90, hung),
    }
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(size, size)),))
        for name, (size, (role, _)) in cases.items()
    )
    task = a_task((0,)).model_copy(update={"workloads": workloads})
    statuses = [(name, status) for name, (_, (_, status)) in cases.items()]
    evaluation = Evaluation(
        submission="x",
        device="cuda",
        sandbox="none",
        verdict=Verdict(status="hung", sentence="It never ends."),
        runs=tuple(Run(workload=name, device="cuda", status=status) for name, status in statuses),
    )
    looked_at = telling_workload(task, evaluation)
    assert looked_at is not None
    assert looked_at.name == "small"


def test_a_right_program_is_looked_at_where_it_is_judged() -> None:
    workloads = tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(size,)),))
        for name, role, size in (
            ("odd", "general", 3),
            ("round", "nominal", 64),
            ("own", "nominal", 90),  # larger, and the one that cuts a tail
        )
    )
    task = a_task((0,)).model_copy(update={"workloads": workloads})
    right = Verdict(status="correct", sentence="Correct.")
    evaluation = Evaluation(submission="x", device="cuda", sandbox="none", verdict=right)
    looked_at = telling_workload(task, evaluation)
    assert looked_at is not None
    assert looked_at.name == "own"


RACE = Evidence(kind="sanitizer", code="race", text="Seen.", details=Race(within_warp=False))


@pytest.mark.parametrize(
    ("status", "ended", "evidence", "enough"),
    [
        ("incorrect", "ran", (), True),  # each access is fine, so the values are wrong by formula
        ("incorrect", "not_run", (), False),
        ("crashed", "ran", (), False),  # a GPU fails where the other device does not
        ("hung", "ran", (RACE,), True),
    ],
)
def test_no_tool_looks_where_a_device_that_checks_has_told(
    status: Status, ended: RunStatus, evidence: tuple[Evidence, ...], enough: bool
) -> None:
    (workload,) = a_task((0,)).workloads
    run = Run(workload=workload.name, device="sim", status=ended, evidence=evidence)
    verdict = Verdict(status=status, sentence="So.")
    seen = Evaluation(
        submission="x", device="cuda", sandbox="none", verdict=verdict, checked=(run,)
    )
    assert is_examined(seen, workload) is enough


@pytest.mark.parametrize(
    ("code", "level", "status"),
    [
        ("race", "", "unsound"),
        ("race", "warning", "correct"),
        ("uninit-global-read", "", "correct"),
    ],
)
def test_what_a_tool_saw_of_a_right_program_may_make_it_unsound(
    code: str, level: str, status: str
) -> None:
    task = a_task((0,))
    (workload,) = task.workloads
    build = Build(status="built", device="cuda", key="k")
    runs = (Run(workload=workload.name, device="cuda", status="ran"),)
    comparisons = (Comparison(workload=workload.name, role=workload.role, equal=True),)

    told = {"speedup": 2.0, "reasons": ("measured once",)}
    before = Evaluation(
        submission="x",
        device="cuda",
        sandbox="none",
        build=build,
        runs=runs,
        comparisons=comparisons,
        verdict=verdict(task=task, build=build, runs=runs, comparisons=comparisons).model_copy(
            update=told
        ),
    )
    item = Evidence(
        kind="sanitizer",
        code=code,
        text="Seen.",
        workload=workload.name,
        details=Race(within_warp=level == "warning"),
    )
    device = cast(
        "Any", SimpleNamespace(sanitize=lambda *_: Sanitized((item,), ("a tool failed",)))
    )
    program = Submission(sample="s", code="", line_map=(), how="")
    kept = SimpleNamespace(get=lambda key, _: References(key, 1))
    grading = cast(
        "Any", SimpleNamespace(options=Options(), no_device="", device=device, references=kept)
    )
    after = _add_sanitizer(grading, program, task, before)
    assert after.verdict.status == status
    assert after.verdict.speedup == 2.0
    assert {"measured once", "a tool failed"} <= {*after.verdict.reasons}
    assert after.runs[0].evidence == (item,)
