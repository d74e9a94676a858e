"""EXT005: the result is of another shape, type or device than the reference's."""

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Details, MissingGradient, ShapeMismatch
from grader.rules import Context, Edit, Evidence, Finding, Fix, Place, Source, fix, rule_of
from grader.source import nodes_under
from grader.source.analysis.data_flow import assignments, returns
from grader.source.analysis.returned_tensor import allocation_of_result, length_written
from grader.source.cpp_reading import read_call
from grader.source.cpp_types import type_of
from grader.source.definitions import definitions
from grader.source.nodes import descendants, function_around, text
from grader.source.python_code import PythonCode

FORMS = ("shape", "dtype", "device", "count", "type")
OFF_THE_GPU = {"cpu", "numpy", "tolist"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for results that are moved off the GPU, and for mismatches of form that runs showed."""
    code = source.module
    forms = (item for item in context.evidence_of("mismatch", "probe") if item.code in FORMS)
    seen = [item for item in forms if not isinstance(item.details, MissingGradient)]
    moved = [*_moved_off_gpu(source, code), *_moved_in_cpp(source)]
    for place, name, fixes in moved:
        yield RULE.finding(
            place,
            f"the result is returned through .{name}(): it is on the CPU, while the reference's result "
            "is on the GPU, so the comparison fails whatever the numbers are",
            evidence=[item for item in seen if item.code in {"device", "type"}],
            fixes=fixes,
            other_form=True,
        )
    if seen and not moved:
        made, why = _where_returned(source, code, seen[0])
        yield RULE.finding(
            made,
            f"{why}{seen[0].text}",
            evidence=seen,
            other_form=True,
            cause="form",
        )


Moved = tuple[Place, str, tuple[Fix, ...]]
"""Place and method of a result's move off the GPU, and the fix that keeps it there."""


def _left_there(edit: Edit | None) -> tuple[Fix, ...]:
    return fix("leave the result on the GPU", [edit], certain=True)


def _moved_off_gpu(source: Source, code: PythonCode) -> Iterator[Moved]:
    """Yield the calls that move a result of forward off the GPU."""
    forward = code.method("forward")
    for _, given in returns(code, forward) if forward is not None else ():
        for value in given.elts if isinstance(given, ast.Tuple | ast.List) else [given]:
            named = value.id if isinstance(value, ast.Name) else ""
            made = [one.value for one in assignments(forward, named)] if forward and named else []
            call = made[-1] if made else value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if _leaves(call, call.func.attr):
                    start, end = source.span(call.func.value)[1], source.span(call)[1]
                    edit = Edit(start=start, end=end, text="")
                    yield source.place(call), call.func.attr, _left_there(edit)


def _leaves(call: ast.Call, method: str) -> bool:
    if method in OFF_THE_GPU and not call.args:
        return True
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "device")]
    said = {ast.unparse(one) for one in given}
    return method == "to" and bool(said & {"'cpu'", "torch.device('cpu')"})


def _moved_in_cpp(source: Source) -> Iterator[Moved]:
    for unit in source.units:
        for node in unit.nodes("return_statement"):
            for one in node.named_children if not unit.tree.has_error else ():
                call = read_call(one) if one.type == "call_expression" else None
                if (
                    call is None
                    or call.base is None
                    or type_of(unit, call.base.node) not in {"Tensor", None}
                ):
                    continue
                to_cpu = call.qualified == "to" and any(
                    text(a).endswith("kCPU") for a in call.arguments
                )
                if to_cpu or (call.qualified == "cpu" and not call.arguments):
                    edit = unit.edit(call.base.node.end_byte, call.node.end_byte, "")
                    yield unit.place(call.node), call.qualified, _left_there(edit)


def _where_returned(source: Source, code: PythonCode, seen: Evidence) -> tuple[Place | None, str]:
    """Return the place of the result, and its wrong lengths: the host function's allocation, else forward's return.

    The number of results is forward's choice.
    """
    for unit in source.cuda if seen.code != "count" else ():
        allocated = [call.node for call in unit.calls if _allocates(call.qualified)]
        given = (node.named_children for node in unit.nodes("return_statement"))
        returned = {text(inner[0]) for inner in given if inner}
        kept = [node for node in allocated if _variable(node) in returned]
        if allocated:
            made = (kept or allocated)[-1]
            wrong = list(_wrong_lengths(made, seen.details))
            said = ", ".join(
                f"`{name}` is {got} and has to be {want}" for name, got, want, _ in wrong
            )
            return unit.place(wrong[0][3] if wrong else made), f"{said}: " if wrong else ""
    forward = code.method("forward")
    if forward is None:
        return None, ""
    called = allocation_of_result(code) if seen.code in {"shape", "dtype"} else None
    if called is not None:
        return source.place(_wrong_length(code, called, seen.details) or called), ""
    ends = [node for node in nodes_under(forward) if isinstance(node, ast.Return)]
    return source.place(ends[-1] if ends else forward), ""


def _wrong_lengths(made: Node, form: Details | None) -> Iterator[tuple[str, int, int, Node]]:
    """Yield the variables of a new tensor's wrong lengths: name, present value, right value, definition."""
    given = next(descendants(made, "initializer_list"), None)
    names = [text(one) for one in given.named_children] if given is not None else []
    if isinstance(form, ShapeMismatch) and len(names) == len(form.got) == len(form.want):
        every = list(definitions(function_around(made)))
        for name, got, want in zip(names, form.got, form.want, strict=True):
            set_here = [one.node for one in every if one.is_variable and one.name == name]
            if got != want and len(set_here) == 1:
                yield name, got, want, set_here[0]


def _wrong_length(code: PythonCode, made: ast.Call, form: Details | None) -> ast.expr | None:
    """Return the expression of the only wrong length."""
    if not isinstance(form, ShapeMismatch) or len(form.got) != len(form.want):
        return None
    apart = [axis for axis, (got, want) in enumerate(zip(form.got, form.want, strict=True)) if got != want]  # fmt: skip
    return length_written(code, made, apart[0], len(form.want)) if len(apart) == 1 else None


def _variable(made: Node) -> str:
    """Return the name of the variable that a value is assigned to; empty where none."""
    declared = made.parent
    named = declared is not None and declared.type == "init_declarator"
    return text(declared.child_by_field_name("declarator")) if declared and named else ""


def _allocates(name: str) -> bool:
    space, _, last = name.rpartition("::")
    return space in {"torch", "at"} and last.startswith(("empty", "zeros", "full", "ones"))


RULE = rule_of(__file__, check, predicts="wrong-values")
