"""A device that doesn't check accesses gives the verdict of one that does: another device is asked beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from grader import judge, sandbox
from grader.config import Options
from grader.devices import RunResult, choose, choose_checker, devices
from grader.devices.registry import DeviceEntry
from grader.devices.sim.device import Simulator
from grader.diagnose.headline import headline
from grader.errors import GraderError
from grader.judge import soundness
from grader.pipeline import GradingContext, open_context
from grader.pipeline.review import assess, review
from grader.pipeline.soundness_check import unchecked_runs
from grader.records import (
    Assessment,
    Build,
    Comparison,
    Evidence,
    Finding,
    Run,
    Sample,
    Task,
    TensorSpec,
    Verdict,
    Workload,
)
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.attacks import suite
from tests.corpus import corpus

LABELS = {label.name: label for label in (*corpus.originals(), *corpus.mutants())}
OF_A_DEVICE = {
    *(
        "name",
        "identity",
        "facts",
        "seconds",
        "ready",
        "build_key",
        "build",
        "draft",
    ),
}
RACE, SOUND = "softmax_tree--drop-barrier-3", "uniform_factor_mean"


class Blind:
    """The simulator as a GPU is: it computes the values, and tells nothing of how."""

    def __init__(self, sees: Simulator) -> None:
        self.sees = sees

    def __getattr__(self, name: str) -> Any:
        if name in OF_A_DEVICE:
            return getattr(self.sees, name)
        raise AttributeError(name)

    def run(self, *program: Any, **how: Any) -> list[RunResult]:
        bare: Mapping[str, Any] = {"evidence": (), "counts": (), "launches": ()}
        found = self.sees.run(*program, **how)
        return [dataclasses.replace(one, run=one.run.model_copy(update=bare)) for one in found]


class Refuses(Simulator):
    """A simulator that can't run anything."""

    def run(self, *_: Any, **__: Any) -> Any:
        raise GraderError("the simulator's memory is full")


class Breaks(Simulator):
    """A simulator with a mistake of ours in it."""

    def run(self, *_: Any, **__: Any) -> Any:
        raise KeyError("launches")


@pytest.fixture
def grading(tmp_path: Path) -> GradingContext:
    try:
        known = open_context(Options(device="sim", repair=False), Store(tmp_path), 20260101)
    except GraderError as error:
        pytest.skip(f"the simulator can't be prepared here: {error}")
    assert isinstance(known.device, Simulator)
    blind: Any = Blind(known.device)
    return dataclasses.replace(known, device=blind, checker=known.device)


def graded(grading: GradingContext, name: str) -> Assessment:
    options = grading.options.model_copy(update={"task": LABELS[name].task})
    sample = Sample(id=name, origin=name, format="python", text=LABELS[name].code)
    return assess(dataclasses.replace(grading, options=options), sample)


@pytest.mark.slow
def test_a_race_that_the_device_does_not_see_is_unsound(grading: GradingContext) -> None:
    blind = graded(dataclasses.replace(grading, checker=None), RACE)
    assert blind.evaluation.verdict.status == "correct"
    made = graded(grading, RACE)
    verdict = made.evaluation.verdict
    assert verdict.status == "unsound", verdict
    assert "(seen on sim)" in verdict.sentence
    assert not [item for run in made.evaluation.runs for item in run.evidence]
    error = next(one for one in made.findings if one.severity == "error")
    assert (error.rule, error.confidence) == ("SYN002", "proven")
    assert {item.device for item in error.evidence} == {"sim"}


@pytest.mark.slow
def test_wrong_values_are_followed_on_the_device_that_checks(grading: GradingContext) -> None:
    label = LABELS["l2_norm_dispatch--lose-value"]
    options = grading.options.model_copy(update={"task": label.task})
    sample = Sample(id="lost", origin="lost", format="python", text=label.code)
    made = review(dataclasses.replace(grading, options=options), sample)
    error = next(one for one in made.findings if one.severity == "error")
    # By the trace of its values, or by a changed run that came out right.
    assert error.rule in {"DEP002", "DEP006"}
    assert error.place
    assert error.place.line == min(label.lines)


@pytest.mark.slow
def test_results_that_are_handed_out_again_are_seen_by_the_device_that_counts_launches(
    grading: GradingContext,
) -> None:
    case = next(one for one in suite.attacks() if one.name == "w02_kept_by_a_sample")
    sample = Sample(id="kept", origin="kept", format="python", text=case.code)
    options = grading.options.model_copy(update={"task": case.task})
    seen = assess(dataclasses.replace(grading, options=options), sample).evaluation
    assert seen.verdict.status == "dishonest"
    assert "returns the result of an earlier call" in seen.verdict.sentence


@pytest.mark.slow
def test_a_sound_program_stays_correct(grading: GradingContext) -> None:
    verdict = graded(grading, SOUND).evaluation.verdict
    assert (verdict.status, verdict.general) == ("correct", True), verdict
    assert not any("not examined" in reason for reason in verdict.reasons)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Refuses, "the simulator's memory is full"),
        (Breaks, "the check failed: KeyError: 'launches'"),
    ],
)
def test_what_can_not_be_checked_is_said_and_not_charged(
    grading: GradingContext, kind: type[Simulator], why: str
) -> None:
    checker = grading.checker
    assert isinstance(checker, Simulator)
    fields = {f.name: getattr(checker, f.name) for f in dataclasses.fields(checker)}
    verdict = graded(dataclasses.replace(grading, checker=kind(**fields)), RACE).evaluation
    assert verdict.verdict.status == "correct"
    assert [reason for reason in verdict.verdict.reasons if "not examined on sim" in reason] == [
        f"not examined on sim for races and accesses out of bounds: {why}"
    ]


ATTACKS = Path(__file__).resolve().parents[1] / "attacks"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status"),
    [("honest/hooks_that_look", "correct"), ("n14_child_that_answers", "dishonest")],
)
def test_whose_work_it_is_is_told_by_the_device_that_checks(
    grading: GradingContext, name: str, status: str
) -> None:
    options = grading.options.model_copy(update={"task": "relu", "policy": "custom-only"})
    text = (ATTACKS / f"{name}.py").read_text("utf-8")
    sample = Sample(id="s", origin="s", format="python", text=text)
    verdict = assess(dataclasses.replace(grading, options=options), sample).evaluation.verdict
    assert verdict.status == status, verdict


def test_what_differs_from_guest_to_guest_is_a_proven_race_and_not_the_grader() -> None:
    small = Workload(name="small", role="nominal", inputs=(TensorSpec(shape=(4,)),))
    full = Workload(name="x full", role="full", inputs=(TensorSpec(shape=(9,)),))
    task = Task(name="t", title="", source="file", reference="", workloads=(small, full))
    race = Evidence(kind="simulator", code="race", text="Seen.", workload="small", device="sim")

    def found(*evidence: Evidence) -> Verdict:
        return judge.verdict(
            task=task,
            build=Build(status="built", device="cuda", key="k"),
            runs=(
                Run(workload="small", device="cuda", status="ran"),
                Run(workload="x full", device="cuda", status="grader_error", reason="one guest"),
            ),
            comparisons=(Comparison(workload="small", role="nominal", equal=True),),
            checked=(Run(workload="small", device="sim", status="ran", evidence=evidence),),
        )

    assert found().status == "grader_error"
    assert found(race).status == "unsound"
    assert "(seen on sim)" in found(race).sentence
    assert any("one guest" in reason for reason in found(race).reasons)


def test_the_first_sentence_names_the_device_that_showed_it() -> None:
    seen = Evidence(kind="simulator", code="race", text="Seen.", device="sim")
    finding = Finding(
        rule="SYN002",
        name="missing-barrier",
        severity="error",
        confidence="proven",
        message="two threads race.",
        evidence=(seen,),
    )
    verdict = Verdict(status="unsound", sentence="By luck.")
    assert headline(verdict, (finding,)).sentence == "Two threads race (seen on sim)."


def test_how_another_devices_run_ends_is_a_remark() -> None:
    runs = (
        Run(workload="a", device="sim", status="ran"),
        Run(workload="b", device="sim", status="timeout", reason="30 s were over"),
        Run(workload="c", device="sim", status="timeout", reason="30 s were over"),
    )
    assert list(soundness.reasons_unexamined(runs, {"a", "b", "c"})) == [
        "not examined on sim for races and accesses out of bounds: on b it ended there as timeout: 30 s were over"
    ]
    relu = builtin_tasks()["relu"]
    said = list(
        soundness.reasons_unexamined(
            unchecked_runs(relu, "none", "it was not asked"), {w.name for w in relu.judged}
        )
    )
    assert said == ["not examined for races and accesses out of bounds: it was not asked"]


def test_who_checks_is_found_in_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = object()
    blind = DeviceEntry("blind", 1, lambda: "", "", lambda *_: None)  # type: ignore[arg-type, return-value]
    sees = dataclasses.replace(devices()["sim"], open=lambda *_: opened)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(choose, "devices", lambda: MappingProxyType({"blind": blind, "sim": sees}))

    def checker(device: str | None, **options: Any) -> tuple[object, str]:
        named = type("Named", (), {"name": device})() if device else None
        given = (sandbox.strongest(), Store(tmp_path), named, lambda _what: None)
        return choose_checker(Options(**options), *given)  # type: ignore[arg-type]

    assert checker("blind") == (opened, "")
    assert checker("sim") == (None, "")  # it checks by itself
    assert checker(None) == (None, "")
    assert checker("blind", sanitize=False)[0] is None
