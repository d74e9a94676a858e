"""SYN003: only some threads of a block reach a barrier."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix, Place, Severity
from grader.records.observed import kernel_of, observed
from grader.rules.proofs import of_the_leavers, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.starved import starved_reads
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import one_line
from grader.source.flow import Event
from grader.source.rewriting.late_return import stay_in_block
from grader.source.statements import child_of, insert_after, statement


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for barriers that a walk reaches with a part of the block."""
    found: dict[tuple[str, int], tuple[str, Finding]] = {}
    starving: set[Place | None] = set()
    for case in cases(source, context, "main", "odd"):
        starved = [e for e in case.events("uninit-shared-read") if e.data.get("exited")]
        for event in case.events("barrier-divergence", "barrier-exited"):
            if event.kind == "barrier-exited" and case.sizes.name.startswith("odd") and not starved:
                continue
            cause = event.other if event.other is not None else event.node
            finding = _finding(case, event, starved)
            found.setdefault((case.kernel, cause.id), (case.kernel, finding))
            if event.kind == "barrier-exited" and starved:
                starving.add(finding.place)
    proof = observed(context, "divergence", "exited")
    if any(case.events("shuffle-mask") for case in cases(source, context)):
        shuffles = [e for case in cases(source, context) for e in case.events("shuffle-mask")]
        if shuffles and not found:
            proof = ()
    exited = [k for k, (_, f) in found.items() if f.severity == "warning"]
    keep = {k: v for k, v in found.items() if k not in exited}
    certain = tuple(v for k, v in found.items() if k in exited)
    settled = settle(RULE, (*keep.values(), *certain), proof, spans(source))
    fed = starved_reads(source, context)
    for finding in settled:
        kernels = {kernel_of(item, spans(source)) for item in finding.evidence}
        reads = [item for kernel in sorted(kernels & fed.keys()) for item in fed[kernel]]
        told = of_the_leavers(finding, "barrier-exited", spans(source))
        yield _starving(told, reads, named=told.place in starving) if reads else told


def _starving(finding: Finding, reads: list[Evidence], *, named: bool) -> Finding:
    """Return the finding that threads left, with the reads of what they then never stored."""
    line = reads[0].place.line if reads[0].place else 0
    more = (
        "" if named or not line else f" Line {line} then reads shared cells that they never stored."
    )
    return finding.model_copy(
        update={
            "severity": "error",
            "message": f"{finding.message.rstrip('.')}.{more}",
            "evidence": (*finding.evidence, *reads),
        }
    )


def _finding(case: Case, event: Event, starved: list[Event]) -> Finding:
    cause = event.other
    if event.kind == "barrier-exited":
        severity: Severity = "error" if starved else "warning"
        return RULE.finding(
            case.place(event.node),
            _exited(case, event, starved),
            severity=severity,
            kernels=(case.kernel,),
            fixes=stay_in_block(case, cause),
        )
    return RULE.finding(
        case.place(event.node),
        _kept_away(case, event),
        confidence="likely" if event.sure else "possible",
        severity=None if event.sure else "warning",
        kernels=(case.kernel,),
        fixes=_hoist(case, event.node, cause),
    )


def _under(case: Case, event: Event) -> str:
    """Return the condition that threads part at, with its line."""
    cause = event.other
    condition = one_line(cause, 60) if cause is not None else "a condition"
    return f"`{condition}` (line {case.line(cause)})"


def _exited(case: Case, event: Event, starved: list[Event]) -> str:
    rest = (
        f", and line {case.line(starved[0].node)} then reads shared cells that they never stored"
        if starved
        else "; CUDA asks for all threads of the block there"
    )
    return (
        f"{event.count} threads have returned under {_under(case, event)} when the others wait at "
        f"the `__syncthreads()` on line {case.line(event.node)}{rest}"
    )


def _kept_away(case: Case, event: Event) -> str:
    line = case.line(event.node)
    if event.sure:
        return (
            f"only {event.data['here']} threads of {case.walk.threads} reach the `__syncthreads()` on line {line}: the others are kept "
            f"away by {_under(case, event)}, and the block can hang"
        )
    return (
        f"the `__syncthreads()` on line {line} stands under {_under(case, event)}, which is not "
        "the same for all threads of the block; those that get there wait for ever"
    )


def _hoist(case: Case, barrier: Node, cause: Node | None) -> Iterator[Fix]:
    """Move the barrier behind the branch that keeps threads away."""
    branch = cause.parent if cause is not None else None
    while branch is not None and branch.type not in {
        "if_statement",
        "for_statement",
        "while_statement",
    }:
        branch = branch.parent
    inside = branch is not None and branch.start_byte < barrier.start_byte < branch.end_byte
    if branch is None or not inside or branch.type != "if_statement":
        return
    here = statement(barrier)
    outside = statement(branch)
    own = child_of(here.parent, barrier) if here.parent is not None else here
    yield from fix(
        "move the barrier out of the branch",
        [
            case.unit.edit(own.start_byte, own.end_byte, ";"),
            insert_after(case.unit, outside, "__syncthreads();"),
        ],
    )


RULE = Rule(
    code="SYN003",
    name="barrier-in-divergent-code",
    severity="error",
    summary="Only some threads of a block reach a barrier that all must reach; the kernel can hang or mix data.",
    why="`__syncthreads()` counts the threads of the whole block. Under a condition on the thread's index, in a loop that threads leave "
    "at different times, or after an early return, some never arrive. Bring all threads to the barrier, and put the condition around "
    "the work instead.",
    bad="""
__global__ void halves(const float* x, float* y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) {
            s[t] += s[t + k];
            __syncthreads();
        }
    }
    if (t == 0) y[0] = s[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({1}, x.options());
    halves<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
""",
    good="""
__global__ void halves(const float* x, float* y, int rows, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    if (blockIdx.x >= rows) return;
    s[t] = t < n ? x[blockIdx.x * n + t] : 0.0f;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    halves<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
""",
    detects=("text", "evidence"),
    guards="Conditions of block indices, parameters and values that all threads share are no divergence; a condition on data is a "
    "warning at most. Threads that returned before the barrier are a warning as long as nobody needs what they would have stored: "
    "hardware lets them count as arrived.",
    fix="Moves the barrier behind the branch, or turns the early returns into flags that guard the stores.",
    check=check,
    predicts="barrier",
)
