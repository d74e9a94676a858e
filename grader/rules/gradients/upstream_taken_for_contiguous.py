"""GRD003: the upstream gradient is read as if it were contiguous."""

import ast
from collections.abc import Iterator

from grader.records.compared_gradients import asked_gradients
from grader.rules import Context, Edit, Finding, Source, fix, rule_of
from grader.source import nodes_under
from grader.source.analysis.backward_code import backwards, upstream_names
from grader.source.code_edits import insert_line_before
from grader.source.python_code import Function

AWARE = frozenset({"contiguous", "stride", "reshape", "clone"})
"""Methods by which a text handles a tensor's layout."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report gradients that are wrong exactly for non-contiguous upstream gradients."""
    asked = [one for one in asked_gradients(context) if one.backward.way == "once"]
    wrong = [one for one in asked if one.result]
    if not wrong or any(one.backward.in_order for one in wrong):
        return
    evidence = [item for one in wrong for item in one.evidence]
    for function in backwards(source):
        names = [name for name in upstream_names(function) if not _cared_for(function, name)]
        if names:
            yield RULE.finding(
                source.line_place(function.lineno),
                f"`{names[0]}` is taken for contiguous: the gradients are right for upstream gradients whose elements lie in order, "
                "and wrong for an expanded one (as `sum().backward()` gives) or a transposed one",
                confidence="proven",
                evidence=evidence,
                root_cause=True,
                fixes=fix(f"make {names[0]} contiguous", [_edit(source, function, names)]),
            )
            return


def _cared_for(function: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in AWARE
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in nodes_under(function)
    )


def _edit(source: Source, function: Function, names: list[str]) -> Edit:
    body = function.body
    first = body[1] if len(body) > 1 and ast.get_docstring(function) else body[0]
    indent = " " * first.col_offset
    lines = "".join(f"{indent}{name} = {name}.contiguous()\n" for name in names)
    return insert_line_before(source, first, lines)


RULE = rule_of(__file__, check)
