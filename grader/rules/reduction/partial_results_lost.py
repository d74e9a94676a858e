"""RED002: partial results never reach the stored result."""

from collections.abc import Iterable, Iterator

from grader.records.observed import wrong_results
from grader.rules import Context, Edit, Finding, Fix, Source, fix, rule_of
from grader.rules.proofs import once
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.reduction_steps import (
    Halving,
    exchanged_value,
    halving_loops,
    shuffle_in,
)
from grader.source.analysis.reduction_suspects import suspects
from grader.source.analysis.warp_steps import is_unjoined, place_of_own_total, warp_steps
from grader.source.cpp import Assign, Declare, Name, Number, walk
from grader.source.cpp_reading import assigned_in
from grader.source.nodes import names_in
from grader.source.rewriting.reductions import broadcast, join_warps

WARP = 32
CODES = frozenset(
    {"constant-factor", "row-factor", "zeros", "one-value", "constant-offset", "partial"}
)
"""Patterns of wrong values from a lost part of a sum."""
FORMS = frozenset({"shape", "dtype", "device", "count", "type"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the use of warp-reduced values, and the loops of reductions."""
    if _is_wrong(context):
        found = (one for case in cases(source, context) for one in _of_warps(case))
        yield from _with_result(once(found), context)
    yield from _loops(source, context)


def _of_warps(case: Case) -> Iterator[Finding]:
    """Report that the warps' results are not combined, or stay in one lane."""
    steps = warp_steps(case.unit, case.function)
    if case.threads > WARP and is_unjoined(steps):
        yield RULE.finding(
            case.place(steps[0].where),
            f"each warp reduces its own 32 values, but nothing joins the {(case.threads + 31) // WARP} warps that work on one row: what is "
            f"stored holds at most 32 of {case.threads} partial results",
            kernels=(case.kernel,),
            fixes=join_warps(steps),
        )
    for step, use in [(one, at) for one in steps if (at := place_of_own_total(one)) is not None][
        :1
    ]:
        yield RULE.finding(
            case.place(step.call or step.exchange),
            f"after line {case.line(step.call or step.exchange)} only the first lane holds the reduced value, but line {case.line(use)} lets "
            "every thread use its own, which lacks the partial results of lanes before it",
            kernels=(case.kernel,),
            fixes=broadcast(step),
        )


def _is_wrong(context: Context) -> bool:
    """Whether results have the right form and wrong values."""
    wrong = wrong_results(context)
    return bool(wrong) and not any(item.code in FORMS for item in wrong)


def _with_result(findings: Iterable[Finding], context: Context) -> Iterator[Finding]:
    """Attach the wrong result's pattern to a finding on the text; alone it proves no line."""
    seen = tuple(item for item in context.evidence_of("mismatch", "probe") if item.code in CODES)
    for finding in findings:
        yield finding.model_copy(update={"evidence": (*finding.evidence, *seen)})


def _loops(source: Source, context: Context) -> Iterator[Finding]:
    """Look for steps that use another value than the running total, or leave threads out."""
    found: dict[tuple[str, int], Finding] = {}
    odd = tuple(_odd_steps(source, context))
    for case in cases(source, context):
        loops = tuple(halving_loops(case.unit))
        for halving in loops:
            for part, value in _exchanges(halving):
                key = (halving.function.name, case.line(part.node))
                found.setdefault(key, _wrong_exchange(case, halving, part, value))
        for finding in _unread_sums(case) if loops else ():
            found[case.kernel, -1] = finding
    yield from _with_result(found.values(), context) if found else odd


def _odd_steps(source: Source, context: Context) -> Iterator[Finding]:
    """Name the odd step of a program whose results are wrong."""
    for unit in source.cuda if _is_wrong(context) else ():
        for one in suspects(unit):
            place, seen = unit.place(one.node), wrong_results(context)[:2]
            yield RULE.finding(place, one.text, confidence="likely", evidence=seen)


def _exchanges(halving: Halving) -> Iterator[tuple[Assign, Name]]:
    """Yield `t += __shfl_down_sync(mask, v, o)` in loops that never change `v`."""
    for part in walk(halving.loop.body):
        call = shuffle_in(part.value) if isinstance(part, Assign) else None
        if not isinstance(part, Assign) or not isinstance(part.target, Name) or call is None:
            continue
        value, name = exchanged_value(call), part.target.id
        by = call.args[-1] if call.base is not None or len(call.args) < 4 else call.args[2]
        again = part.op == "=" and name in names_in(part.value.node)
        folds = part.op in {"+=", "*=", "|="} or again
        if isinstance(value, Name) and folds and halving.counter in names_in(by.node):
            if value.id not in {name, *assigned_in(halving.loop)}:
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
    for part in walk(halving.function.code):
        if isinstance(part, Declare) and part.name == target and isinstance(part.init, Number):
            node = part.init.node
            edits.append(case.unit.edit(node.start_byte, node.end_byte, value.id))
    return fix("exchange the running total, and start it with the thread's own value", edits)


def _unread_sums(case: Case) -> Iterator[Finding]:
    """Report sums that are never read, in kernels that reduce."""
    parts = list(walk(case.function.code))
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


RULE = rule_of(__file__, check)
