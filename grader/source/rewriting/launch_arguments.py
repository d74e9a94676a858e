"""Fixes of arguments of launches and calls: pointers of a wrong type, and missing arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from tree_sitter import Node

from grader.records import Fix
from grader.source import Kernel, Launch, Parameter, Unit
from grader.source.code_edits import fix
from grader.source.cpp_types import canonical, known_at
from grader.source.nodes import text

SPELLED = {"long": "int64_t", "half": "at::Half"}
"""Type names for `data_ptr` that differ from the C++ names."""
MOST = 3
"""Most arguments that are inserted."""
_POINTER = re.compile(r"(.*\.(?:mutable_|const_)?data_ptr<)\s*[\w:]+\s*(>\(\))", re.DOTALL)


def element_type(parameter: Parameter) -> str:
    """Return a pointer's target type, or the number's own type."""
    return (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")


def as_parameter(
    unit: Unit, parameter: Parameter, argument: Node, known_as: str = ""
) -> tuple[Fix, ...]:
    """Return the fix that takes a tensor's data pointer in the type that the kernel's parameter has.

    `known_as` is that type's name at the launch, for a template.
    """
    base = known_as or element_type(parameter)
    found = _POINTER.fullmatch(text(argument))
    if not found or not base:
        return ()
    kind = SPELLED.get(base, base)
    edit = unit.edit(argument.start_byte, argument.end_byte, f"{found[1]}{kind}{found[2]}")
    return fix(f"take the pointer as {kind}", [edit])


def pass_the_rest(unit: Unit, launch: Launch, kernel: Kernel) -> tuple[Fix, ...]:
    """Return the fix that passes a launch's missing arguments, where host variables have the parameters' names."""
    return with_all_arguments(unit, launch.node, launch.arguments, kernel.parameters)


def with_all_arguments(
    unit: Unit, at: Node, given: Sequence[Node], parameters: Sequence[Parameter]
) -> tuple[Fix, ...]:
    """Return the fix that passes a call's missing arguments: the variables with the parameters' names.

    They are inserted where most of the other arguments then match their names.
    """
    known, lacking = known_at(unit, at), len(parameters) - len(given)
    if not given or not 0 < lacking <= MOST:
        return ()
    passed = {text(node) for node in given}
    named = [k for k, parameter in enumerate(parameters) if parameter.name in known]
    free = [k for k in named if _word(parameters[k], known) not in passed]
    ways = combinations(free, lacking)
    best = max(ways, key=lambda way: (_at_their_names(given, parameters, way), way), default=())
    words = [_word(parameters[k], known) for k in best]
    edits: dict[int, str] = {}
    for turn, (k, word) in enumerate(zip(best, words, strict=True)):
        after = given[k - turn] if k - turn < len(given) else None
        start = after.start_byte if after is not None else given[-1].end_byte
        more = f"{word}, " if after is not None else f", {word}"
        edits[start] = edits.get(start, "") + more
    made = [unit.edit(start, start, more) for start, more in edits.items()]
    return fix(f"pass {', '.join(words)}", made)


def _at_their_names(
    given: Sequence[Node], parameters: Sequence[Parameter], way: Sequence[int]
) -> int:
    """Return the number of arguments with their parameter's name, after insertions at these places."""
    names = [parameter.name for k, parameter in enumerate(parameters) if k not in way]
    return sum(
        re.search(rf"\b{re.escape(name)}\b", text(node)) is not None
        for name, node in zip(names, given, strict=True)
    )


def _word(parameter: Parameter, known: dict[str, str]) -> str:
    tensor = parameter.is_pointer and known[parameter.name].endswith("Tensor")
    return data_of(parameter) if tensor else parameter.name


def data_of(parameter: Parameter, tensor: str = "") -> str:
    """Return the data pointer of a tensor (default: of the parameter's name), in the type of a kernel's parameter."""
    base = element_type(parameter)
    return f"{tensor or parameter.name}.data_ptr<{SPELLED.get(base, base)}>()"
