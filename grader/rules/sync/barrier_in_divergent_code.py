"""SYN003: only some threads of a block reach a barrier."""

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, observed
from grader.rules.proofs import of_the_leavers, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.starved import starved_reads
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import around, one_line
from grader.source.flow import Event
from grader.source.rewriting.late_return import stay_in_block
from grader.source.statements import child_of, insert_after, statement

BRANCHES = {"if_statement", "for_statement", "while_statement"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for barriers that a walk reaches with a part of the block."""
    found: dict[tuple[str, int], tuple[str, Finding]] = {}
    for case in cases(source, context, "main", "odd"):
        starved = [e for e in case.events("uninit-shared-read") if e.data.get("exited")]
        for event in case.events("barrier-divergence", "barrier-exited"):
            left = event.kind == "barrier-exited"
            if not (left and case.sizes.name.startswith("odd") and not starved):
                cause = event.other if event.other is not None else event.node
                made = _exited(case, event, starved) if left else _kept_away(case, event)
                found.setdefault((case.kernel, cause.id), (case.kernel, made))
    proof = observed(context, "divergence", "exited")
    shuffles = any(any(case.events("shuffle-mask")) for case in cases(source, context))
    # The surest first: evidence goes to the nearest, and of those as near, to the first.
    ordered = sorted(found.values(), key=lambda pair: pair[1].severity == "warning")
    settled = settle(RULE, ordered, () if shuffles and not found else proof, spans(source))
    fed = starved_reads(source, context)
    for finding in settled:
        kernels = {kernel_of(item, spans(source)) for item in finding.evidence}
        reads = [item for kernel in sorted(kernels & fed.keys()) for item in fed[kernel]]
        told = of_the_leavers(finding, "barrier-exited", spans(source))
        yield _starving(told, reads) if reads else told


def _starving(finding: Finding, reads: Sequence[Evidence]) -> Finding:
    """Return the finding that threads left, with the reads of what they then never stored."""
    line = reads[0].place.line if reads[0].place else 0
    said = f"{finding.message.rstrip('.')}."
    if line and "never stored" not in said:
        said += f" Line {line} then reads shared cells that they never stored."
    update = {"severity": "error", "message": said, "evidence": (*finding.evidence, *reads)}
    return finding.model_copy(update=update)


def _under(case: Case, event: Event) -> str:
    """Return the condition that threads part at, with its line."""
    condition = one_line(event.other, 60) if event.other is not None else "a condition"
    return f"`{condition}` (line {case.line(event.other)})"


def _exited(case: Case, event: Event, starved: Sequence[Event]) -> Finding:
    rest = "; CUDA asks for all threads of the block there"
    if starved:
        rest = f", and line {case.line(starved[0].node)} then reads shared cells that they never stored"
    return RULE.finding(
        case.place(event.node),
        f"{event.count} threads have returned under {_under(case, event)} when the others wait at "
        f"the `__syncthreads()` on line {case.line(event.node)}{rest}",
        severity="error" if starved else "warning",
        kernels=(case.kernel,),
        fixes=stay_in_block(case, event.other),
    )


def _kept_away(case: Case, event: Event) -> Finding:
    barrier, under = f"the `__syncthreads()` on line {case.line(event.node)}", _under(case, event)
    return RULE.finding(
        case.place(event.node),
        f"only {event.data['here']} threads of {case.walk.threads} reach {barrier}: the others are kept away by {under}, and the block can hang"
        if event.sure
        else f"{barrier} stands under {under}, which is not the same for all threads of the block; those that get there wait for ever",
        confidence="likely" if event.sure else "possible",
        severity=None if event.sure else "warning",
        kernels=(case.kernel,),
        fixes=_hoist(case, event.node, event.other),
    )


def _hoist(case: Case, barrier: Node, cause: Node | None) -> tuple[Fix, ...]:
    """Move the barrier behind the branch that keeps threads away."""
    outer = around(cause) if cause is not None else ()
    branch = next((one for one in outer if one.type in BRANCHES), None)
    if branch is None or branch.type != "if_statement":
        return ()
    if not branch.start_byte < barrier.start_byte < branch.end_byte:
        return ()
    here = statement(barrier)
    own = child_of(here.parent, barrier) if here.parent is not None else here
    edits = [
        case.unit.edit(own.start_byte, own.end_byte, ";"),
        insert_after(case.unit, statement(branch), "__syncthreads();"),
    ]
    return fix("move the barrier out of the branch", edits)


_BAD = """
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
"""
RULE = Rule(
    code="SYN003",
    name="barrier-in-divergent-code",
    summary="Only some threads of a block reach a barrier that all must reach; the kernel can hang or mix data.",
    why="`__syncthreads()` counts the threads of the whole block. Under a condition on the thread's index, in a loop that threads leave "
    "at different times, or after an early return, some never arrive. Bring all threads to the barrier, and put the condition around "
    "the work instead.",
    bad=_BAD,
    good=_BAD.replace(
        "s[t] += s[t + k];\n            __syncthreads();\n        }",
        "s[t] += s[t + k];\n        }\n        __syncthreads();",
    ),
    detects=("text", "evidence"),
    guards="Conditions of block indices, parameters and values that all threads share are no divergence; a condition on data is a "
    "warning at most. Threads that returned before the barrier are a warning as long as nobody needs what they would have stored: "
    "hardware lets them count as arrived.",
    fix="Moves the barrier behind the branch, or turns the early returns into flags that guard the stores.",
    check=check,
    predicts="barrier",
)
