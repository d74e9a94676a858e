"""Everything that a run shows ends as exactly one finding; what it doesn't show takes text back."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.records import (
    Context,
    Evidence,
    NotDeviceMemory,
    Place,
    WrongValues,
)
from grader.simulator.wording import KINDS
from grader.source import parse
from grader.tasks import builtin_tasks
from tests.rules.examples import as_submission
from tests.rules.reviews import review_with_fixes

KERNELS = Path(__file__).parent / "kernels"
HOST = (
    "launch-error",
    "launch-error-unseen",
    "host-memory",
    "null-pointer",
    "unwritten-output",
    "host-access",
)
ROLES = ("nominal", "general")
FAMILIES = ("SYN", "RED", "MEM", "IDX", "NUM")


def _evidence(kind: str, line: int, kernel: str, other: int = 0) -> Evidence:
    return Evidence(
        kind="simulator",
        code=kind,
        text=f"The simulator saw {kind}.",
        place=Place(line=line, end_line=line),
        related=(Place(line=other, end_line=other),) if other else (),
        kernel=kernel,
    )


def _line(code: str, words: str) -> int:
    return next(i for i, line in enumerate(code.splitlines(), 1) if words in line)


@pytest.mark.parametrize("kind", [*KINDS, *HOST])
def test_alone_it_is_one_finding(kind: str) -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    item = _evidence(kind, _line(code, "s[tid] += s[tid + k]"), "row_mean")
    context = Context(evidence=(item,), device="sim")
    found = review_with_fixes(parse(code), context, select=FAMILIES)
    carrying = [f for f in found if item in f.evidence]
    assert len(carrying) == 1, [(f.rule, f.message) for f in carrying]
    assert carrying[0].confidence == "proven"


def test_it_proves_what_the_text_said() -> None:
    text = (KERNELS / "tree_sum.cu").read_text().replace("    s[tid] = sum;\n", "")
    code = as_submission(text)
    line = _line(code, "s[tid] += s[tid + k]")
    context = Context(evidence=(_evidence("uninit-shared-read", line, "row_mean"),), device="sim")
    found = [f for f in review_with_fixes(parse(code), context, select=FAMILIES) if f.evidence]
    assert [(f.rule, f.confidence) for f in found] == [("SYN001", "proven")]


def test_a_race_of_two_lines_is_one_finding() -> None:
    text = (KERNELS / "tree_sum.cu").read_text()
    code = as_submission(text.replace("s[tid] = sum;\n    __syncthreads();", "s[tid] = sum;"))
    store, read = _line(code, "s[tid] = sum;"), _line(code, "s[tid] += s[tid + k]")
    items = (_evidence("race", read, "row_mean", store), _evidence("race", store, "row_mean", read))
    found = review_with_fixes(parse(code), Context(evidence=items, device="sim"), select=FAMILIES)
    assert [(f.rule, f.confidence, len(f.evidence)) for f in found if f.severity == "error"] == [
        ("SYN002", "proven", 2)
    ]


def _rules(code: str, *items: Evidence) -> list[str]:
    found = review_with_fixes(parse(code), Context(evidence=items, device="sim"), select=FAMILIES)
    return sorted(f.rule for f in found if f.evidence)


def test_what_follows_from_a_fault_is_no_fault_of_its_own() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    line, launch = _line(code, "s[tid] += s[tid + k]"), _line(code, "<<<")
    beyond = _evidence("out-of-bounds", line, "row_mean")
    assert _rules(code, beyond) == ["MEM011"]
    assert _rules(code, beyond, _evidence("host-memory", launch, "row_mean")) == ["MEM003"]
    assert _rules(code, beyond, _evidence("global-race", line, "row_mean")) == ["MEM011"]
    unwritten = _evidence("unwritten-output", 0, "")
    assert _rules(code, unwritten) == ["MEM008"]
    refused = _evidence("launch-error-unseen", launch, "row_mean")
    assert "MEM008" not in _rules(code, unwritten, refused)


def test_a_loop_that_a_run_never_left_is_no_barrier() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    line = _line(code, "s[tid] += s[tid + k]")
    assert _rules(code, _evidence("livelock", line, "row_mean")) == ["MEM012"]


def test_a_run_proves_which_tensor_lies_in_cpu_memory() -> None:
    text = (KERNELS / "tree_sum.cu").read_text()
    code = as_submission(text.replace("empty_like(x)", "empty({x.size(0), x.size(1)})"))
    item = _evidence("host-memory", _line(code, "<<<"), "row_mean")
    item = item.model_copy(update={"details": NotDeviceMemory(parameter=1)})
    found = [
        f
        for f in review_with_fixes(
            parse(code), Context(evidence=(item,), device="sim"), select=("MEM",)
        )
        if f.rule == "MEM003"
    ]
    assert [(f.confidence, f.place.line) for f in found] == [("proven", _line(code, "empty("))]


def test_a_pattern_at_another_size_does_not_explain_what_is_wrong_at_the_task_s_own() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    task = builtin_tasks()["l2-norm"]
    named = {role: next(w.name for w in task.workloads if w.role == role) for role in ROLES}
    zeros = {
        role: Evidence(
            kind="mismatch", code="zeros", text="z", workload=name, details=WrongValues(whole=True)
        )
        for role, name in named.items()
    }
    other = Evidence(kind="mismatch", code="scattered", text="s", workload=named["nominal"])

    def patterns(*items: Evidence) -> list[object]:
        context = Context(task=task, evidence=items)
        found = review_with_fixes(parse(code), context, select=("NUM001",))
        return [(finding.evidence[0].code, finding.severity) for finding in found]

    assert patterns(zeros["nominal"]) == [("zeros", "error")]
    assert patterns(zeros["general"]) == [("zeros", "warning")]
    assert patterns(other, zeros["general"]) == [("scattered", "error")]


def test_the_bits_of_shared_memory_are_no_unwritten_output() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    for bits, rules in (("0xffffffff", []), ("0x7ffd7ffd", ["MEM008"])):
        item = Evidence(
            kind="mismatch", code="unwritten", text="NaN", details=WrongValues(bits=bits)
        )
        context = Context(evidence=(item,), device="sim")
        found = review_with_fixes(parse(code), context, select=("MEM008",))
        assert [f.rule for f in found] == rules


def test_bits_that_only_a_read_outside_gives_are_one() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    item = Evidence(
        kind="mismatch", code="outside", text="NaN", details=WrongValues(bits="0x7ffb7ffb")
    )
    (found,) = review_with_fixes(
        parse(code), Context(evidence=(item,), device="cuda"), select=("MEM",)
    )
    assert (found.rule, found.confidence, found.place) == ("MEM011", "proven", None)
    line = _line(code, "s[tid] += s[tid + k]")
    run = _evidence("out-of-bounds", line, "row_mean")
    both = Context(evidence=(item, run), device="sim")
    (found,) = review_with_fixes(parse(code), both, select=("MEM011",))
    assert found.place is not None  # the run names the line; the bits say no more


def test_what_a_device_saw_without_a_line_is_told_with_the_line_that_another_saw() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    beside = Evidence(kind="sanitizer", code="out-of-bounds", text="36 bytes are overwritten.")
    run = _evidence("out-of-bounds", _line(code, "s[tid] += s[tid + k]"), "row_mean")
    for seen in ((beside, run), (beside,)):
        context = Context(evidence=seen, device="cuda")
        (found,) = review_with_fixes(parse(code), context, select=("MEM011",))
        assert (found.place is not None, len(found.evidence)) == (run in seen, len(seen))


def test_threads_that_left_are_one_defect_wherever_they_are_missed() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    first, second = _line(code, "s[tid] += s[tid + k]"), _line(code, "s[tid] = sum;")
    kinds = ("barrier-exited", first), ("barrier-exited", second), ("sync-exited-lanes", first)
    items = tuple(_evidence(kind, line, "row_mean") for kind, line in kinds)
    context = Context(evidence=items, device="sim")
    (found,) = [f for f in review_with_fixes(parse(code), context, select=("SYN",)) if f.evidence]
    assert (found.rule, found.also, len(found.evidence)) == ("SYN003", ("SYN004",), 3)


@pytest.mark.parametrize(("barrier", "rules"), [("if (tid < 1) ", {"SYN003"}), ("", set())])
def test_a_barrier_in_a_branch_is_told_beside_the_exchange_that_waits(
    barrier: str, rules: set[str]
) -> None:
    text = (KERNELS / "tree_sum.cu").read_text()
    body = f"{barrier}{{ __syncthreads(); }}\n    if (tid < 8) s[tid] = __shfl_down_sync(~0u, s[tid], 1);\n    "
    code = as_submission(text.replace("s[tid] = sum;", f"s[tid] = sum;\n    {body}", 1))
    lines = _line(code, "{ __syncthreads(); }"), _line(code, "__shfl_down_sync")
    items = tuple(_evidence("deadlock", line, "row_mean") for line in lines)
    found = review_with_fixes(
        parse(code), Context(evidence=items, device="sim"), select=("SYN003",)
    )
    assert {one.rule for one in found} == rules


def test_an_explanation_holds_where_it_was_seen() -> None:
    code = as_submission((KERNELS / "tree_sum.cu").read_text())
    wrong = Evidence(kind="mismatch", code="zeros", text="all are zero", workload="big")
    for workload, rules in (("big", {"SYN002"}), ("small", {"SYN002", "NUM001"})):
        line = _line(code, "s[tid] += s[tid + k]")
        race = _evidence("race", line, "row_mean", line).model_copy(update={"workload": workload})
        context = Context(evidence=(wrong, race), device="sim")
        found = review_with_fixes(parse(code), context, select=("SYN", "NUM001"))
        assert {f.rule for f in found if f.severity == "error"} == rules


CHECKED = as_submission("""
__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
    TORCH_CHECK(x.size(1) <= 64,
                "rows of at most 64, please");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    copy<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
""")


@pytest.mark.parametrize(
    ("raised", "line", "named"),
    [
        (
            "RuntimeError: x must be contiguous",
            "TORCH_CHECK(x.is_contiguous()",
            "`x.is_contiguous()`",
        ),
        ("RuntimeError: rows of at most 64, please", "TORCH_CHECK(x.size(1)", "`x.size(1) <= 64`"),
    ],
)
def test_a_check_of_its_own_that_refuses_the_input_is_named(
    raised: str, line: str, named: str
) -> None:
    task = builtin_tasks()["softmax"]
    for role, severity in (("nominal", "error"), ("general", "note")):
        workload = next(w.name for w in task.workloads if w.role == role)
        evidence = Evidence(kind="python", code="raised", text=raised, workload=workload)
        found = review_with_fixes(parse(CHECKED), Context(task=task, evidence=(evidence,)))
        (refused,) = [f for f in found if f.rule == "API006"]
        assert refused.severity == severity
        assert refused.place is not None
        assert line in CHECKED.splitlines()[refused.place.line - 1]
        assert named in refused.message
        assert refused.confidence == "proven"


def test_checks_for_one_layout_are_fixed_together() -> None:
    code = CHECKED.replace('x.is_cuda(), "x must be on the GPU"', "w.is_contiguous()")
    evidence = Evidence(kind="python", code="raised", text="RuntimeError: x must be contiguous")
    found = review_with_fixes(parse(code), Context(evidence=(evidence,)))
    (fixes,) = [f.fixes for f in found if f.rule == "API006"]
    assert {edit.text for fix in fixes for edit in fix.edits} == {
        "w = w.contiguous();",
        "x = x.contiguous();",
    }


def _unwritten(text: str, *more: Evidence) -> list[tuple[str, str, tuple[str, ...]]]:
    item = _evidence("unwritten-output", 0, "").model_copy(update={"place": None})
    context = Context(evidence=(item, *more), device="sim")
    found = review_with_fixes(parse(as_submission(text)), context, select=FAMILIES)
    return [(f.rule, f.confidence, f.also) for f in found if f.severity == "error"]


QUARTERS = """
__global__ void twice(const float4* x, float4* y, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) { float4 v = x[i]; v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2; y[i] = v; }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n4 = x.numel() / 4;
    twice<<<(n4 + 255) / 256, 256>>>((const float4*)x.data_ptr<float>(), (float4*)y.data_ptr<float>(), n4);
    return y;
}
"""


def test_what_was_never_written_is_the_remainder_of_the_quotient() -> None:
    assert _unwritten(QUARTERS) == [("IDX008", "proven", ("MEM008",))]
    checked = QUARTERS.replace("    auto y", "    TORCH_CHECK(x.numel() % 4 == 0);\n    auto y")
    assert _unwritten(checked) == [("MEM008", "proven", ())]
