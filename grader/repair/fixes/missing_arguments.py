"""The fix of a call with too few arguments, by the names of the function's parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from grader.records import Edit, Fix
from grader.repair.fixes.names import names
from grader.source import Parameter, Source, dotted_name, nodes_under
from grader.source.code_edits import fix
from grader.source.python_code import Function, PythonCode

SETTINGS = {"eps", "momentum", "stride", "padding", "dilation", "groups", "kernel_size"}
"""What torch's layers keep as attributes of these names."""
LAYER = re.compile(r"torch\.nn\.[A-Z](?!arameter)\w*$")
WEIGHTS = {"weight", "bias"}
TUPLES = SETTINGS - {"eps", "momentum", "groups"}


def pass_the_rest(
    source: Source, code: PythonCode, call: ast.Call, parameters: Sequence[Parameter]
) -> tuple[Fix, ...]:
    """Return the fixes that pass the variables named like the last parameters; none where unknown.

    A tensor that the method made comes before one of its parameters.
    """
    function = code.function_of(call)
    if function is None or code.model is None or call.keywords:
        return ()
    known = _Known(code, function, call)
    found: dict[str, tuple[Fix, ...]] = {}
    for tensors in (known.made + known.given, known.given):
        values: list[str] = []
        for parameter in parameters[len(call.args) :]:
            values.append(known.value(parameter, [t for t in tensors if t not in values]))
        if values and all(values):
            words = ", ".join(values)
            at = source.span(call)[1] - 1
            edit = Edit(start=at, end=at, text=f", {words}" if call.args else words)
            found[words] = fix(f"pass {words}", [edit])
    return tuple(one for fixes in found.values() for one in fixes)


class _Known:
    """Values that a method can pass at a call."""

    def __init__(self, code: PythonCode, function: Function, call: ast.Call) -> None:
        names = (node for node in nodes_under(function) if isinstance(node, ast.Name))
        made = [n.id for n in names if isinstance(n.ctx, ast.Store) and n.lineno < call.lineno]
        self.given = [argument.arg for argument in function.args.args[1:]]
        self.made = list(dict.fromkeys(reversed(made)))
        self.passed = {dotted_name(argument) for argument in call.args}
        pairs = [(dotted_name(t), one.value) for one in code.of(ast.Assign) for t in one.targets]
        own = [(name, value) for name, value in pairs if name.startswith("self.")]
        self.attributes = {name for name, _ in own}
        calls = ((name, value.func) for name, value in own if isinstance(value, ast.Call))
        self.layers = [name for name, called in calls if LAYER.match(code.canonical(called))]

    def value(self, parameter: Parameter, tensors: Sequence[str]) -> str:
        """Return the expression for a parameter; empty where none fits."""
        name = names()["same"].get(parameter.name.lower(), parameter.name)
        for spelled in (f"self.{parameter.name}", f"self.{name}"):
            if spelled in self.attributes and spelled not in self.passed:
                return spelled
        tensor = "Tensor" in parameter.type
        if not tensor and (longer := self._attribute_containing(name)):
            return longer
        if len(self.layers) == 1 and name in (WEIGHTS if tensor else SETTINGS):
            return f"{self.layers[0]}.{name}{'[0]' if name in TUPLES else ''}"
        return self._tensor(parameter.name, tensors) if tensor else names()["usual"].get(name, "")

    def _attribute_containing(self, name: str) -> str:
        """Return the one attribute, not passed yet, whose name holds a parameter's: `negative_slope` for `slope`."""
        free = [own for own in self.attributes if own not in self.passed and own not in self.layers]
        found = [own for own in free if name in own.removeprefix("self.").split("_")]
        return found[0] if len(found) == 1 else ""

    def _tensor(self, named: str, tensors: Sequence[str]) -> str:
        free = [one for one in tensors if one not in self.passed]
        made = [one for one in free if one in self.made]
        alike = [one for one in free if one.lower() == named.lower()]
        return next(iter((*made, *alike, *free)), "")
