"""BLD014: a launch passes an argument that the kernel's parameter does not accept."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Kernel, Launch, Parameter
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.kernel_accesses import written_through
from grader.source.cpp_types import canonical, type_of
from grader.source.nodes import one_line, text
from grader.source.rewriting.launch_arguments import SPELLED, as_parameter, pass_the_rest

KINDS = ("argument-type", "argument-count", "no-conversion", "no-overload")
NUMBERS = {"int", "unsigned", "long", "ulong", "ll", "ull", "float", "double", "bool", "short"}
OF_ONE_TYPE = re.compile(r"data_ptr<\s*(float|double|int|int64_t)\s*>\(\)$")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare each launch's arguments with the kernel's parameters."""
    kernels: dict[str, list[tuple[Unit, Kernel]]] = {}
    for unit in source.cuda:
        for kernel in unit.kernels:
            kernels.setdefault(kernel.name, []).append((unit, kernel))
    for unit in source.cuda:
        for launch in unit.launches:
            found = kernels.get(launch.kernel, [])
            plain = all(
                "..." not in text(k.node.child_by_field_name("declarator")) for _, k in found
            )
            if len(found) == 1 and plain and not launch.node.has_error:
                yield from _launch(unit, launch, *found[0], context)


def _launch(
    unit: Unit, launch: Launch, owner: Unit, kernel: Kernel, context: Context
) -> Iterator[Finding]:
    place = unit.place(launch.node)
    lines = range(place.line, place.end_line + 1)
    needed = [one for one in kernel.parameters if one.node.type == "parameter_declaration"]
    given, most = len(launch.arguments), len(kernel.parameters)
    if not len(needed) <= given <= most:
        yield RULE.finding(
            place,
            f"{kernel.name} takes {most} argument{'s' * (most != 1)}, and this launch gives {given}",
            evidence=confirming_errors(context, ("argument-count", "no-overload"), lines=lines),
            fixes=pass_the_rest(unit, launch, kernel),
        )
        return
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        wrong = _mismatch(unit, kernel, parameter, argument)
        wrong = wrong or _of_one_type(launch, kernel, parameter, argument)
        if wrong:
            yield RULE.finding(
                unit.place(argument),
                f"{one_line(argument, 40)} is {wrong}, but {kernel.name}'s parameter {parameter.name} is {parameter.type}",
                evidence=confirming_errors(context, KINDS, lines=lines),
                fixes=_fixes(unit, owner, kernel, parameter, argument, wrong),
            )


def _base(kind: str) -> str:
    """Return the target type of a pointer type."""
    return kind.removeprefix("const ").rstrip("*")


def _mismatch(unit: Unit, kernel: Kernel, parameter: Parameter, argument: Node) -> str:
    """Return the argument's type if the parameter doesn't accept it; empty if it does, or if unknown."""
    given, wanted = type_of(unit, argument), canonical(parameter.type)
    if given is None or wanted is None or parameter.is_reference:
        return ""
    if given == "Tensor":
        return "a tensor" if parameter.is_pointer or wanted in NUMBERS else ""
    if not (parameter.is_pointer and wanted.endswith("*")):
        return "a pointer" if given.endswith("*") and wanted in NUMBERS else ""
    if not given.endswith("*"):
        null = argument.type == "number_literal" and text(argument).strip("0uUlLxX") == ""
        return "a number" if given in NUMBERS and not null else ""
    base, own = _base(wanted), _base(given)
    open_types = {one.name for one in kernel.template_parameters} | {"scalar_t", "void"}
    if base in open_types or own in {"scalar_t", "auto", "T"}:
        return ""
    if own == "void":
        return "an untyped pointer"
    if given.startswith("const ") and not wanted.startswith("const "):
        return "a pointer to const"
    return f"a pointer to {own}" if own != base and {own, base} <= NUMBERS else ""


def _of_one_type(launch: Launch, kernel: Kernel, parameter: Parameter, argument: Node) -> str:
    """Return the description of a pointer of a fixed type, in a launch for each type of a dispatch."""
    names = (one.name for one in kernel.template_parameters)
    told = dict(zip(names, map(text, launch.template_arguments), strict=False))
    asked = OF_ONE_TYPE.search(text(argument))
    dispatched = told.get(_base(canonical(parameter.type) or "")) == "scalar_t"
    return f"a pointer to {asked[1]}" if asked and dispatched else ""


def _fixes(
    unit: Unit, owner: Unit, kernel: Kernel, parameter: Parameter, argument: Node, wrong: str
) -> tuple[Fix, ...]:
    base, end = _base(canonical(parameter.type) or ""), argument.end_byte
    generic = base in {one.name for one in kernel.template_parameters}
    if wrong == "a tensor" and parameter.is_pointer and argument.type == "identifier":
        kind = {"long": "int64_t"}.get(base, base)
        edits = [unit.edit(end, end, f".data_ptr<{kind}>()")] if not generic else []
        return fix(f"pass {text(argument)}'s data pointer", edits)
    if wrong == "a pointer to const" and not written_through(owner, kernel, parameter.name):
        start = parameter.node.start_byte
        edit = owner.edit(start, start, "const ")
        return fix(f"make {parameter.name} a pointer to const", [edit], certain=True)
    if wrong == "an untyped pointer" and text(argument).endswith("data_ptr()"):
        kind, at = "scalar_t" if generic else SPELLED.get(base, base), end - len("()")
        return fix(f"ask for a pointer to {kind}", [unit.edit(at, at, f"<{kind}>")])
    if wrong.startswith("a pointer to "):
        return as_parameter(unit, parameter, argument, "scalar_t" if generic else "")
    return ()


RULE = rule_of(__file__, check)
