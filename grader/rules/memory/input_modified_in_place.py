"""MEM010: the kernel overwrites the caller's input."""

from collections.abc import Iterator

from grader.records.observed import kernel_of, observed_evidence
from grader.rules import Context, Evidence, Finding, Fix, Source, fix, rule_of
from grader.source.analysis.cases import Case, cases, spans
from grader.source.analysis.host_code import origin, put_first


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the inputs that runs saw written, each once."""
    changed = [item for item in context.evidence if item.code == "input-changed"]  # by any code
    found: dict[str, tuple[Case | None, list[Evidence]]] = {}
    for item in observed_evidence(context, "input-written"):
        case, name = _written_parameter(source, context, item)
        found.setdefault(name, (case, []))[1].append(item)
    if changed and not found:
        found[""] = (None, [])
    for name, (case, items) in found.items():
        evidence = (*items, *changed)
        yield RULE.finding(
            next((item.place for item in evidence if item.place is not None), None),
            f"the kernel writes into `{name}`, the tensor that forward was given (`contiguous()` and views share its memory): "
            "the caller's data is changed, and a second call computes with it"
            if name
            else evidence[0].text,
            evidence=evidence,
            fixes=_fixes(case, name) if case is not None else (),
            kernels=(case.kernel,) if case is not None else (),
        )


def _written_parameter(source: Source, context: Context, item: Evidence) -> tuple[Case | None, str]:
    """Return the launch of a store, with the host function's parameter that it writes to."""
    kernel, line = kernel_of(item, spans(source)), item.place.line if item.place else 0
    for case in cases(source, context):
        stores = [one for one in case.accesses if one.kind != "load" and case.kernel == kernel]
        roots = [(case.line(one.node), origin(case.tensor(one.parameter))) for one in stores]
        names = {at: root.name for at, root in roots if root and root.origin == "input"}
        if names:
            return case, names.get(line) or min(names.values())
    return None, ""


def _fixes(case: Case, name: str) -> tuple[Fix, ...]:
    return fix(f"work on a copy of `{name}`", put_first(case, f"{name} = {name}.clone();"))


RULE = rule_of(__file__, check, predicts="writes-input")
