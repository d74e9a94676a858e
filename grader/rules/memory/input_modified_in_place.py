"""MEM010: the kernel overwrites the caller's input."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import observed_evidence
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import body_start, global_regions, origin
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.forward_arguments import bindings
from grader.source.statements import insert_before

COPIES = {"clone", "empty_like", "zeros_like"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for stores through pointers of what forward was given."""
    changed = (item for item in context.evidence if item.code == "input-changed")  # by whomever
    proof = (*observed_evidence(context, "input-written"), *changed)
    found: dict[str, Finding] = {}
    for case in cases(source, context) if not _is_asked_for(source, context) else ():
        bound = bindings(source, case.launch.host)
        for region in global_regions(case):
            root = origin(region.tensor)
            if root is None or root.origin != "input" or not (region.stores or region.atomics):
                continue
            given = bound.get(root.name)
            if given is not None and given.kind == "tensor" and not _is_copied(source, case):
                copied = region.tensor is not root
                made = _finding(case, root.name, region.name, copied=copied)
                found.setdefault(root.name, made)
    for finding in found.values():
        certain = {"confidence": "proven"} if proof else {}
        yield finding.model_copy(update={**certain, "evidence": proof})
    if proof and not found:
        place = next((item.place for item in proof if item.place is not None), None)
        yield RULE.finding(place, proof[0].text, evidence=proof)


def _is_asked_for(source: Source, context: Context) -> bool:
    reference = context.task.reference if context.task is not None else ""
    return "inplace=True" in source.code or "inplace=True" in reference


def _is_copied(source: Source, case: Case) -> bool:
    """Whether Python calls it and makes copies: `ext.f(x.clone())`."""
    names = {node.attr for node in source.walk(ast.Attribute)}
    return case.launch.host.name in names and bool(names & COPIES)


def _finding(case: Case, name: str, parameter: str, *, copied: bool) -> Finding:
    stores = (a for a in case.walk.accesses if a.region.name == parameter and a.kind != "load")
    store = next(stores, None)
    often = " (`contiguous()` and views share its memory)" if copied else ""
    return RULE.finding(
        case.place(store.node if store is not None else case.launch.call.node),
        f"the kernel writes into `{name}`, the tensor that forward was given{often}: the caller's data is changed, and a second call "
        "computes with it",
        fixes=_fixes(case, name),
        kernels=(case.kernel,),
    )


def _fixes(case: Case, name: str) -> tuple[Fix, ...]:
    first = body_start(case.launch.host)
    line = f"{name} = {name}.clone();"
    edits = [insert_before(case.unit, first, line)] if first is not None else []
    return fix(f"work on a copy of `{name}`", edits)


RULE = Rule(
    **read_page(__file__), detects=("text", "evidence"), check=check, predicts="writes-input"
)
