"""BLD010: one name for dynamic shared memory, declared with two types."""

from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Extension, Function, Source, Unit
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import fix, replace_node
from grader.source.cpp import Declare
from grader.source.instantiations import instantiations

KINDS = ("incompatible-declaration", "redefinition")
Declared = tuple[Unit, Function, Declare]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the types that each dynamic array gets over all instantiations of all kernels."""
    for extension in source.extensions:
        by_name: dict[str, list[Declared]] = {}
        for unit in extension.cuda:
            for function in (*unit.kernels, *unit.device_functions):
                for array in function.shared:
                    if array.extern:
                        by_name.setdefault(array.name, []).append((unit, function, array))
        for places in by_name.values():
            yield from _name(extension, places, context)


def _name(extension: Extension, places: list[Declared], context: Context) -> Iterator[Finding]:
    types = dict.fromkeys(kind for one in places for kind in _types(extension, *one))
    template = next((one for one in places if _is_templates(*one)), None)
    unit, _, array = template or places[-1]
    evidence = confirming_errors(context, KINDS, (array.name,))
    if len(types) > 1 or evidence:
        kinds = " and ".join(list(types)[:3]) or "several types"
        yield RULE.finding(
            unit.place(array.node),
            f"the dynamic shared array {array.name} is declared as {kinds}: all declarations of one name in "
            "a file are the same variable, so this does not compile",
            evidence=evidence,
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


def _types(extension: Extension, unit: Unit, function: Function, array: Declare) -> tuple[str, ...]:
    """Return the types that an array gets; empty where a template is not seen to be used."""
    kind = array.type
    if not _is_templates(unit, function, array):
        return (kind,)
    kernels = [one for each in extension.cuda for one in each.kernels if one is function]
    used = (i.types.get(kind, kind) for one in kernels for i in instantiations(extension.cuda, one))
    return tuple(one for one in used if one not in {"scalar_t", kind})


def _fixes(places: list[Declared]) -> tuple[Fix, ...]:
    edits = []
    for unit, _, array in places:
        raw, kind = f"{array.name}_bytes", array.type
        new = f"extern __shared__ __align__(16) unsigned char {raw}[];\n    {kind}* {array.name} = reinterpret_cast<{kind}*>({raw});"
        edits.append(replace_node(unit, array.node, new))
    return fix("declare the dynamic shared memory as bytes and cast once", edits)


RULE = Rule(**read_page(__file__), detects=("text", "build"), languages=("cuda",), check=check)
