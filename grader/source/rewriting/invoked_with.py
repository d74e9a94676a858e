"""Fixes of calls by what pybind says they were invoked with: more than is taken, tuples, tensors for numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.records import Edit, Evidence, Fix
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import units

if TYPE_CHECKING:
    from grader.source import Function, Parameter, Source

_INVOKED = re.compile(r"Invoked with: (.*?)(?:; kwargs:.*)?$", re.DOTALL)
_INTEGER = re.compile(r"\b(?:int|int64_t|long|size_t|int32_t)\b")
_NUMBER = re.compile(r"\b(?:int|int64_t|long|size_t|int32_t|float|double|bool)\b")
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
_LAYER = re.compile(r"[A-Z]\w*\(")


def invoked_fixes(
    source: Source, call: ast.Call, prototype: Function, evidence: Iterable[Evidence]
) -> Iterator[Fix]:
    """Yield the fix of a call that the function refused: what it does not take, in the form that it takes.

    `evidence` holds what Python raised; nothing is offered where it is about another function.
    """
    parameters = [one for one in prototype.parameters if one.type != "void"]
    given = given_values(prototype.name, evidence)
    if call.keywords or len(given) != len(call.args):
        return
    if len(call.args) > len(parameters):
        start, end = source.span(call.args[len(parameters)])[0], source.span(call.args[-1])[1]
        start = source.span(call.args[len(parameters) - 1])[1] if parameters else start
        yield from fix("pass what the function takes", [Edit(start=start, end=end, text="")])
    elif len(call.args) == len(parameters):
        yield from _as_taken(source, call, prototype, given)


def _as_taken(
    source: Source, call: ast.Call, prototype: Function, given: Sequence[str]
) -> Iterator[Fix]:
    edits: list[Edit | None] = []
    for parameter, argument, value in zip(prototype.parameters, call.args, given, strict=True):
        end = source.span(argument)[1]
        number = bool(_NUMBER.search(parameter.type)) and not re.search(
            "vector|Array|Tensor", parameter.type
        )
        if number and value.startswith(("(", "[")):
            edits.append(Edit(start=end, end=end, text="[0]"))
        elif "Tensor" in parameter.type and re.fullmatch(r"-?[\d.]+(?:e[-+]?\d+)?", value):
            edits += _as_tensor(source, call, argument)
        elif number and value.startswith("tensor"):
            edits.append(Edit(start=end, end=end, text=".item()"))
        elif "Tensor" in parameter.type and _LAYER.match(value):
            bias = parameter.name.lower() in {"b", "beta"} or "bias" in parameter.name.lower()
            edits.append(Edit(start=end, end=end, text=".bias" if bias else ".weight"))
        elif number and _INTEGER.search(parameter.type) and _FLOAT.fullmatch(value):
            edits += _wider(source, prototype.name, parameter)
    yield from fix("pass it in the form that the function takes", edits)


def _as_tensor(source: Source, call: ast.Call, argument: ast.expr) -> list[Edit | None]:
    """Make a tensor of a number, beside the first tensor of the call."""
    start, end = source.span(argument)
    first = source.text(call.args[0])
    words = f"torch.tensor({source.code[start:end]}, device={first}.device, dtype={first}.dtype)"
    plain = isinstance(call.args[0], ast.Name | ast.Attribute) and argument is not call.args[0]
    return [Edit(start=start, end=end, text=words)] if plain else []


def _wider(source: Source, name: str, parameter: Parameter) -> list[Edit | None]:
    """Let the function take a number with a fraction, wherever it is declared."""
    edits: list[Edit | None] = []
    for unit in units(source):
        for function in (*unit.functions, *unit.declarations):
            if function.name != name:
                continue
            for one in function.parameters:
                kind = one.node.child_by_field_name("type")
                if one.name == parameter.name and kind is not None:
                    edits.append(replace_node(unit, kind, "double"))
    return edits


def given_values(name: str, evidence: Iterable[Evidence]) -> list[str]:
    """Return the values that a function was invoked with, as pybind shows them."""
    for item in evidence:
        found = _INVOKED.search(item.said)
        if found and f"{name}()" in item.said:
            return [value.strip() for value in _split(found[1])]
    return []


def _split(words: str) -> Iterator[str]:
    """Yield what stands between the commas outside of brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(words):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            yield words[start:at]
            start = at + 1
    yield words[start:]
