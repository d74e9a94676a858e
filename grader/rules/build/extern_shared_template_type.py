"""BLD010: one name for dynamic shared memory, declared with two types."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Function
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import replace_node
from grader.source.cpp import Declare

KINDS = ("incompatible-declaration", "redefinition")
Declared = tuple[Unit, Function, Declare]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the declarations of each dynamic array that the compiler refuses, or that have a template's type."""
    for extension in source.extensions:
        by_name: dict[str, list[Declared]] = {}
        for unit in extension.cuda:
            for function in (*unit.kernels, *unit.device_functions):
                for array in function.shared:
                    if array.extern:
                        by_name.setdefault(array.name, []).append((unit, function, array))
        for name, places in by_name.items():
            yield from _name(places, confirming_errors(context, KINDS, (name,)))


def _name(places: list[Declared], refused: tuple[Evidence, ...]) -> Iterator[Finding]:
    template = next((one for one in places if _is_templates(*one)), None)
    unit, _, array = template or places[-1]
    if refused:
        yield RULE.finding(
            unit.place(array.node),
            f"the dynamic shared array {array.name} is declared with several types: all declarations of one name in "
            "a file are the same variable, so this does not compile",
            evidence=refused,
            fixes=_fixes(places),
        )
    elif template is not None:
        yield RULE.finding(
            unit.place(array.node),
            f"{array.name} has the template's type {array.type}: this builds only as long as the "
            "kernel is instantiated with a single type",
            severity="note",
            fixes=_fixes([template]),
        )


def _is_templates(_unit: Unit, function: Function, array: Declare) -> bool:
    return array.type in {one.name for one in function.template_parameters}


def _fixes(places: list[Declared]) -> tuple[Fix, ...]:
    edits = []
    for unit, _, array in places:
        raw, kind = f"{array.name}_bytes", array.type
        new = f"extern __shared__ __align__(16) unsigned char {raw}[];\n    {kind}* {array.name} = reinterpret_cast<{kind}*>({raw});"
        edits.append(replace_node(unit, array.node, new))
    return fix("declare the dynamic shared memory as bytes and cast once", edits)


RULE = rule_of(__file__, check)
