"""MEM004: rows are taken to lie one after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, Fix, TensorSpec
from grader.records.observed import ran_right, wrong_results
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import body_start
from grader.source.analysis.views import passed_views
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.flow.tree import Call, Member, Name, walk
from grader.source.statements import insert_before

HANDLED = frozenset(
    {
        "contiguous",
        "is_contiguous",
        "stride",
        "strides",
        "packed_accessor32",
        "packed_accessor64",
        "packed_accessor",
        "accessor",
        "is_non_overlapping_and_dense",
    }
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for inputs whose pointer is taken without a word about their layout."""
    careful = _python_handles(source)
    proof = _proof(context)
    found: dict[tuple[str, str], tuple[Case, dict[str, None]]] = {}
    for case in cases(source, context):
        function = case.launch.host
        if _handled(case):
            continue
        views = {} if ran_right(context, case.kernel) else passed_views(source, function)
        for parameter in function.parameters:
            view = views.get(parameter.name, "")
            if (
                parameter.type.endswith("Tensor")
                and (view or not careful)
                and _pointer_taken(case, parameter.name)
            ):
                _, names = found.setdefault((function.name, view), (case, {}))
                names[parameter.name] = None
    for (_, view), (case, names) in found.items():
        yield _finding(case, [*names], proof or _shown(view, context), view)


def _shown(view: str, context: Context) -> tuple[Evidence, ...]:
    """Return the wrong results that a view which forward itself makes explains."""
    return wrong_results(context)[:1] if view else ()


def _finding(case: Case, names: list[str], proof: tuple[Evidence, ...], view: str) -> Finding:
    function = case.launch.host
    node = next(
        (
            p.node
            for p in walk(function.body)
            if isinstance(p, Call)
            and p.name in {"data_ptr", "clone"}
            and isinstance(p.base, Name)
            and p.base.id in names
        ),
        function.node,
    )
    them, its = ("it", "its") if len(names) == 1 else ("them", "their")
    told = (
        f"and `forward` passes a view made by `{view}`: {its} memory is in another order"
        if view
        else f"and nothing makes {them} contiguous or checks for it: a transposed or sliced input gives wrong numbers"
    )
    return RULE.finding(
        case.place(node),
        f"the kernel walks {_listed(names)} as if {its} rows lay one after the other, {told}",
        severity="error" if view and proof else "warning" if proof or view else "note",
        confidence="proven" if proof and not view else "likely",
        evidence=proof,
        fixes=_fixes(case, names),
        folded=not (proof or view),
    )


def _listed(names: list[str]) -> str:
    *some, last = [f"`{name}`" for name in names]
    return f"{', '.join(some)} and {last}" if some else last


def _fixes(case: Case, names: list[str]) -> Iterator[Fix]:
    first = body_start(case.launch.host)
    if first is not None:
        made = "\n".join(f"{name} = {name}.contiguous();" for name in names)
        yield from fix(
            f"make {_listed(names)} contiguous first", [insert_before(case.unit, first, made)]
        )


def _proof(context: Context) -> tuple[Evidence, ...]:
    """Return mismatches on workloads with strided inputs, where the others were right."""
    if context.task is None:
        return ()
    strided = {
        w.name
        for w in context.task.workloads
        if any(isinstance(i, TensorSpec) and not i.contiguous for i in w.inputs)
    }
    wrong = [item for item in context.evidence if item.kind in {"mismatch", "probe"}]
    if any(item.workload not in strided for item in wrong):
        return ()
    return tuple(item for item in wrong if item.workload in strided)


def _handled(case: Case) -> bool:
    for function in case.flow.program.functions:
        if function.kind == "host":
            for part in walk(function.body):
                if isinstance(part, Call) and (
                    part.name in HANDLED or part.name.startswith("CHECK_")
                ):
                    return True
                if isinstance(part, Member) and part.name in HANDLED:
                    return True
    return False


def _pointer_taken(case: Case, name: str) -> bool:
    return any(
        isinstance(p, Call)
        and p.name in {"data_ptr", "data", "clone"}
        and isinstance(p.base, Name)
        and p.base.id == name
        for p in walk(case.launch.host.body)
    )


def _python_handles(source: Source) -> bool:
    return any(
        isinstance(node.func, ast.Attribute) and node.func.attr in {"contiguous", "is_contiguous"}
        for node in source.walk(ast.Call)
    )


_BAD = """
__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    copy<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
RULE = Rule(
    code="MEM004",
    name="non-contiguous-input-read-as-contiguous",
    severity="warning",
    summary="The kernel assumes the rows lie one after the other in memory; a transposed or sliced input gives wrong numbers.",
    why="A view has the same memory in another order. A kernel that computes its addresses from sizes alone reads the wrong elements. `x "
    "= x.contiguous()` costs nothing where it already is; `clone()` and `empty_like` keep the strides and are no help.",
    bad=_BAD,
    good=_BAD.replace("    auto", "    x = x.contiguous();\n    auto"),
    detects=("text", "evidence"),
    guards="Three of four real kernels don't check it, and most are never called with a view: it is a folded note until `forward` passes "
    "a view that it makes itself (a warning; an error where results are wrong) or a run with a transposed input came out wrong.",
    fix="Makes the input contiguous at the beginning of the host function.",
    check=check,
    predicts="elsewhere",
)
