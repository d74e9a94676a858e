"""Fixes of what a launch or a call hands over: pointers of another type, and arguments that are missing."""

from __future__ import annotations

import re

from tree_sitter import Node

from grader.records import Fix
from grader.source import Kernel, Launch, Parameter, Unit
from grader.source.code_edits import fix
from grader.source.cpp_types import canonical
from grader.source.cuda_code import descendants, text

SPELLED = {"long": "int64_t", "half": "at::Half"}
"""What `data_ptr` is asked for where C++ calls the type otherwise."""
_POINTER = re.compile(r"(.*\.(?:mutable_|const_)?data_ptr<)\s*[\w:]+\s*(>\(\))", re.DOTALL)


def as_parameter(
    unit: Unit, parameter: Parameter, argument: Node, known_as: str = ""
) -> tuple[Fix, ...]:
    """Return the fix that takes a tensor's data pointer in the type that the kernel's parameter has.

    `known_as` is what that type is called at the launch, where it is a template's.
    """
    base = known_as or (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
    found = _POINTER.fullmatch(text(argument))
    if not found or not base:
        return ()
    kind = SPELLED.get(base, base)
    new = f"{found[1]}{kind}{found[2]}"
    edit = unit.edit(argument.start_byte, argument.end_byte, new)
    return fix(f"take the pointer as {kind}", [edit])


def pass_the_rest(unit: Unit, launch: Launch, kernel: Kernel) -> tuple[Fix, ...]:
    """Return the fix that passes what the last parameters are called, where the host knows these names."""
    given = list(launch.arguments)
    missing = kernel.parameters[len(given) :]
    known = _known(launch)
    if not given or not missing or not all(p.name in known for p in missing):
        return ()
    words = [
        data_of(p) if p.is_pointer and known[p.name].endswith("Tensor") else p.name for p in missing
    ]
    at = given[-1].end_byte
    edit = unit.edit(at, at, "".join(f", {word}" for word in words))
    return fix(f"pass {', '.join(words)}", [edit])


def data_of(parameter: Parameter, tensor: str = "") -> str:
    """Return the data pointer of a tensor, in the type of a kernel's parameter; of the one of its name by default."""
    base = (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
    return f"{tensor or parameter.name}.data_ptr<{SPELLED.get(base, base)}>()"


def _known(launch: Launch) -> dict[str, str]:
    """Return what the host function knows before a launch: each variable's name, and its type."""
    function = launch.host_function
    if function is None or function.body is None:
        return {}
    found = {p.name: p.type for p in function.parameters}
    for declared in descendants(function.body, "declaration"):
        if declared.end_byte > launch.node.start_byte:
            continue
        kind = text(declared.child_by_field_name("type"))
        for child in declared.named_children:
            name = child.child_by_field_name("declarator") or child
            made = re.match(r"(?:torch|at)::", text(child.child_by_field_name("value")))
            if name.type == "identifier":
                found[text(name)] = "Tensor" if kind == "auto" and made else kind
    return found
