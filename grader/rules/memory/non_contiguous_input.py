"""MEM004: inputs are assumed to be contiguous."""

import ast
from collections.abc import Iterator

from grader.records import DECIDING, TensorSpec
from grader.records.observed import ran_right, wrong_results
from grader.rules import Context, Evidence, Finding, Fix, Source, fix, rule_of
from grader.source.analysis import triton
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.data_flow import assignments
from grader.source.analysis.host_code import put_first
from grader.source.analysis.views import passed_views
from grader.source.code_edits import replace
from grader.source.cpp import Call, Member, Name, walk

HANDLED = frozenset({"contiguous", "is_contiguous", "stride", "strides", "packed_accessor32", "packed_accessor64",
                     "packed_accessor", "accessor", "is_non_overlapping_and_dense"})  # fmt: skip
TAKES = frozenset({"data_ptr", "data", "clone"})
VIEWS = frozenset({"t", "transpose", "permute", "movedim", "moveaxis", "swapaxes", "expand", "expand_as", "mT", "T", "unfold"})  # fmt: skip


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for inputs whose pointer is used without handling their layout."""
    attributes = {
        node.func.attr for node in source.walk(ast.Call) if isinstance(node.func, ast.Attribute)
    }
    careful = bool(attributes & {"contiguous", "is_contiguous"})
    found: dict[tuple[str, str], tuple[Case, dict[str, None]]] = {}
    for case in cases(source, context):
        function = case.launch.host
        if not _is_layout_handled(case):
            views = {} if ran_right(context, case.kernel) else passed_views(source, function)
            for parameter in function.parameters:
                view = views.get(parameter.name, "")
                taken = parameter.kind.endswith("Tensor") and any(_pointers(case, parameter.name))
                if taken and (view or not careful):
                    found.setdefault((function.name, view), (case, {}))[1][parameter.name] = None
    for (_, view), (case, names) in found.items():
        yield _finding(case, [*names], view, context)
    yield from _given_to_triton(source, wrong=bool(wrong_results(context)))


def _finding(case: Case, names: list[str], view: str, context: Context) -> Finding:
    proof = _of_strided_inputs(context) or (wrong_results(context)[:1] if view else ())
    turned = _handed_over_turned(context) if proof else ()
    taken = next((call.node for name in names for call in _pointers(case, name)), None)
    them, its = ("it", "its") if len(names) == 1 else ("them", "their")
    told = (
        f"and `forward` passes a view made by `{view}`: {its} memory is in another order"
        if view
        else f"and the task hands over {' and '.join(turned)} as a transposed view, whose memory is in another order"
        if turned
        else f"and nothing makes {them} contiguous or checks for it: a transposed or sliced input gives wrong numbers"
    )
    return RULE.finding(
        case.place(taken or case.launch.host.node),
        f"the kernel walks {_list_names(names)} as if {its} rows lay one after the other, {told}",
        severity="error" if proof and (view or turned) else "warning" if proof or view else "note",
        confidence="proven" if proof and not view else "likely",
        evidence=proof,
        fixes=_fixes(case, names),
        folded=not (proof or view),
    )


def _list_names(names: list[str]) -> str:
    *some, last = [f"`{name}`" for name in names]
    return f"{', '.join(some)} and {last}" if some else last


def _fixes(case: Case, names: list[str]) -> tuple[Fix, ...]:
    made = "\n".join(f"{name} = {name}.contiguous();" for name in names)
    return fix(f"make {_list_names(names)} contiguous first", put_first(case, made))


def _of_strided_inputs(context: Context) -> tuple[Evidence, ...]:
    """Return mismatches on workloads with strided inputs, where the others were right."""
    strided = {
        workload.name
        for workload in (context.task.workloads if context.task is not None else ())
        if any(isinstance(one, TensorSpec) and not one.contiguous for one in workload.inputs)
    }
    wrong = context.evidence_of("mismatch", "probe")
    return tuple(wrong) if all(item.workload in strided for item in wrong) else ()


def _handed_over_turned(context: Context) -> tuple[str, ...]:
    """Return the inputs that are transposed at the deciding sizes."""
    works = context.task.workloads if context.task is not None else ()
    first = next((work for work in works if work.role in DECIDING), None)
    return tuple(
        f"input {place}"
        for place, one in enumerate(first.inputs if first is not None else (), 1)
        if isinstance(one, TensorSpec) and not one.contiguous
    )


def _is_layout_handled(case: Case) -> bool:
    """Whether host code requires a layout, or checks its inputs by a macro."""
    for function in case.unit.functions:
        for part in walk(function.code) if function.runs == "host" else ():
            if isinstance(part, Call | Member) and part.name in HANDLED:
                return True
            if isinstance(part, Call) and part.name.startswith("CHECK_"):
                return True
    return False


def _pointers(case: Case, name: str) -> Iterator[Call]:
    """Yield the calls that take a tensor's pointer, or copy it with its layout."""
    for part in walk(case.launch.host.code):
        if isinstance(part, Call) and part.name in TAKES and isinstance(part.base, Name):
            if part.base.id == name:
                yield part


def _given_to_triton(source: Source, *, wrong: bool) -> Iterator[Finding]:
    """Yield the views that reach a Triton launch which isn't given their strides."""
    for launch in triton.launches(source):
        parts = [
            part for node in (*launch.call.args, *launch.call.keywords) for part in ast.walk(node)
        ]
        asked = [one for one in parts if isinstance(one, ast.Attribute) and one.attr == "stride"]
        strides = {source.text(one.value) for one in asked}
        for value in launch.arguments.values():
            made = _origin_of(launch, value)
            called = made.func if isinstance(made, ast.Call) else made
            view = isinstance(called, ast.Attribute) and called.attr in VIEWS
            if view and source.text(value) not in strides:
                words = source.text(made)
                grouped = f"({words})" if "\n" in words else words
                yield RULE.finding(
                    source.place(made),
                    f"`{words}` is a view: its elements don't lie in the order of its shape, and `{launch.kernel.name}` is not given its strides",
                    severity="error" if wrong else "warning",
                    predicts="wrong-values",
                    fixes=fix(
                        "copy it in order", [replace(source, made, f"{grouped}.contiguous()")]
                    ),
                    kernels=(launch.kernel.name,),
                )


def _origin_of(launch: triton.Launch, value: ast.expr) -> ast.expr:
    """Return the expression of a launch's argument, with a plain name resolved."""
    named = value.id if isinstance(value, ast.Name) and launch.host is not None else ""
    every = assignments(launch.host, named) if launch.host is not None and named else ()
    before = [one.value for one in every if one.lineno < launch.call.lineno]
    return before[-1] if before else value


RULE = rule_of(__file__, check, predicts="elsewhere")
