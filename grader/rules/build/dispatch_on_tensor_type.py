"""BLD007: a dispatch macro gets `x.type()`."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, Unit, fix, rule_of
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import replace_node
from grader.source.cpp_reading import read_call

KINDS = ("no-conversion", "argument-type", "no-overload")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the arguments of each AT_DISPATCH macro."""
    for unit in source.units:
        for call in unit.calls if "AT_DISPATCH" in unit.text else ():
            methods = (_type_method(argument) for argument in call.arguments)
            method = next(filter(None, methods), None)
            if call.qualified.startswith("AT_DISPATCH") and method is not None:
                yield _finding(unit, call.qualified, *method, context)


def _finding(unit: Unit, macro: str, argument: Node, field: Node, context: Context) -> Finding:
    place = unit.place(argument)
    evidence = confirming_errors(context, KINDS, ("DeprecatedTypeProperties",), (place.line,))
    return RULE.finding(
        place,
        f"{place.excerpt} gives {macro} a type object; it needs a scalar type, and torch 2.6 and later "
        "do not convert one into the other: the build stops",
        severity="error" if evidence else "warning",
        evidence=evidence,
        predicts="build-fails" if evidence else "elsewhere",
        fixes=fix("use scalar_type()", [replace_node(unit, field, "scalar_type")], certain=True),
    )


def _type_method(argument: Node) -> tuple[Node, Node] | None:
    """Return the argument and the name in it, for `x.type()`."""
    if argument.type != "call_expression":
        return None
    call = read_call(argument)
    callee = argument.child_by_field_name("function")
    field = callee.child_by_field_name("field") if callee is not None else None
    if call.qualified != "type" or call.base is None or call.arguments or field is None:
        return None
    return argument, field


RULE = rule_of(__file__, check)
