"""RED002: a step of the reduction adds something else than the running total."""

from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.records.observed import wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.reduced_result import with_result
from grader.source.analysis.reduction_steps import (
    Halving,
    exchanged_value,
    halving_loops,
    shuffled,
)
from grader.source.analysis.reduction_suspects import suspects
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.flow import flow
from grader.source.flow.loops import assigned_in
from grader.source.flow.tree import Assign, Declare, Expr, Name, Number, walk

FORMS = frozenset({"shape", "dtype", "device", "count", "type"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the loops of reductions, and at what they leave in what is stored."""
    found: dict[tuple[str, int], Finding] = {}
    odd = tuple(_suspected(source, context))
    for case in cases(source, context):
        loops = tuple(halving_loops(case.flow.program))
        for halving in loops:
            for part, value in _exchanges(halving):
                key = (halving.function.name, case.line(part.node))
                found.setdefault(key, _wrong_exchange(case, halving, part, value))
        for finding in _unused(case) if loops else ():
            found[case.kernel, -1] = finding
    yield from with_result(found.values(), context) if found else odd


def _suspected(source: Source, context: Context) -> Iterator[Finding]:
    """Name the odd step of a program whose results are wrong."""
    wrong = wrong_results(context)
    if wrong and not any(item.code in FORMS for item in wrong):
        for unit in source.cuda:
            for one in suspects(flow(unit).program):
                place, seen = unit.place(one.node), wrong[:2]
                yield RULE.finding(place, one.text, confidence="likely", evidence=seen)


def _names(expr: Expr) -> set[str]:
    return {part.id for part in walk(expr) if isinstance(part, Name)}


def _exchanges(halving: Halving) -> Iterator[tuple[Assign, Name]]:
    """Yield `t += __shfl_down_sync(mask, v, o)` in loops that never change `v`."""
    for part in walk(halving.loop.body):
        call = shuffled(part.value) if isinstance(part, Assign) else None
        if not isinstance(part, Assign) or not isinstance(part.target, Name) or call is None:
            continue
        value, name = exchanged_value(call), part.target.id
        by = call.args[-1] if call.base is not None or len(call.args) < 4 else call.args[2]
        folds = part.op in {"+=", "*=", "|="} or (part.op == "=" and name in _names(part.value))
        if isinstance(value, Name) and value.id != name and halving.counter in _names(by) and folds:
            if value.id not in assigned_in(halving.loop):
                yield part, value


def _wrong_exchange(case: Case, halving: Halving, part: Assign, value: Name) -> Finding:
    target = part.target.id if isinstance(part.target, Name) else ""
    return RULE.finding(
        case.place(part.node),
        f"`{target}` takes in `{value.id}` of five other lanes, but `{value.id}` itself is not updated in the loop: lane 0 ends with "
        "the values of lanes 16, 8, 4, 2 and 1, that is 5 of 32, and its own is lost",
        fixes=_exchange_fixes(case, halving, target, value),
        kernels=(case.kernel,),
    )


def _exchange_fixes(case: Case, halving: Halving, target: str, value: Name) -> tuple[Fix, ...]:
    edits: list[Edit | None] = [case.unit.edit(value.node.start_byte, value.node.end_byte, target)]
    for part in walk(halving.function.body):
        if isinstance(part, Declare) and part.name == target and isinstance(part.init, Number):
            node = part.init.node
            edits.append(case.unit.edit(node.start_byte, node.end_byte, value.id))
    return fix("exchange the running total, and start it with the thread's own value", edits)


def _unused(case: Case) -> Iterator[Finding]:
    """Report sums that nothing ever reads, in kernels that reduce."""
    parts = list(walk(case.walk.kernel.body))
    sums = [p for p in parts if isinstance(p, Assign) and isinstance(p.target, Name)]
    for start in (p for p in parts if isinstance(p, Declare)):
        own = [p for p in sums if isinstance(p.target, Name) and p.target.id == start.name]
        targets = {id(p.target) for p in own}
        read = any(
            isinstance(p, Name) and p.id == start.name and id(p) not in targets for p in parts
        )
        plain = not (start.shared or start.dims or start.reference or start.pointer)
        if plain and not read and any(p.op == "+=" for p in own):
            yield RULE.finding(
                case.place(own[-1].node),
                f"`{start.name}` is summed up here and never read: what the threads have computed goes nowhere",
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
