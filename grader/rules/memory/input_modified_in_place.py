"""MEM010: the kernel overwrites the caller's input."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import observed_evidence
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


_BAD = """
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
torch::Tensor run(torch::Tensor x) {
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
    return x;
}
"""
RULE = Rule(
    code="MEM010",
    name="input-modified-in-place",
    summary="The kernel overwrites the caller's input tensor, so a second call (or the reference) sees changed data.",
    why="A module's forward leaves its inputs alone unless its name says otherwise. Whoever calls it twice, or compares it with the "
    "reference on the same tensor, gets something else the second time. Allocate an output.",
    bad=_BAD,
    good=_BAD.replace(
        "scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());\n    return x",
        "auto y = x.clone();\n"
        "    scale<<<(x.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), x.numel());\n"
        "    return y",
    ),
    detects=("text", "evidence"),
    guards="Clones, fresh tensors and buffers that Python allocates are no inputs; a reference that works in place allows it.",
    fix="Works on a copy.",
    check=check,
    predicts="writes-input",
)
