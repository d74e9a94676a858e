"""RED002: a step of the reduction adds something else than the running total."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.reduced_result import result_evidence, settled
from grader.source.analysis.reduction_steps import (
    Halving,
    array_of,
    exchanged_value,
    halving_loops,
    reduces,
    shuffled,
    stores_to,
)
from grader.source.analysis.reduction_suspects import suspects
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants
from grader.source.flow import flow
from grader.source.flow.loops import assigned_in
from grader.source.flow.reduction import Loss, losses
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Declare,
    Name,
    Node,
    Number,
    Subscript,
    walk,
)
from grader.source.rewriting.reductions import store_in_tree
from grader.source.statements import enclosing_loops


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the loops of reductions, and at what they leave in what is stored."""
    found: dict[tuple[str, int], tuple[str, Finding]] = {}
    odd = tuple(_suspected(source, context))
    for case in cases(source, context):
        unfilled = any(case.events("uninit-shared-read"))
        for halving in halving_loops(case.flow.program):
            for finding in _in_loop(case, halving, unfilled):
                line = finding.place.line if finding.place else 0
                found.setdefault((halving.function.name, line), (case.kernel, finding))
        if any(True for _ in halving_loops(case.flow.program)):
            for finding in _unused(case):
                found[case.kernel, -1] = (case.kernel, finding)
        if not unfilled:
            for loss in losses(case.walk):
                if (
                    loss.kind == "some"
                    and not odd
                    and reduces(case, loss)
                    and not any(f for (_, f) in found.values())
                    and not _odd_block(case)
                ):
                    found[case.kernel, 0] = (case.kernel, _lost(case, loss))
    if not found:
        yield from odd
    yield from settled(found.values(), result_evidence(context))


def _suspected(source: Source, context: Context) -> Iterator[Finding]:
    """Name the odd step of a program whose results are wrong."""
    wrong = wrong_results(context)
    if not wrong or any(item.code in FORMS for item in wrong):
        return
    for unit in source.cuda:
        for suspect in suspects(flow(unit).program):
            yield RULE.finding(
                unit.place(suspect.node), suspect.text, confidence="likely", evidence=wrong[:2]
            )


FORMS = frozenset({"shape", "dtype", "device", "count", "type"})


def _odd_block(case: Case) -> bool:
    """Whether the block size is no power of two, which RED004 explains."""
    threads = case.walk.threads
    return threads & (threads - 1) != 0


def _in_loop(case: Case, halving: Halving, unfilled: bool) -> Iterator[Finding]:
    for part in walk(halving.loop.body):
        if not isinstance(part, Assign) or not isinstance(part.target, Name):
            continue
        call = shuffled(part.value)
        if call is not None:
            finding = _wrong_exchange(case, halving, part, call)
            if finding is not None:
                yield finding
        elif part.op == "+=" and not unfilled:
            finding = _register_tree(case, halving, part)
            if finding is not None:
                yield finding


def _wrong_exchange(case: Case, halving: Halving, part: Assign, call: Call) -> Finding | None:
    value = exchanged_value(call)
    target = part.target
    if not isinstance(value, Name) or not isinstance(target, Name) or value.id == target.id:
        return None
    by = call.args[-1] if call.base is not None or len(call.args) < 4 else call.args[2]
    uses_counter = any(isinstance(p, Name) and p.id == halving.counter for p in walk(by))
    folds = part.op in {"+=", "*=", "|="} or _folds(part, target.id)
    if value.id in assigned_in(halving.loop) or not uses_counter or not folds:
        return None
    return RULE.finding(
        case.place(part.node),
        f"`{target.id}` takes in `{value.id}` of five other lanes, but `{value.id}` itself is not updated in the loop: lane 0 ends with "
        "the values of lanes 16, 8, 4, 2 and 1, that is 5 of 32, and its own is lost",
        fixes=_exchange_fixes(case, halving, target.id, value),
        kernels=(case.kernel,),
    )


def _folds(part: Assign, name: str) -> bool:
    return part.op == "=" and any(isinstance(p, Name) and p.id == name for p in walk(part.value))


def _exchange_fixes(case: Case, halving: Halving, target: str, value: Name) -> Iterator[Fix]:
    edits: list[Edit | None] = [case.unit.edit(value.node.start_byte, value.node.end_byte, target)]
    for part in walk(halving.function.body):
        if isinstance(part, Declare) and part.name == target and isinstance(part.init, Number):
            edits.append(
                case.unit.edit(part.init.node.start_byte, part.init.node.end_byte, value.id)
            )
    yield from fix("exchange the running total, and start it with the thread's own value", edits)


def _register_tree(case: Case, halving: Halving, part: Assign) -> Finding | None:
    """Return the finding about a tree that adds cells into a register and stores nothing back."""
    read = next((p for p in walk(part.value) if isinstance(p, Subscript)), None)
    name = array_of(read) if read is not None else None
    if read is None or name is None or not isinstance(read.index, Binary):
        return None
    shared = {r.name for r in case.walk.regions if r.space == "shared"}
    counts = any(isinstance(p, Name) and p.id == halving.counter for p in walk(read.index))
    if name not in shared or not counts or stores_to(halving.loop.body, name):
        return None
    target = part.target.id if isinstance(part.target, Name) else "the sum"
    node = next(
        (
            s
            for s in descendants(part.node, "subscript_expression")
            if s.start_byte == read.node.start_byte
        ),
        None,
    )
    fixes = store_in_tree(case.unit, part.node, node, before=False) if node is not None else ()
    return RULE.finding(
        case.place(part.node),
        f"the tree adds cells of `{name}` to the register `{target}`, but never stores the sum back to `{name}`: each step reads the "
        "first partial results again, and most threads' parts are lost",
        fixes=fixes,
        kernels=(case.kernel,),
    )


def _tree_before(case: Case, loss: Loss) -> Node:
    """Return the last tree before a store, or the store itself."""
    store = loss.store.node
    trees = [h.loop.node for h in halving_loops(case.flow.program)]
    trees = [n for n in trees if n.start_byte < store.start_byte]
    return max(trees, key=lambda n: n.start_byte, default=store)


def _unused(case: Case) -> Iterator[Finding]:
    """Report sums that nothing ever reads, in kernels that reduce."""
    body = case.walk.kernel.body
    parts = list(walk(body))
    folded = [
        p.target.id
        for p in parts
        if isinstance(p, Assign) and p.op == "+=" and isinstance(p.target, Name)
    ]
    for start in (p for p in parts if isinstance(p, Declare) and p.name in folded):
        targets = {
            id(p.target)
            for p in parts
            if isinstance(p, Assign) and isinstance(p.target, Name) and p.target.id == start.name
        }
        reads = [
            p for p in parts if isinstance(p, Name) and p.id == start.name and id(p) not in targets
        ]
        if reads or start.shared or start.dims or start.reference or start.pointer:
            continue
        last = [p for p in parts if isinstance(p, Assign) and id(p.target) in targets][-1]
        yield RULE.finding(
            case.place(last.node),
            f"`{start.name}` is summed up here and never read: what the threads have computed goes nowhere",
            kernels=(case.kernel,),
        )


def _lost(case: Case, loss: Loss) -> Finding:
    """Return the finding about parts that don't arrive, where the step isn't plain."""
    at = loss.exchange_call or loss.exchange or _tree_before(case, loss)
    node = next(enclosing_loops(at), at) if at is loss.exchange else at
    missing = ", ".join(str(t) for t in loss.missing)
    return RULE.finding(
        case.place(node),
        f"what line {case.line(loss.store.node)} stores holds the partial results of {loss.have} of {loss.group} threads: those of "
        f"threads {missing}{', ...' if loss.group - loss.have > len(loss.missing) else ''} never reach it",
        kernels=(case.kernel,),
    )


_BAD = """
__global__ void sums(const float* x, float* y) {
    float v = x[threadIdx.x];
    float t = 0.0f;
    for (int o = 16; o > 0; o >>= 1) t += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x == 0) y[0] = t;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({1}, x.options());
    sums<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
RULE = Rule(
    code="RED002",
    name="reduction-step-loses-values",
    severity="error",
    summary="The summing loop adds something other than the running total, so own values or whole groups are left out.",
    why="Each step of a reduction must pass on what the steps before have collected. A loop that shuffles the original value collects "
    "one value a step, log2(32) = 5 in all; a tree that sums into a register and stores nothing back reads the same first values in "
    "every step.",
    bad=_BAD,
    good=_BAD.replace(
        "0.0f;\n    for (int o = 16; o > 0; o >>= 1) t += __shfl_down_sync(0xffffffff, v",
        "v;\n    for (int o = 16; o > 0; o >>= 1) t += __shfl_down_sync(0xffffffff, t",
    ),
    detects=("text", "evidence"),
    guards="A loop that starts at a quarter, ends early, or assigns where a sum should grow is only "
    "reported when the results are wrong. Scans shuffle upwards on purpose, and a value that is updated inside the loop is the "
    "running total under another name. Block sizes that are no power of two are RED004.",
    fix="Exchanges the accumulator, started with the thread's own value; stores each step back.",
    check=check,
    explained_by=("SYN001",),
)
