"""A change of compiled code in the words of its source line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grader.records import Counterfactual, Place
from grader.source import Source

_SIGNS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_NEGATED: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_VERBS: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "max": "max",
    "min": "min",
}


def say_change(source: Source, place: Place, change: Counterfactual) -> str:
    """Return what should be another in a line, as a clause."""
    line = "".join(source.code.splitlines()[place.line - 1 : place.line]).strip()
    match change.change:
        case "comparison":
            said = _comparison(line, change)
        case "constant":
            said = f"the number is {change.before} where {change.after} is needed"
        case "operator":
            said = _operator(change)
        case "operand":
            said = _operand(change, _parameters(source, place))
        case "guard":
            said = f"its condition should {'never' if change.after == 'never' else 'always'} hold"
        case "around":
            said = _around(change, _parameters(source, place))
        case "argument":
            said = f"{change.parameter} gets `{change.before}` where {change.after} is needed"
    return f"`{line}`: {said}"


def _parameters(source: Source, place: Place) -> tuple[str, ...]:
    """Return the names of the parameters of the CUDA kernel that a place lies in."""
    for unit in source.units:
        for kernel in unit.kernels:
            whole = unit.place(kernel.node)
            if whole.line <= place.line <= whole.end_line:
                return tuple(one.name for one in kernel.parameters)
    return ()


def _comparison(line: str, change: Counterfactual) -> str:
    before, after = (text.split(".")[1].rstrip("u") for text in (change.before, change.after))
    if not re.search(rf"(?<![<>=!-]){re.escape(_SIGNS[before])}(?![<>=])", line):
        before, after = _NEGATED[before], _NEGATED[after]
    return f"the comparison is `{_SIGNS[before]}` where `{_SIGNS[after]}` is needed"


def _operator(change: Counterfactual) -> str:
    before, after = change.before.partition(".")[0], change.after.partition(".")[0]
    if after in _VERBS or "." in change.after:
        return f"the operator is `{_VERBS.get(before, before)}` where `{_VERBS.get(after, after)}` is needed"
    return f"the operator `{_VERBS.get(before, before)}` is one too many or the wrong way round ({change.after})"


def _operand(change: Counterfactual, parameters: Sequence[str]) -> str:
    before, after = (_value(name, parameters) for name in (change.before, change.after))
    if before == after:
        return "it takes a value that another of the same kernel has to stand for"
    return f"it takes {before} where it needs {after}"


def _around(change: Counterfactual, parameters: Sequence[str]) -> str:
    verb, _, operand = change.after.partition(" ")
    sign = _VERBS.get(verb.partition(".")[0], verb.partition(".")[0])
    with_what = f" {_value(operand, parameters)}" if operand else ""
    return f"{_value(change.before, parameters)} is taken as it is where `{sign}`{with_what} is missing"


def _value(name: str, parameters: Sequence[str]) -> str:
    """Return what a value is called: an index of the launch, a parameter, or what a line gives."""
    special = re.fullmatch(r"%(n?)(tid|ctaid)\.([xyz])(?:#\d+)?", name)
    if special:
        index = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
        return f"`{index[special[1] + special[2]]}.{special[3]}`"
    numbered = re.fullmatch(r"(argument|line) (\d+)(?:#\d+)?", name)
    if numbered is None:
        return name
    number = int(numbered[2])
    if numbered[1] == "line":
        return f"what line {number} gives" if number else "another value"
    return (
        f"`{parameters[number]}`"
        if number < len(parameters)
        else f"the kernel's argument {number + 1}"
    )
