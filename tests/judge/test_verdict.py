"""One word and one sentence for where a submission stands."""

from __future__ import annotations

import pytest

from grader.judge import own_weights, verdict
from grader.judge.side_effects import COMPARED, SATURATED
from grader.records import (
    Build,
    Comparison,
    Evidence,
    Launch,
    Mismatch,
    Narrowed,
    Place,
    Run,
    Task,
    TensorSpec,
    Workload,
)

NAMES = {"n1": "nominal", "n2": "nominal", "s1": "stress", "zero": "stress", "g1": "general"}
TASK = Task(
    name="t",
    title="t",
    source="builtin",
    reference="",
    workloads=(
        *(
            Workload(
                name=name,
                role=role,
                inputs=(TensorSpec(shape=(4,)),),
                reference_may_be_nonfinite=name == "zero",
            )
            for name, role in NAMES.items()
        ),
        Workload(name="full", role="full", inputs=(TensorSpec(shape=(400,)),)),
    ),
)
BUILT = Build(status="built", device="sim")


def seen(wrong=(), ended=None, *, half=(), kernelbench=True):
    """Runs and comparisons in which all went well, but for these workloads."""
    ended = ended or {}
    runs = tuple(
        Run(workload=n, device="sim", status=ended.get(n, "ran"), reason="because") for n in NAMES
    )
    comparisons = tuple(
        Comparison(
            workload=n,
            role=role,
            equal=n not in wrong,
            decides=n != "zero",
            mismatch=Mismatch(kind="values", text=f"{n} differs") if n in wrong else None,
            half_precision=n in half,
            kernelbench_equal=kernelbench and n not in wrong,
            note="" if n != "zero" else "the reference is NaN",
        )
        for n, role in NAMES.items()
        if ended.get(n, "ran") == "ran"
    )
    return {"runs": runs, "comparisons": comparisons}


def given(**more):
    return verdict(task=TASK, build=BUILT, **more)


def test_all_right():
    found = given(**seen())
    assert (found.status, found.correct, found.general, found.honest) == (
        "correct",
        True,
        True,
        True,
    )
    assert found.kernelbench
    assert found.compiled


def test_what_kernelbench_would_pass_is_said_of_a_wrong_result():
    """Who holds a KernelBench record beside the review must see why they differ."""
    said = "KernelBench's comparison (allclose) passes it"
    assert given(**seen({"s1"})).reasons[0].startswith(said)
    found = given(**seen({"s1"}, kernelbench=False))
    assert not any(reason.startswith(said) for reason in found.reasons)


def test_a_result_that_torch_computed_alone_is_called_that():
    launch = Launch(kernel="k", grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0)

    def sentence(**fields):
        both = seen()
        runs = tuple(run.model_copy(update=fields) for run in both["runs"])
        return given(runs=runs, comparisons=both["comparisons"]).sentence

    alone = "; no kernel of its own ran: torch computed the result."
    by_torch = {"aten::relu": 1, "aten::empty": 2}
    assert sentence(operators=by_torch).endswith(alone)
    assert alone not in sentence(operators=by_torch, launches=(launch,))
    assert alone not in sentence(operators={"aten::empty": 2})
    assert alone not in sentence(operators=by_torch, device="cuda"), "launches aren't seen there"


@pytest.mark.parametrize("name", ["n1", "n2", "s1"])
def test_one_deciding_workload_wrong(name):
    found = given(**seen({name}))
    assert found.status == "incorrect"
    assert found.correct is False
    assert name in found.sentence
    assert found.general is None


def test_other_sizes_are_a_question_of_their_own():
    found = given(**seen({"g1"}))
    assert (found.status, found.general) == ("correct", False)
    assert "g1" in found.sentence
    strict = given(**seen({"g1"}), shapes="any")
    assert strict.status == "incorrect"
    crashed = given(**seen(ended={"g1": "crashed"}))
    assert (crashed.status, crashed.general) == ("correct", False)
    unseen = given(**seen(ended={"g1": "not_run"}))
    assert (unseen.status, unseen.general) == ("correct", None)


def dry_run_of(source):
    """A program that is right at reduced sizes and fails at the full one."""
    both = seen()
    run = Run(workload="full", device="sim", status="raised", reason="the launch failed")
    task = TASK.model_copy(update={"source": source})
    return verdict(
        task=task, build=BUILT, runs=(*both["runs"], run), comparisons=both["comparisons"]
    )


@pytest.mark.parametrize("source", ["kernelbench", "file", "embedded"])
def test_a_task_s_own_full_size_decides(source):
    found = dry_run_of(source)
    assert (found.status, found.correct) == ("crashed", False)
    assert "at the task's own (full)" in found.sentence
    assert "the launch failed" in found.sentence


def wrong_at_full_size(*, kernelbench: bool):
    """A program that ends at the full size with a wrong result, which only a GPU computes."""
    around = seen()
    run = Run(workload="full", device="cuda", status="ran")
    comparison = Comparison(
        workload="full",
        role="full",
        equal=False,
        mismatch=Mismatch(kind="values", text="3% of the elements are wrong"),
        kernelbench_equal=kernelbench,
    )
    return {
        "runs": (*around["runs"], run),
        "comparisons": (*around["comparisons"], comparison),
    }


@pytest.mark.parametrize("source", ["builtin", "file"])
def test_a_wrong_result_at_a_task_s_full_size_is_incorrect(source):
    """A built-in task's as well, as on the simulator, where wrong stores of blocks at full size say so."""
    task = TASK.model_copy(update={"source": source})
    found = verdict(task=task, build=BUILT, **wrong_at_full_size(kernelbench=False))
    assert (found.status, found.correct) == ("incorrect", False)
    assert "at the task's own (full) 3% of the elements are wrong" in found.sentence


def test_a_result_at_full_size_that_kernelbench_would_pass_does_not_decide():
    task = TASK.model_copy(update={"source": "file"})
    found = verdict(task=task, build=BUILT, **wrong_at_full_size(kernelbench=True))
    assert (found.status, found.general) == ("correct", False)
    assert "not in general: on full, 3% of the elements are wrong" in found.sentence


def test_a_verdict_says_the_largest_size_that_was_seen():
    assert given(**seen()).seen_at == "reduced sizes"
    assert given(**seen()).sentence.endswith("at reduced sizes alone.")
    compared = Evidence(kind="probe", code=COMPARED, text="400 are right", workload="full")
    found = given(**seen(), probes=(compared,))
    assert found.seen_at == "sampled blocks"
    assert "sampled blocks of the task's own size" in found.sentence
    around = wrong_at_full_size(kernelbench=True)
    assert given(**around).seen_at == "full"
    assert given().seen_at is None


def test_a_size_that_hides_what_is_wrong_is_said_to():
    flat = Evidence(kind="probe", code=SATURATED, text="there all is 1", workload="full")
    found = given(**seen({"n1"}, half={"n1"}), probes=(flat,))
    assert found.status == "incorrect"
    assert found.sentence.endswith("; there all is 1")
    assert "there all is 1" in found.reasons
    assert "there" not in given(**seen({"n1"}, half={"n1"})).sentence


def test_a_nominal_workload_may_be_the_full_size():
    full = Workload(name="full", role="full", inputs=(TensorSpec(shape=(4,)),))
    task = TASK.model_copy(update={"workloads": (*TASK.workloads[:-1], full)})
    found = verdict(task=task, build=BUILT, **seen())
    assert (found.seen_at, found.sentence) == ("full", "Correct on all 3 deciding workloads.")


def test_a_built_in_task_s_full_size_is_a_question_of_generality():
    found = dry_run_of("builtin")
    assert (found.status, found.general) == ("correct", False)
    assert "the launch failed" in found.sentence


def test_nothing_hangs_on_a_workload_where_the_reference_is_nan():
    found = given(**seen({"zero"}))
    assert found.status == "correct"
    assert any("zero" in reason for reason in found.reasons)
    assert given(**seen(ended={"zero": "timeout"})).status == "correct"


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ("raised", "crashed"),
        ("crashed", "crashed"),
        ("out_of_memory", "crashed"),
        ("hung", "hung"),
        ("timeout", "timeout"),
        ("not_run", "not_run"),
        ("grader_error", "grader_error"),
    ],
)
def test_how_a_run_ended(ended, status):
    found = given(**seen(ended={"s1": ended}))
    assert found.status == status
    assert found.correct is (False if status in {"crashed", "hung"} else None)
    assert "because" in found.sentence


def test_order_of_what_went_wrong():
    assert given(**seen({"n1"}, {"s1": "hung"})).status == "hung"
    assert given(**seen({"n1"}, {"s1": "crashed", "n2": "hung"})).status == "crashed"
    # A device that can't run one workload doesn't hide that another one is wrong.
    assert given(**seen({"n1"}, {"s1": "not_run"})).status == "incorrect"
    assert given(**seen({"n1"}, {"s1": "timeout"})).status == "incorrect"


def test_a_run_without_a_comparison_is_never_a_pass():
    both = seen()
    found = given(runs=both["runs"], comparisons=both["comparisons"][1:])
    assert found.status == "grader_error"
    assert given().status == "not_run"


def test_half_precision_is_said():
    found = given(**seen({"n1", "n2"}, half={"n1", "n2"}))
    assert found.status == "incorrect"
    assert "half precision only" in found.sentence
    mixed = given(**seen({"n1", "n2"}, half={"n1"}))
    assert "half precision only" not in mixed.sentence
    assert "n2 differs" in mixed.sentence  # what is wrong by more leads
    general = next(name for name, role in NAMES.items() if role == "general")
    elsewhere = given(**seen({"n1", general}, half={"n1"}))
    assert "half precision only" not in elsewhere.sentence
    crash = given(**seen({"n1"}, {general: "crashed"}, half={"n1"}))
    assert "half precision only" not in crash.sentence


def test_dishonest_and_rejected():
    found = given(**seen(), dishonest=("it returned the input of an earlier call",))
    assert (found.status, found.honest) == ("dishonest", False)
    found = given(**seen(), rejected=("it returns torch.norm's result",))
    assert (found.status, found.honest) == ("rejected", False)


def test_builds():
    place = Place(line=58, end_line=58)
    error = Evidence(kind="compiler", code="error", text="no such header", place=place)
    failed = Build(status="failed", device="sim", errors=(error, error))
    found = verdict(task=TASK, build=failed)
    assert (found.status, found.compiled, found.correct) == ("build_failed", False, False)
    assert "line 58" in found.sentence
    late = verdict(task=TASK, build=Build(status="timeout", device="sim", reason="300 s"))
    assert late.status == "build_timeout"
    broken = verdict(
        task=TASK, build=Build(status="grader_error", device="sim", reason="no compiler")
    )
    assert (broken.status, broken.compiled) == ("grader_error", None)


def test_without_task_code_or_device():
    found = verdict(task=None, build=BUILT, no_task="too little text")
    assert (found.status, found.compiled) == ("no_task", True)
    assert "compiles" in found.sentence
    assert verdict(task=None, build=None, no_code="only prose").status == "no_code"
    found = verdict(task=TASK, build=None, no_device="no compiler here")
    assert found.status == "not_run"
    assert "no compiler" in found.sentence


def test_a_task_that_could_not_be_described_is_none():
    empty = TASK.model_copy(update={"workloads": (), "notes": ("its reference fails",)})
    found = verdict(task=empty, build=BUILT)
    assert (found.status, found.compiled) == ("no_task", True)
    assert "its reference fails" in found.sentence


def test_a_weak_task_is_named():
    weak = TASK.model_copy(update={"weak": ("zeros pass",)})
    found = verdict(task=weak, build=BUILT, **seen())
    assert "zeros pass" in found.sentence


def with_weights(equal):
    """A task whose last workload is given the reference's weights, and whether each is right."""
    names = ("nominal", "stress", "drawn")
    roles = {"nominal": "nominal", "stress": "stress", "drawn": "general"}
    task = Task(
        name="t",
        title="t",
        source="file",
        reference="",
        workloads=tuple(
            Workload(
                name=name,
                role=roles[name],
                inputs=(TensorSpec(shape=(4,)),),
                weights="drawn" if name == "drawn" else "initial",
            )
            for name in names
        ),
    )
    comparisons = tuple(
        Comparison(
            workload=name,
            role=roles[name],
            equal=right,
            mismatch=None if right else Mismatch(kind="values", text=f"{name} differs"),
        )
        for name, right in zip(names, equal, strict=True)
    )
    runs = tuple(Run(workload=name, device="sim", status="ran") for name in names)
    return task, runs, comparisons


@pytest.mark.parametrize(
    ("equal", "only_weights"),
    [
        ((False, False, True), True),
        ((False, False, False), False),
        ((True, False, True), False),
        ((True, True, False), False),
    ],
)
def test_wrong_only_with_the_weights_that_it_draws(equal, only_weights):
    task, runs, comparisons = with_weights(equal)
    probes = own_weights(task, comparisons)
    assert bool(probes) == only_weights
    found = verdict(task=task, build=BUILT, runs=runs, comparisons=comparisons, probes=probes)
    assert found.status == ("correct" if all(equal[:2]) else "incorrect")
    assert ("with the reference's weights it is right" in found.sentence) == only_weights


def test_weights_that_another_way_is_right_with_tell_nothing():
    task, runs, comparisons = with_weights((False, False, True))
    made = Launch(kernel="product", grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0)
    *own, drawn = runs
    own = [run.model_copy(update={"launches": (made,)}) for run in own]
    assert not own_weights(task, comparisons, [*own, drawn])
    assert own_weights(task, comparisons, [*own, drawn.model_copy(update={"launches": (made,)})])


def test_a_sentence_is_one_line_however_much_a_submission_says():
    told = seen(ended={"n1": "raised"})
    long = "Error: a\n b " + "c" * 9000
    runs = tuple(run.model_copy(update={"reason": long}) for run in told["runs"])
    found = given(runs=runs, comparisons=told["comparisons"])
    assert found.status == "crashed"
    assert "\n" not in found.sentence
    assert len(found.sentence) < 700


def test_what_compiles_in_a_call_is_not_said_to_build():
    told = seen(ended={"n1": "raised"})
    late = BUILT.model_copy(update={"lazy": True})
    for build, words in ((BUILT, "It builds, but on n1"), (late, "It loads, but on n1")):
        found = verdict(task=TASK, build=build, **told)
        assert found.sentence.startswith(words)


def test_what_rounds_since_a_switch_is_on_names_the_switch():
    found = seen(NAMES, half=NAMES)
    runs = tuple(
        run.model_copy(
            update={
                "switches": ("torch.backends.cuda.matmul.allow_tf32",),
                "narrowed": (Narrowed(operator="aten::mm", precision="tf32", count=1),),
            }
        )
        for run in found["runs"]
    )
    assert (
        "since it switches torch.backends.cuda.matmul.allow_tf32 on"
        in given(**{**found, "runs": runs}).sentence
    )


@pytest.mark.parametrize(
    ("general", "with_what"),
    [
        ({"weights": "drawn"}, "other weights"),
        ({}, "other values"),
        ({"init": ([4, 5],)}, "other sizes"),
        ({"inputs": (TensorSpec(shape=(7,)),), "weights": "drawn"}, "other sizes"),
    ],
)
def test_it_says_with_what_a_right_program_fails_beyond_what_decides(general, with_what):
    workloads = (w.model_copy(update=general if w.name == "g1" else {}) for w in TASK.workloads)
    task = TASK.model_copy(update={"workloads": tuple(workloads)})
    found = verdict(task=task, build=BUILT, **seen({"g1"}))
    assert (found.status, found.general, found.fails_with) == ("correct", False, with_what)
    assert f"but not in general ({with_what}): on g1, g1 differs" in found.sentence
    raised = verdict(task=task, build=BUILT, **seen(ended={"g1": "raised"}))
    assert (raised.status, raised.general, raised.fails_with) == ("correct", False, with_what)
    assert verdict(task=task, build=BUILT, **seen()).fails_with is None
    assert verdict(task=task, build=BUILT, **seen({"n1", "g1"})).fails_with is None
