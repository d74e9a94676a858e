"""A change of compiled code in the words of its source line."""

from __future__ import annotations

import re
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
    said = {
        "comparison": _comparison,
        "constant": _constant,
        "operator": _operator,
        "operand": _operand,
        "guard": _guard,
        "around": _around,
    }[change.change](line, change)
    return f"`{line}`: {said}"


def _comparison(line: str, change: Counterfactual) -> str:
    before, after = (text.split(".")[1].rstrip("u") for text in (change.before, change.after))
    if not re.search(rf"(?<![<>=!-]){re.escape(_SIGNS[before])}(?![<>=])", line):
        before, after = _NEGATED[before], _NEGATED[after]
    return f"the comparison is `{_SIGNS[before]}` where `{_SIGNS[after]}` is needed"


def _constant(_line: str, change: Counterfactual) -> str:
    return f"the number is {change.before} where {change.after} is needed"


def _operator(_line: str, change: Counterfactual) -> str:
    before, after = change.before.partition(".")[0], change.after.partition(".")[0]
    if after in _VERBS or "." in change.after:
        return f"the operator is `{_VERBS.get(before, before)}` where `{_VERBS.get(after, after)}` is needed"
    return f"the operator `{_VERBS.get(before, before)}` is one too many or the wrong way round ({change.after})"


def _operand(_line: str, change: Counterfactual) -> str:
    return f"it takes {_value(change.before)} where it needs {_value(change.after)}"


def _guard(_line: str, change: Counterfactual) -> str:
    return f"its condition should {'never' if change.after == 'never' else 'always'} hold"


def _around(_line: str, change: Counterfactual) -> str:
    verb, _, operand = change.after.partition(" ")
    sign = _VERBS.get(verb.partition(".")[0], verb.partition(".")[0])
    with_what = f" {_value(operand)}" if operand else ""
    return f"{_value(change.before)} is taken as it is where `{sign}`{with_what} is missing"


def _value(name: str) -> str:
    """Return what a value is called: an index of the launch, an argument, or what a line gives."""
    special = re.fullmatch(r"%(n?)(tid|ctaid)\.([xyz])(?:#\d+)?", name)
    if special:
        index = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
        return f"`{index[special[1] + special[2]]}.{special[3]}`"
    argument = re.fullmatch(r"argument (\d+)(?:#\d+)?", name)
    if argument:
        return f"the kernel's argument {int(argument[1]) + 1}"
    return "another value" if name.startswith(("line", "argument")) else name
