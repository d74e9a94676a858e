"""What a program does beside its values, and what the verdict makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from grader.judge import References, side_effects, verdict
from grader.judge.expected import Expected
from grader.judge.side_effects import probe
from grader.records import Build, Comparison, Run, Task, TensorSpec, Workload
from grader.sandbox import GuestOutput, GuestResult

ROLES = {"n": "nominal", "g": "general"}
TASK = Task(
    name="t",
    title="t",
    source="builtin",
    reference="",
    workloads=tuple(
        Workload(name=name, role=role, inputs=(TensorSpec(shape=(4,)),))
        for name, role in ROLES.items()
    ),
)


def returned(name: str = "n", aliases: int | None = None, **more: object) -> GuestResult:
    output = GuestOutput(np.zeros(4, np.float32), "cuda:0", (1,), "torch.Tensor", aliases)
    return GuestResult(name, "ran", outputs=(output,), **more)


def known(**of_the_reference: frozenset[int]) -> References:
    return References("t", 1, expected={"n": Expected("n", **of_the_reference)})


def codes(result: GuestResult, references: References) -> list[str]:
    return [item.code for item in side_effects(references, [result])]


@pytest.mark.parametrize(
    ("result", "reference", "expected"),
    [
        (returned(), {}, []),
        (returned(mutated_inputs=(0,)), {}, ["input-changed"]),
        (returned(mutated_inputs=(0,)), {"changes": frozenset({0})}, []),
        (returned(mutated_inputs=(0, 1)), {"changes": frozenset({0})}, ["input-changed"]),
        (returned(aliases=0), {}, ["input-returned"]),
        (returned(aliases=0), {"returns": frozenset({0})}, []),
        (returned(changed_later=True), {}, ["result-changed"]),
        (returned("unknown", mutated_inputs=(0,)), {}, []),
    ],
)
def test_what_the_reference_does_itself_is_no_news(result, reference, expected) -> None:
    assert codes(result, known(**reference)) == expected


def test_the_arguments_that_are_changed_are_counted_from_one() -> None:
    (item,) = side_effects(known(), [returned(mutated_inputs=(0, 2))])
    assert "changes arguments 1, 3 in place" in item.text


def given(*probes, shapes="nominal"):
    return verdict(
        task=TASK,
        build=Build(status="built", device="sim"),
        runs=tuple(Run(workload=n, device="sim", status="ran") for n in ROLES),
        comparisons=tuple(Comparison(workload=n, role=r, equal=True) for n, r in ROLES.items()),
        probes=probes,
        shapes=shapes,
    )


def test_a_second_look_that_differs_is_incorrect() -> None:
    found = given(probe("order-matters", "on n it was right at first, and is wrong now", "n"))
    assert found.status == "incorrect"
    assert found.correct is False
    assert "calls before" in found.sentence
    assert given(probe("result-changed", "overwritten", "n")).status == "incorrect"


def test_a_second_look_at_other_sizes_decides_general_only() -> None:
    late = probe("order-matters", "on g it was right at first", "g")
    found = given(late)
    assert (found.status, found.general) == ("correct", False)
    assert "right at first" in found.sentence
    assert given(late, shapes="any").status == "incorrect"


def test_liberties_are_correct_and_not_general() -> None:
    found = given(probe("input-returned", "the result shares argument 1", "n"), shapes="any")
    assert (found.status, found.general) == ("correct", False)
    assert "argument 1" in found.sentence
    assert found.reasons == ("the result shares argument 1",)


def test_nothing_seen_is_nothing_said() -> None:
    found = given()
    assert (found.status, found.general, found.reasons) == ("correct", True, ())
