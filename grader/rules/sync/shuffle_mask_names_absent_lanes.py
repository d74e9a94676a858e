"""SYN004: a shuffle's mask names lanes that don't take part."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.records.observed import observed
from grader.rules.proofs import of_the_leavers, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.walks import Case, cases, spans
from grader.source.cuda_code import around, one_line
from grader.source.flow import Event
from grader.source.flow.tree import Node
from grader.source.rewriting.all_lanes import Partial, all_lanes, branch_of


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for shuffles that a part of the named lanes reaches."""
    found: dict[tuple[str, int], tuple[str, Finding]] = {}
    for case in cases(source, context):
        for event in case.events("shuffle-mask", "shuffle-tail"):
            where = _where(event)
            found.setdefault((case.kernel, case.line(where)), (case.kernel, _finding(case, event)))
    proof = observed(context, "shuffle", "divergence") if found else observed(context, "shuffle")
    if any(True for case in cases(source, context) for _ in case.events("barrier-divergence")):
        proof = observed(context, "shuffle")
    lines = spans(source)
    for finding in settle(RULE, tuple(found.values()), proof, lines):
        yield of_the_leavers(finding, "sync-exited-lanes", lines)


def _where(event: Event) -> Node:
    """Return the shuffle, or what stands at the branch where that is in a caller.

    That is the call in the kernel, or the branch itself where it is in a helper in between.
    """
    if event.call is None or event.other is None:
        return event.node
    helper = _function(event.node)
    same = helper is not None and helper.start_byte <= event.other.start_byte < helper.end_byte
    if same:
        return event.node
    between = _function(event.other) != _function(event.call)
    return event.other if between else event.call


def _function(node: Node) -> Node | None:
    return next(
        (n for n in around(node) if n.type in {"function_definition", "lambda_expression"}), None
    )


def _finding(case: Case, event: Event) -> Finding:
    where = _where(event)
    if event.kind == "shuffle-tail":
        return RULE.finding(
            case.place(where),
            _of_the_tail(case, event, where),
            severity="warning",
            confidence="possible",
            kernels=(case.kernel,),
        )
    exited = bool(event.data.get("exited"))
    branch = branch_of(where, event.other)
    return RULE.finding(
        case.place(where),
        _message(case, event, where),
        severity="warning" if exited or not event.sure else None,
        confidence="likely" if event.sure else "possible",
        kernels=(case.kernel,),
        fixes=all_lanes(Partial(case, event.node, where, branch)) if branch else (),
    )


def _of_the_tail(case: Case, event: Event, where: Node) -> str:
    """Say that the last warp is not full; the numbers where the task's sizes tell them."""
    names = f"that the mask of line {case.line(where)} names don't exist"
    if case.sizes.real and not case.sizes.complete:
        return f"nothing makes the number of threads in a block a multiple of 32: in the last warp lanes {names} where it is none"
    return f"blocks have {case.walk.threads} threads, no multiple of 32: in the last warp {event.count} lanes {names}"


def _message(case: Case, event: Event, where: Node) -> str:
    """Say which lanes a warp exchange waits for in vain, and what keeps them away."""
    line = case.line(where)
    condition = one_line(event.other, 60) if event.other is not None else "a condition"
    inside = (
        f" (the shuffle itself is on line {case.line(event.node)})"
        if where is not event.node
        else ""
    )
    if not event.sure:
        return (
            f"the warp exchange on line {line}{inside} names lanes with its mask that may not be "
            f"there: `{condition}` is not the same for all lanes"
        )
    cause = case.line(event.other)
    if event.data.get("exited"):
        return (
            f"the warp exchange on line {line}{inside} names all lanes with its mask, but lanes "
            f"have returned under `{condition}` (line {cause})"
        )
    return (
        f"the warp exchange on line {line}{inside} waits for all lanes that its mask names, but only {event.data['active']} of each warp "
        f"get there: `{condition}` (line {cause}) keeps the others away, so the result is undefined and the kernel may hang"
    )


_BAD = """
__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}
__global__ void sums(const float* x, float* y) {
    float v = x[threadIdx.x];
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        v = warp_sum(v);
    }
    y[threadIdx.x] = v;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    sums<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
RULE = Rule(
    code="SYN004",
    name="shuffle-mask-names-absent-lanes",
    severity="error",
    summary="A warp exchange promises that all lanes of its mask take part, but only some of them run that line.",
    why="`__shfl_*_sync` waits for the lanes that its mask names and reads their values. Lanes that a branch keeps away never come: what "
    "is read is undefined, and the warp may wait for ever. Let all lanes exchange, and put the test of the lane around the use of "
    "the result.",
    bad=_BAD,
    good=_BAD.replace(
        "    if (lane == 0) {\n        v = warp_sum(v);\n    }", "    v = warp_sum(v);"
    ),
    detects=("text", "evidence"),
    guards="Conditions that whole warps share are fine, and so are masks that come from `__ballot_sync` or `__activemask`. Lanes past "
    "the end of a block that is no multiple of 32, and lanes that have returned, are a warning: hardware counts them as gone.",
    fix="Names every lane in a mask that leaves out lanes which take part; lets the whole warp into the branch, lanes without a value with a neutral one, or moves the exchange "
    "before the branch.",
    check=check,
    predicts="barrier",
)
