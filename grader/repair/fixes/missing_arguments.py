"""The fix of a call that passes too little: what the function's parameters are called says what is missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from grader.records import Edit, Fix
from grader.source import Parameter, Source, dotted, nodes_under
from grader.source.code_edits import fix
from grader.source.python_code import Function, PythonCode

SETTINGS = {"eps", "momentum", "stride", "padding", "dilation", "groups", "kernel_size"}
"""What torch's layers keep as attributes of these names."""
TUPLES = SETTINGS - {"eps", "momentum", "groups"}
SAME = {"epsilon": "eps", "e": "eps", "gamma": "weight", "w": "weight", "beta": "bias", "b": "bias"}
"""Names that authors use for what layers call otherwise."""
USUAL = {"dim": "-1", "axis": "-1", "eps": "1e-5", "alpha": "1.0", "scale": "1.0", "negative_slope": "0.01",
         "keepdim": "False", "training": "False"}  # fmt: skip
"""What settings are by default in most of torch."""


def pass_the_rest(
    source: Source, code: PythonCode, call: ast.Call, parameters: Sequence[Parameter]
) -> tuple[Fix, ...]:
    """Return the fixes that pass what the last parameters are named after; none where that can't be told.

    A tensor that the method made for itself comes before one that it was given.
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
    """What a method can hand over at a call."""

    def __init__(self, code: PythonCode, function: Function, call: ast.Call) -> None:
        made = [
            node.id
            for node in nodes_under(function)
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.lineno < call.lineno
        ]
        self.given = [argument.arg for argument in function.args.args[1:]]
        self.made = list(dict.fromkeys(reversed(made)))
        self.passed = {dotted(argument) for argument in call.args}
        self.attributes, self.layers = _attributes(code)

    def value(self, parameter: Parameter, tensors: Sequence[str]) -> str:
        """Return the expression for a parameter; empty where none fits."""
        name = SAME.get(parameter.name.lower(), parameter.name)
        for spelled in (parameter.name, name):
            if f"self.{spelled}" in self.attributes and f"self.{spelled}" not in self.passed:
                return f"self.{spelled}"
        if "Tensor" not in parameter.type and (longer := self._containing(name)):
            return longer
        if "Tensor" in parameter.type:
            return self._tensor(parameter.name, name, tensors)
        if len(self.layers) == 1 and name in SETTINGS:
            first = "[0]" if name in TUPLES else ""
            return f"{self.layers[0]}.{name}{first}"
        return USUAL.get(name, "")

    def _containing(self, name: str) -> str:
        """Return the one attribute, not passed yet, whose name holds a parameter's: `negative_slope` for `slope`."""
        free = [own for own in self.attributes if own not in self.passed and own not in self.layers]
        found = [own for own in free if name in own.removeprefix("self.").split("_")]
        return found[0] if len(found) == 1 else ""

    def _tensor(self, named: str, name: str, tensors: Sequence[str]) -> str:
        if len(self.layers) == 1 and name in {"weight", "bias"}:
            return f"{self.layers[0]}.{name}"
        free = [one for one in tensors if one not in self.passed]
        made = [one for one in free if one in self.made]
        alike = [one for one in free if one.lower() == named.lower()]
        return next(iter((*made, *alike, *free)), "")


def _attributes(code: PythonCode) -> tuple[set[str], list[str]]:
    """Return what the class sets on self, and which of these are torch's layers."""
    names: set[str] = set()
    layers: list[str] = []
    for assign in code.of(ast.Assign):
        spelled = [dotted(target) for target in assign.targets]
        own = [one for one in spelled if one.startswith("self.")]
        names.update(own)
        made = assign.value
        if isinstance(made, ast.Call) and re.match(
            r"torch\.nn\.[A-Z](?!arameter)\w*$", code.canonical(made.func)
        ):
            layers += own
    return names, layers
