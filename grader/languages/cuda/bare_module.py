"""Answers that are a C++ extension without Python, as in Sakana's AI CUDA Engineer and robust-kbench.

Their harness loads the file and hands its `forward` to a reference that takes the operation as an argument:
`def forward(self, x, fn=module_fn)`. This module writes an equivalent program: the reference's class, renamed to
`ModelNew`, with the extension's function in that place. For a reference in KernelBench's own form the function must
take the arguments of `forward`, or those and the constructor's (`class_calling`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader.languages.caller import Callee, class_calling
from grader.languages.language import Wrapping

MODULE = re.compile(r"^[ \t]*PYBIND11_MODULE\s*\(\s*\w+\s*,\s*(?P<handle>\w+)\s*\)", re.MULTILINE)
_BOUND = r"\b{}\s*\.\s*def\s*\(\s*\"(?P<name>[A-Za-z_]\w*)\"\s*,\s*&\s*(?P<function>[\w:]+)"
_EXTENSION = "_extension"
_SOURCE = "_source"
FIRST_WORDS = ("#", "//", "/*", "using ", "namespace ", "template", "__", "extern")


class _Binding(NamedTuple):
    name: str
    """Its name in Python."""
    parameters: tuple[str, ...] | None
    """Parameters as declared in C++; None where the definition was not found."""


def program_around(code: str, reference: str | None, model: str) -> Wrapping | None:
    """Return the program around a module that binds a function; None where there is no unique function.

    `reference` is the source of the task's `Model`, if the sample holds one; `model` the name of the class.
    """
    binding = _binding(code)
    if binding is None or '"""' in code:
        return None
    caller = class_calling(_callee(binding), reference, model)
    if caller is None:
        return None
    before = (
        "import torch",
        "import torch.nn as nn",
        "from torch.utils.cpp_extension import load_inline",
        f'{_SOURCE} = r"""',
    )
    after = (
        '"""',
        f'{_EXTENSION} = load_inline(name="answer", cpp_sources="", cuda_sources={_SOURCE})',
        *caller.split("\n"),
    )
    return Wrapping(before, after, binding.name)


def _binding(code: str) -> _Binding | None:
    """Return the function named `forward`, or the only bound one."""
    module = next(iter(MODULE.finditer(code)), None)
    if module is None:
        return None
    bound = re.compile(_BOUND.format(module["handle"]))
    found = {one["name"]: one["function"] for one in bound.finditer(code, module.end())}
    name = "forward" if "forward" in found else next(iter(found), "")
    if not name or (name != "forward" and len(found) > 1):
        return None
    return _Binding(name, _parameters(code, found[name].rsplit("::", 1)[-1]))


def _parameters(code: str, function: str) -> tuple[str, ...] | None:
    definition = re.search(rf"\b{function}\s*\((?P<inside>[^(){{}};]*)\)\s*\{{", code)
    if definition is None:
        return None
    plain = re.sub(r"//[^\n]*|/\*.*?\*/|<[^<>]*>", "", definition["inside"], flags=re.DOTALL)
    return tuple(one.strip() for one in plain.split(",") if one.strip() not in ("", "void"))


def _callee(binding: _Binding) -> Callee:
    """Return the call of the function; callable without a reference where all parameters are tensors."""
    name, parameters = f"{_EXTENSION}.{binding.name}", binding.parameters
    if parameters is None:
        return Callee(name, 0, -1, alone=False)
    return Callee(
        name, len(parameters), len(parameters), alone=all("ensor" in p for p in parameters)
    )
