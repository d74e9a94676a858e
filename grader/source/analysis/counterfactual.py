"""A change of compiled code in the words of its source line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grader.records import Counterfactual, Place
from grader.source import Source
from grader.source.analysis import triton

SIGNS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
NEGATED: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
VERBS: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "and": "&",
    "or": "|",
    "ex2": "exp2",
    "lg2": "log2",
    "rcp": "1 /",
    "neg": "-",
    "mov": "nothing",
}
_BETWEEN: Final = frozenset({"+", "-", "*", "/", "%", "&", "|"})
_COUNTS: Final = ("no", "one", "two", "three", "four")
_SETS: Final = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
"""A name that a line sets."""


def say_change(source: Source, place: Place, change: Counterfactual) -> str:
    """Return what a line has, and with what in its place the results are right, as a sentence without its stop."""
    line = "".join(source.code.splitlines()[place.line - 1 : place.line]).strip()
    names = Names(source, place)
    match change.change:
        case "comparison":
            has, other = _comparison(line, change)
        case "constant":
            has, other = _constant(line, change)
        case "operator":
            has, other = _operator(line, change)
        case "operand":
            has, other = _operand(change, names)
        case "guard":
            has = "does this under a condition"
            other = f"if the condition {'never' if change.after == 'never' else 'always'} holds,"
        case "around":
            has, other = _around(change, names)
        case "argument":
            has = f"gives `{change.parameter}` as `{change.before}`"
            other = f"with {_formula(change)}"
            if exchanged := re.fullmatch(r"(`[^`]*`) and `[^`]*`", change.after):
                other = f"with that and {exchanged[1]} exchanged"
    count = change.workloads
    of = f"{_COUNTS[count] if count < len(_COUNTS) else count} workload{'s' * (count != 1)}"
    return f"line {place.line} {has}: {other} every element is right on {of}"


def set_again(source: Source, begun: Place) -> Place | None:
    """Return the next line that sets anew the name which a line begins, or one beside it: compilers move constants."""
    lines = source.code.splitlines()
    beside = lines[max(begun.line - 2, 0) : begun.line + 1]
    names = {name for line in beside for name in _SETS.findall(_outside_of_calls(line))}
    for number, line in enumerate(lines[begun.line :], begun.line + 1):
        found = re.match(r"\s*(\w+)\s*=(?!=)", line)
        if found and found[1] in names:
            return source.line_place(number)
    return None


class Names:
    """What the values of a kernel are called in its text."""

    def __init__(self, source: Source, place: Place) -> None:
        self._lines = source.code.splitlines()
        self._parameters = _parameters(source, place)

    def of(self, value: str) -> str:
        """Return what a value is called: an index of the launch, a parameter, or the name that its line sets."""
        special = re.fullmatch(r"%(n?)(tid|ctaid)\.([xyz])(?:#\d+)?", value)
        if special:
            index = {
                "tid": "threadIdx",
                "ntid": "blockDim",
                "ctaid": "blockIdx",
                "nctaid": "gridDim",
            }
            return f"`{index[special[1] + special[2]]}.{special[3]}`"
        numbered = re.fullmatch(r"(argument|line|part of line) (\d+)(?:#\d+)?", value)
        if numbered is None:
            return f"`{value}`"
        number = int(numbered[2])
        if numbered[1] == "line":
            return self._of_line(number)
        if numbered[1].startswith("part"):
            return f"a value of line {number}" if number else "another value"
        known = number < len(self._parameters)
        return f"`{self._parameters[number]}`" if known else f"the kernel's argument {number + 1}"

    def _of_line(self, number: int) -> str:
        text = self._lines[number - 1] if 0 < number <= len(self._lines) else ""
        found = set(_SETS.findall(_outside_of_calls(text)))
        if len(found) == 1:
            return f"`{found.pop()}`"
        return f"what line {number} gives" if text else "another value"


def _outside_of_calls(line: str) -> str:
    """Return a line without what stands in round brackets, but for a loop's own."""
    line, before = re.sub(r"\bfor\s*\(", "", line), ""
    while line != before:
        line, before = re.sub(r"\([^()]*\)", "", line), line
    return line


def _parameters(source: Source, place: Place) -> Sequence[str]:
    """Return the names of the parameters of the kernel that a place lies in."""
    for unit in source.units:
        for kernel in unit.kernels:
            whole = unit.place(kernel.node)
            if whole.line <= place.line <= whole.end_line:
                return tuple(one.name for one in kernel.parameters)
    for one in triton.kernels(source):
        if one.node.lineno <= place.line <= (one.node.end_lineno or 0):
            return tuple(name for name in one.parameters if name not in one.constants)
    return ()


def _comparison(line: str, change: Counterfactual) -> tuple[str, str]:
    before, after = (text.split(".")[1].rstrip("u") for text in (change.before, change.after))
    if not re.search(rf"(?<![<>=!-]){re.escape(SIGNS[before])}(?![<>=])", line):
        before, after = NEGATED[before], NEGATED[after]
    return f"compares with `{SIGNS[before]}`", f"with `{SIGNS[after]}`"


def _constant(line: str, change: Counterfactual) -> tuple[str, str]:
    numbers = re.findall(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", line)
    there = next((one for one in numbers if _same_number(one, change.before)), "")
    has = f"has `{there}`" if there else f"has a number that is {change.before} there"
    return has, f"with `{change.after}`"


def _same_number(first: str, second: str) -> bool:
    return abs(float(first) - abs(float(second))) <= 1e-6 * float(first)


def _operator(line: str, change: Counterfactual) -> tuple[str, str]:
    if change.after.startswith("added up"):
        verb = VERBS.get(change.after.split()[-1].partition(".")[0], change.after.split()[-1])
        joined = (
            f"joined by `{verb}`" if verb in _BETWEEN else f"the `{verb.partition('.')[0]}` of both"
        )
        return "sets anew what earlier turns made", f"with that and the new value {joined}"
    before, after = (text.partition(".")[0] for text in (change.before, change.after))
    sign = VERBS.get(before, before)
    if "." not in change.after:  # another form of it
        has = f"has `{sign}`" if sign in line else "combines values"
        return has, f"with {change.after} of them" if change.after[
            0
        ] == "o" else f"{_form(change.after)}"
    if sign in _BETWEEN and sign not in line:
        return "combines two values", f"with `{VERBS.get(after, after)}` between them"
    return f"has `{sign}`", f"with `{VERBS.get(after, after)}`"


def _form(form: str) -> str:
    """Return how a sum or product is in another form."""
    return {
        "less the product": "with the product subtracted",
        "less the sum": "with the product less what it is added to",
        "exchanged": "with its two sides exchanged",
    }.get(form, form)


def _operand(change: Counterfactual, names: Names) -> tuple[str, str]:
    before, after = names.of(change.before), names.of(change.after)
    if before == after:
        return "takes a value", "with another of the same name or line"
    return f"takes {before}", f"with {after}"


def _around(change: Counterfactual, names: Names) -> tuple[str, str]:
    verb, _, operand = change.after.partition(" ")
    sign = VERBS.get(verb.partition(".")[0], verb.partition(".")[0])
    value = names.of(change.before)
    if operand:
        word = operand if re.fullmatch(r"-?[\d.e+-]+", operand) else names.of(operand)
        word = word.strip("`") if "`" in value else word
        made = f"{value} {sign} {word}" if sign in _BETWEEN else f"{sign} of {value} and {word}"
        return (
            f"takes {value}",
            f"with {made.replace('`', '')}"
            if "`" not in value
            else f"with `{made.replace('`', '')}`",
        )
    return f"takes {value}", f"with `{sign}` of it"


def _formula(change: Counterfactual) -> str:
    """Return what a launch should give, `x` being what it gives."""
    if re.search(r"\bx\b", change.after):
        return f"`{change.after}`, where `x` is that,"
    return change.after
