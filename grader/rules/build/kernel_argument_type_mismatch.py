"""BLD014: a launch hands a kernel something that its parameter does not take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Kernel, Launch, Parameter, Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.analysis.written_through import written_through
from grader.source.code_edits import fix
from grader.source.cpp_types import canonical, type_of
from grader.source.cuda_code import one_line, text
from grader.source.rewriting.launch_arguments import SPELLED, as_parameter, pass_the_rest

KINDS = ("argument-type", "argument-count", "no-conversion", "no-overload")
NUMBERS = {"int", "unsigned", "long", "ulong", "ll", "ull", "float", "double", "bool", "short"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare each launch's arguments with the kernel's parameters."""
    kernels: dict[str, list[tuple[Unit, Kernel]]] = {}
    for unit in source.cuda:
        for kernel in unit.kernels:
            kernels.setdefault(kernel.name, []).append((unit, kernel))
    for unit in source.cuda:
        for launch in unit.launches:
            found = kernels.get(launch.kernel, [])
            if len(found) == 1 and not _variadic(found[0][1]):
                yield from _launch(unit, launch, *found[0], context)


def _launch(
    unit: Unit, launch: Launch, owner: Unit, kernel: Kernel, context: Context
) -> Iterator[Finding]:
    place = unit.place(launch.node)
    lines = range(place.line, place.end_line + 1)
    needed = [one for one in kernel.parameters if one.node.type == "parameter_declaration"]
    given, most = len(launch.arguments), len(kernel.parameters)
    if launch.node.has_error:
        return
    if not len(needed) <= given <= most:
        evidence = confirming(context, ("argument-count", "no-overload"), lines=lines)
        yield RULE.finding(
            place,
            f"{kernel.name} takes {most} argument{'s' * (most != 1)}, and this launch gives {given}",
            evidence=evidence,
            fixes=pass_the_rest(unit, launch, kernel),
        )
        return
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        wrong = _mismatch(unit, kernel, parameter, argument) or _of_one_type(
            launch, kernel, parameter, argument
        )
        if wrong is not None:
            evidence = confirming(context, KINDS, lines=lines)
            yield _finding(unit, owner, kernel, parameter, argument, wrong, evidence)


def _finding(
    unit: Unit,
    owner: Unit,
    kernel: Kernel,
    parameter: Parameter,
    argument: Node,
    wrong: str,
    evidence: tuple[Evidence, ...],
) -> Finding:
    return RULE.finding(
        unit.place(argument),
        f"{one_line(argument, 40)} is {wrong}, but {kernel.name}'s parameter {parameter.name} is {parameter.type}",
        evidence=evidence,
        fixes=_fixes(unit, owner, kernel, parameter, argument, wrong),
    )


def _mismatch(unit: Unit, kernel: Kernel, parameter: Parameter, argument: Node) -> str | None:
    """Return what the argument is, where the parameter can't take it."""
    given = type_of(unit, argument)
    wanted = canonical(parameter.type)
    templates = {one.name for one in kernel.template_parameters}
    if given is None or wanted is None or parameter.is_reference:
        return None
    if given == "Tensor":
        return "a tensor" if parameter.is_pointer or wanted in NUMBERS else None
    if parameter.is_pointer and wanted.endswith("*"):
        return _pointer_mismatch(argument, given, wanted, templates)
    if given.endswith("*") and wanted in NUMBERS:
        return "a pointer"
    return None


def _of_one_type(
    launch: Launch, kernel: Kernel, parameter: Parameter, argument: Node
) -> str | None:
    """Return what a pointer of one fixed type is, in a launch for each type of a dispatch."""
    base = (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
    names = [one.name for one in kernel.template_parameters]
    told = [text(one) for one in launch.template_arguments]
    asked = re.search(r"data_ptr<\s*(float|double|int|int64_t)\s*>\(\)$", text(argument))
    dispatched = base in names[: len(told)] and told[names.index(base)] == "scalar_t"
    return f"a pointer to {asked[1]}" if asked and dispatched else None


def _pointer_mismatch(argument: Node, given: str, wanted: str, templates: set[str]) -> str | None:
    base = wanted.removeprefix("const ").rstrip("*")
    if not given.endswith("*"):
        null = argument.type == "number_literal" and text(argument).strip("0uUlLxX") == ""
        return "a number" if given in NUMBERS and not null else None
    own = given.removeprefix("const ").rstrip("*")
    if base in templates or "scalar_t" in (base, own) or base == "void" or own in {"auto", "T"}:
        return None
    if own == "void":
        return "an untyped pointer"
    if given.startswith("const ") and not wanted.startswith("const "):
        return "a pointer to const"
    return f"a pointer to {own}" if own != base and {own, base} <= NUMBERS else None


def _fixes(
    unit: Unit, owner: Unit, kernel: Kernel, parameter: Parameter, argument: Node, wrong: str
) -> tuple[Fix, ...]:
    base = canonical(parameter.type) or ""
    base = base.removeprefix("const ").rstrip("*")
    if wrong == "a tensor" and parameter.is_pointer and argument.type == "identifier":
        kind = {"long": "int64_t"}.get(base, base)
        if kind in {one.name for one in kernel.template_parameters}:
            return ()
        edit = unit.edit(argument.end_byte, argument.end_byte, f".data_ptr<{kind}>()")
        return fix(f"pass {text(argument)}'s data pointer", [edit])
    if wrong == "a pointer to const" and not written_through(owner, kernel, parameter.name):
        start = parameter.node.start_byte
        edit = owner.edit(start, start, "const ")
        return fix(f"make {parameter.name} a pointer to const", [edit], certain=True)
    if wrong == "an untyped pointer" and text(argument).endswith("data_ptr()"):
        generic = base in {one.name for one in kernel.template_parameters}
        kind = "scalar_t" if generic else SPELLED.get(base, base)
        at = argument.end_byte - len("()")
        return fix(f"ask for a pointer to {kind}", [unit.edit(at, at, f"<{kind}>")])
    if wrong.startswith("a pointer to "):
        generic = base in {one.name for one in kernel.template_parameters}
        return as_parameter(unit, parameter, argument, "scalar_t" if generic else "")
    return ()


def _variadic(kernel: Kernel) -> bool:
    return "..." in text(kernel.node.child_by_field_name("declarator"))


_BAD = """
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) {
    k<<<1, 32>>>(x, x.numel());
    return x;
}
"""
RULE = Rule(
    code="BLD014",
    name="kernel-argument-type-mismatch",
    severity="error",
    summary="A value of the wrong kind is passed to a kernel, for example a tensor or a pointer to "
    "const where a plain float pointer is expected.",
    why="A launch is checked like a call: the number of arguments and the type of each must fit. "
    "Tensors do not turn into pointers by themselves.",
    bad=_BAD,
    good=_BAD.replace("(x, x.numel())", "(x.data_ptr<float>(), x.numel())"),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Numbers convert into each other and are not reported. Templates, overloaded kernels and types that are not sure are left "
    "alone.",
    fix="Passes the tensor's data pointer, in the parameter's type, or what missing parameters are named after; or makes the parameter a pointer to const where the "
    "kernel does not write through it.",
    check=check,
)
