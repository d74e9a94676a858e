"""The host function that an answer declares and forgets to write, for a kernel over elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Context, Finding
from grader.repair.fixes.maker import FixMaker
from grader.source.code_edits import fix, head
from grader.source.cpp_types import canonical

if TYPE_CHECKING:
    from grader.records import Fix
    from grader.source import Extension, Function, Kernel, Parameter, Source

ENDS = re.compile(r"_(?:cuda|kernel|forward|launcher|wrapper|torch|op)(?=_|$)")
COUNT = re.compile(
    r"n|N|size|numel|num_elements|total|total_elements|total_size|n_elements|count", re.IGNORECASE
)
"""Names of the number of elements."""
POINTERS = {"float", "double", "int", "long", "half"}
NUMBERS = {"float", "double", "int", "long", "unsigned", "bool"}


def missing_function(extension: Extension, declared: Function) -> tuple[Fix, ...]:
    """Return the fix that defines a declared function, where a kernel of that name goes over a tensor's elements.

    Empty where a parameter of the kernel is not plain.
    """
    for unit in extension.cuda:
        for kernel in unit.kernels:
            if _stem(kernel.name) == _stem(declared.name) and not kernel.template_parameters:
                words = _written(kernel, declared)
                at = len(unit.data)
                edit = unit.edit(at, at, f"\n{words}\n") if words else None
                return fix(f"write {declared.name}, which launches {kernel.name}", [edit])
    return ()


def _stem(name: str) -> str:
    return ENDS.sub("", name)


def _written(kernel: Kernel, declared: Function) -> str | None:
    tensors = [p.name for p in declared.parameters if canonical(p.type) == "Tensor"]
    numbers = [p.name for p in declared.parameters if canonical(p.type) in NUMBERS]
    if not tensors or len(tensors) + len(numbers) < len(declared.parameters):
        return None
    if canonical(declared.return_type) != "Tensor":
        return None
    if "output" in tensors:
        return None
    first = tensors[0]
    given = _arguments(kernel, list(tensors), list(numbers))
    if given is None:
        return None
    return (
        f"{head(declared)} {{\n"
        f"    auto output = torch::empty_like({first});\n"
        f"    const int64_t total = {first}.numel();\n"
        f"    const int threads = 256;\n"
        f"    const int blocks = (total + threads - 1) / threads;\n"
        f"    {kernel.name}<<<blocks, threads>>>({', '.join(given)});\n"
        f"    return output;\n"
        f"}}"
    )


def _arguments(kernel: Kernel, tensors: list[str], numbers: list[str]) -> list[str] | None:
    """Return what the launch passes for each of the kernel's parameters; None where that can't be told."""
    given = [_argument(parameter, tensors, numbers) for parameter in kernel.parameters]
    known = [words for words in given if words is not None]
    outputs = sum(words.startswith("output.") for words in known)
    return known if len(known) == len(given) and outputs == 1 else None


def _argument(parameter: Parameter, tensors: list[str], numbers: list[str]) -> str | None:
    kind = (canonical(parameter.type) or "").removeprefix("const ").rstrip("*")
    if parameter.is_pointer:
        element = {"long": "int64_t", "half": "at::Half"}.get(kind, kind)
        if kind not in POINTERS:
            return None
        if "const" not in parameter.type:
            return f"output.data_ptr<{element}>()"
        return f"{_taken(parameter.name, tensors)}.data_ptr<{element}>()" if tensors else None
    if kind not in NUMBERS:
        return None
    if parameter.name not in numbers and COUNT.fullmatch(parameter.name):
        return "total"
    return _taken(parameter.name, numbers) if numbers else None


def _taken(name: str, known: list[str]) -> str:
    """Take the one of that name, else the first, out of a list."""
    return known.pop(known.index(name) if name in known else 0)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fix for the declaration that the finding is about."""
    for extension in source.extensions:
        defined = {one.name for unit in extension.units for one in unit.functions}
        for unit in extension.cpp:
            for declared in unit.declarations:
                if declared.name not in defined and unit.place(declared.node) == finding.place:
                    yield from missing_function(extension, declared)


FIX = FixMaker(codes=("BLD006",), propose=propose)
