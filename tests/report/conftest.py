"""Reviews to render: one with something of everything, and words of the test's choice in it."""

from collections.abc import Callable, Sequence

import pytest

from grader.judge import in_keeping
from grader.records import (
    Actor,
    AppliedFix,
    Build,
    Claim,
    Comparison,
    Doubt,
    Edit,
    Evaluation,
    Evidence,
    Finding,
    Fix,
    KernelResources,
    Launch,
    LineCount,
    Mismatch,
    Place,
    Race,
    Repair,
    Review,
    Run,
    SelfReview,
    TaskSummary,
    Timing,
    Verdict,
    Waiting,
    WrongMap,
    WrongRegion,
)
from grader.report import html
from grader.report.entry import entry

CODE = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void total_kernel(const float* x, float* y, int n) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    sums[t] = t < n ? x[t] : 0.0f;
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) sums[t] += sums[t + s];
    }
    if (t == 0) y[0] = sums[0];
}
"""
module = load_inline("total", [""], [source], functions=["total"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.total(x)
'''
Make = Callable[..., Review]


@pytest.fixture
def make_review() -> Make:
    return review


def index_page(reviews: Sequence[Review]) -> str:
    """Return the page of all reviews."""
    environment = reviews[0].environment if reviews else {}
    return html.index([entry(review) for review in reviews], environment)


def review(
    sample: str = "total_race",
    words: str = "two words",
    status: str = "incorrect",
    *,
    code: str = CODE,
    before: str = "Here is the kernel.\n\n```python\n",
    form: str = "transcript",
    origin: str = "samples/total_race.md",
    speedup: float | None = None,
    task: str | None = "total",
) -> Review:
    text = f"{before}{code}```\nIt is 4x faster. {words}\n"
    head = before.count("\n")
    mapped = tuple(range(head + 1, head + 1 + code.count("\n")))
    verdict = Verdict(
        status=status,
        sentence=f"Wrong on 3 of 5 workloads. {words}",
        compiled=True,
        correct=status == "correct",
        general=status == "correct",
        honest=True,
        speedup=speedup,
        speedup_low=speedup and speedup * 0.9,
        speedup_high=speedup and speedup * 1.1,
        reasons=(f"on 1000: {words}",),
        kernelbench=False,
    )
    return Review(
        sample=sample,
        origin=origin,
        format=form,
        text=text,
        code=code,
        line_map=mapped,
        how=f"the only block {words}",
        notes=(words,),
        task=TaskSummary(name=task, source="builtin", reason=words, weak=(words,)),
        evaluation=evaluation(verdict, words),
        findings=in_keeping(verdict, findings(code, words, head)),
        fixes=(AppliedFix(label=words, rule="BLD001", diff=f"-a\n+{words}", status="incorrect"),),
        repairs=repairs(code, words) if status != "correct" else (),
        claims=(
            Claim(line=head + code.count("\n") + 2, quote=words, outcome="false", because=words),
            Claim(line=1, quote="kernel", outcome="true", because="it is one"),
        ),
        self_review=SelfReview(
            doubts=(Doubt(line=1, quote=words, outcome="imagined", because=words),),
            missed=(f"SYN002 {words}",),
        ),
        summary=words,
        environment={"torch": words},
        machine={"host": words, "seconds": 1.5},
    )


def evaluation(verdict: Verdict, words: str) -> Evaluation:
    mismatch = Mismatch(
        kind="values",
        text=f"232 of 1000 elements are wrong. {words}",
        worst_index=(3, 768),
        patterns=(
            Evidence(
                kind="mismatch",
                code="from-index-on",
                text=f"only columns from 768 on are wrong {words}",
                details=WrongRegion(dim=1, first_wrong=768, size=1000),
            ),
        ),
        where=WrongMap(rows=("0" * 24 + "5" + "9" * 7,) * 4, down=words, across=words),
    )
    return Evaluation(
        submission="0" * 64,
        device="sim",
        sandbox="bubblewrap",
        build=Build(
            status="failed" if verdict.status == "build_failed" else "built",
            device="sim",
            log=f"cuda.cu(3): error: {words}",
            resources=(
                KernelResources(kernel=f"total_kernel {words}", registers=32, shared_bytes=1024),
            ),
        ),
        runs=(
            Run(
                workload="4x1000",
                device="sim",
                status="ran",
                output=words,
                evidence=(stuck(words),),
                launches=(Launch(kernel=words, grid=(4, 1, 1), block=(256, 1, 1), shared_bytes=0),),
                counts=(
                    LineCount(
                        kernel="total_kernel", line=9, requests=10, sectors=320, ideal_sectors=40
                    ),
                ),
            ),
        ),
        comparisons=(
            Comparison(workload="4x1000", role="nominal", equal=False, mismatch=mismatch),
        ),
        timings=(
            Timing(
                what="submission",
                workload=words,
                median=1.0,
                low=0.9,
                high=1.1,
                iqr=0.1,
                samples=100,
                converged=True,
                note=words,
            ),
        ),
        verdict=verdict,
        seconds={"build": 1.25, "run": 0.5},
    )


def stuck(words: str) -> Evidence:
    return Evidence(
        kind="simulator",
        code="deadlock",
        text=f"8 threads wait at a warp-wide operation. {words}",
        place=Place(line=11, end_line=11),
        kernel=words,
        details=Waiting(at="warp", threads=8),
        workload="4x1000",
    )


def findings(code: str, words: str, head: int) -> tuple[Finding, ...]:
    lines = code.split("\n")
    number = next((n for n, line in enumerate(lines, 1) if "sums[t + s]" in line), 1)
    at = code.find("        if (t < s)")
    column = max(lines[number - 1].find("sums"), 0)
    place = Place(
        line=number,
        end_line=number,
        column=column,
        end_column=column + 4,
        sample_line=number + head,
        excerpt=words[:200],
    )
    first = Place(line=9, end_line=9, sample_line=9 + head)
    race = Evidence(
        kind="simulator",
        code="race",
        text=f"thread 0 reads what thread 32 wrote. {words}",
        place=place,
        related=(first,),
        workload="4x1000",
        count=3,
        actor=Actor(thread=(0, 0, 0)),
        other_actor=Actor(thread=(32, 0, 0)),
        details=Race(conflict="write-read"),
    )
    barrier = Fix(
        label=f"add a barrier {words}",
        edits=(Edit(start=at, end=at, text="        __syncthreads();\n"),),
    )
    return (
        Finding(
            rule="SYN002",
            name="missing-barrier",
            severity="error",
            confidence="proven",
            message=f"`sums` is read before all have written it. {words}",
            place=place,
            evidence=(race,),
            consequences=(words,),
            fixes=(barrier,) if at >= 0 else (),
        ),
        Finding(
            rule="NUM001",
            name="other-operation",
            severity="warning",
            confidence="likely",
            message=words,
            after_fix=(words,),
            also=("RED002",),
        ),
        Finding(
            rule="STY001",
            name="unused-name",
            severity="note",
            confidence="possible",
            message=words,
            place=first,
        ),
        Finding(
            rule="API003",
            name="launch-hygiene",
            severity="note",
            confidence="likely",
            message=words,
            folded=True,
        ),
    )


def repairs(code: str, words: str) -> tuple[Repair, ...]:
    passed = Evaluation(
        submission="1" * 64,
        device="sim",
        sandbox="bubblewrap",
        verdict=Verdict(status="correct", sentence=f"Correct on all. {words}", general=True),
    )
    return (
        Repair(
            kind="fix",
            code=code,
            diff=f"--- a\n+++ b\n@@ -1 +1 @@\n-{words}\n+__syncthreads();",
            settles=(("SYN002", words),),
            evaluation=passed,
        ),
        Repair(kind="reference", code=f"# {words}\n{code}", title=words, evaluation=passed),
    )
