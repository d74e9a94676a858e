"""NUM001: the kernel computes another formula than the task's."""

import ast
from collections.abc import Iterator, Sequence

from grader.records.observed import dependence_differs, values_of, wrong_results
from grader.rules import Context, Evidence, Finding, Place, Severity, Source, rule_of
from grader.rules.name_tables import read_sentences
from grader.source.analysis import triton
from grader.source.analysis.cases import cases
from grader.source.analysis.causes_in_text import narrowed_offsets, own_draw, unused_input
from grader.source.analysis.kept_weights import kept_weights
from grader.source.analysis.on_the_way import on_the_way

STATE, PROBES, MEANING = (read_sentences(__file__, name) for name in ("state", "probes", "meaning"))
FORMS = frozenset({"shape", "dtype", "device", "count", "type", "unwritten"})


KNOWN = {**STATE, **PROBES, **MEANING}


ROUNDED = "half-precision"
"""Errors as rounding leaves: they explain a result only where no workload is wrong in another way."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the meaning of a wrong result's probes and pattern, as a last resort."""
    if dependence_differs(context):  # its dependences explain it
        return
    deciding = wrong_results(context)
    every = deciding or wrong_results(context, general=True)
    found = [item for item in every if item.code not in FORMS]
    wrong = [item for item in found if item.code != ROUNDED] or found
    left = _left_out(source, context, deciding) if wrong else None
    if left is not None:
        yield left
    if not wrong or (left is not None and not any(item.code in KNOWN for item in wrong)):
        return
    known = [item for table in (STATE, PROBES, MEANING) for item in wrong if item.code in table]
    seen = known or wrong
    severity: Severity = "error" if deciding else "warning"
    stale = None if deciding else _stale(source, context, wrong)
    other = stale or _few_digits(source, seen, severity) or _as_seen(source, context, wrong, seen, severity)  # fmt: skip
    yield from (other,) if other is not None else ()


def _as_seen(
    source: Source,
    context: Context,
    wrong: Sequence[Evidence],
    seen: Sequence[Evidence],
    severity: Severity,
) -> Finding | None:
    """Return the meaning of the first pattern, if the run or the text shows it; None where DEP005 gives the place."""
    first = seen[0]
    cause = own_draw(source) if first.code == "probe-unsteady" else unused_input(source, first)
    if not cause and first.code not in STATE and on_the_way(source, context, first):
        return None
    place = (cause.place if cause else None) or (
        _forward(source) if first.code in STATE else _last_store(source, context)
    )
    probes = tuple(item for item in wrong if item.kind == "probe")
    same = tuple(item for item in seen if item.code == first.code and item not in probes)
    return RULE.finding(
        place,
        f"{_say_computed(first)}{cause.words if cause else ''}: {first.text}",
        severity=severity,
        confidence="proven" if first.code in KNOWN else "likely",
        evidence=(*probes, *same),
        last_resort=True,
    )


def _left_out(source: Source, context: Context, deciding: Sequence[Evidence]) -> Finding | None:
    """Report elements that are zero with the reference's weights, hidden by other weights in all deciding results."""
    workloads = context.task.workloads if context.task is not None else ()
    given = {workload.name for workload in workloads if workload.weights == "drawn"}
    if not deciding or any(_all_zero(item) for item in deciding):
        return None
    elsewhere = [item for item in wrong_results(context, general=True) if item.workload in given]
    zeros = next((item for item in elsewhere if _all_zero(item)), None)
    if zeros is None:
        return None
    seen = [item for item in elsewhere if item.workload == zeros.workload]
    return RULE.finding(
        _last_store(source, context),
        f"with the reference's weights given to it, {_say_computed(zeros)} ({'; '.join(item.text for item in seen)})",
        evidence=seen,
        last_resort=True,
    )


def _all_zero(item: Evidence) -> bool:
    """Whether all wrong elements are zero, and some elements are right."""
    return _in_part(item) and values_of(item).share == 1.0


def _in_part(item: Evidence) -> bool:
    """Whether what is wrong is zero, and other elements are not."""
    return item.code == "zeros" and values_of(item).whole is False


def _stale(source: Source, context: Context, wrong: Sequence[Evidence]) -> Finding | None:
    """Report that weights loaded after the constructor are not used, where exactly those runs are wrong."""
    workloads = context.task.workloads if context.task is not None else ()
    given = {workload.name for workload in workloads if workload.weights == "drawn"}
    kept = kept_weights(source.module)
    if kept is None or any(item.workload not in given for item in wrong):
        return None
    return RULE.finding(
        source.place(kept.node),
        f"`{kept.name}` is computed from `{kept.weight}` once, in `__init__`: weights that are "
        f"loaded or trained afterwards do not reach it ({wrong[0].text})",
        severity="warning",
        evidence=tuple(wrong),
        last_resort=True,
    )


def _few_digits(source: Source, seen: Sequence[Evidence], severity: Severity) -> Finding | None:
    """Report the cast that narrows values, where all errors are in the last digits."""
    span = narrowed_offsets(source)
    if span is None or any(item.code != ROUNDED for item in seen):
        return None
    word = source.code[slice(*span)]
    return RULE.finding(
        source.place(span),
        f"`{word}`: values go through a type of fewer digits than the task's own, so the result is "
        f"not as exact as the task asks for ({seen[0].text})",
        severity=severity,
        confidence="likely",
        evidence=tuple(seen),
        last_resort=True,
    )


def _say_computed(item: Evidence) -> str:
    if _in_part(item):
        return "part of the results is zero where the reference has other values"
    try:
        text = KNOWN[item.code].format(**values_of(item).model_dump())
    except (KeyError, ValueError, TypeError):
        return "the kernel computes something else than the task asks for"
    return text


def _forward(source: Source) -> Place | None:
    """Return the first line of ModelNew's forward, where kept and forgotten values are decided."""
    model = source.module.classes.get("ModelNew")
    methods = {m.name: m for m in model.body if isinstance(m, ast.FunctionDef)} if model else {}
    found = methods.get("forward", model)
    return source.place(found) if found is not None else None


def _last_store(source: Source, context: Context) -> Place | None:
    """Return the last store of the kernel that is launched last."""
    for case in reversed(cases(source, context)):
        stores = [one.node for one in case.accesses if one.kind != "load"]
        return case.place(stores[-1] if stores else case.function.node)
    store = triton.last_store(source)
    return source.place(store.call) if store else None


RULE = rule_of(__file__, check)
