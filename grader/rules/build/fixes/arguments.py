"""Fixes of calls that a compiler refuses: arguments left out, and `__ldg` of a type that it does not load."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from grader.rules.build.fixes.undefined import line_of
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import Call, cuda_code, descendants, text, units

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Function, Source, Unit

_FEW = re.compile(r"too few arguments")
_LOAD = re.compile(
    r"\"?__ldg\"? matches the argument list|no matching function for call to '__ldg'"
)
LOADED = {
    *("float", "double", "int", "char", "short", "long", "unsigned", "half", "__half", "__half2", "half2"),
    *(f"{kind}{n}" for kind in ("float", "double", "int", "uint", "char", "short") for n in (2, 4)),
}  # fmt: skip
"""Types that `__ldg` reads."""
MOST = 3
"""Arguments that are put in at most."""


def left_out(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Pass what a call leaves out: the variables that have the parameters' names where the call stands."""
    if item.place is None or not _FEW.search(item.said):
        return ()
    for unit in units(source):
        own = {function.name: function for function in unit.functions}
        for call in cuda_code(unit).calls:
            if line_of(unit, call.node) == item.place.line and call.last in own:
                words = _completed(unit, call, own[call.last])
                given = call.node.child_by_field_name("arguments")
                if words and given is not None:
                    label = f"pass {own[call.last].name} all that it takes"
                    return fix(label, [replace_node(unit, given, f"({', '.join(words)})")])
    return ()


def _completed(unit: Unit, call: Call, callee: Function) -> list[str]:
    """Return all arguments, those put in where most of the others then stand at their own names."""
    given = [text(argument) for argument in call.arguments]
    names = [parameter.name for parameter in callee.parameters]
    lacking = len(names) - len(given)
    known = _known(unit, call)
    if not 0 < lacking <= MOST:
        return []
    ways = (
        _with(names, given, places)
        for places in combinations(range(len(names)), lacking)
        if all(names[place] in known for place in places)
    )
    return max(ways, key=lambda words: sum(map(operator.eq, words, names)), default=[])


def _with(names: Sequence[str], given: Sequence[str], places: Sequence[int]) -> list[str]:
    rest = iter(given)
    return [name if at in places else next(rest) for at, name in enumerate(names)]


def _known(unit: Unit, call: Call) -> set[str]:
    """Return the names of parameters and variables of the function that a call stands in."""
    function = cuda_code(unit).function(call.node)
    if function is None:
        return set()
    declared = descendants(function.node, "init_declarator")
    own = {text(node.child_by_field_name("declarator")).lstrip("*& ") for node in declared}
    return own | {parameter.name for parameter in function.parameters}


def plainly_loaded(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """`p[i]` for `__ldg(&p[i])` where p is of a type of the author's own, everywhere that p is read so."""
    if item.place is None or not _LOAD.search(item.said):
        return ()
    edits = []
    for unit in units(source):
        calls = [call for call in cuda_code(unit).calls if call.last == "__ldg" and call.arguments]
        here = (call for call in calls if line_of(unit, call.node) == item.place.line)
        wrong = {_type(unit, call) for call in here} - LOADED
        for call in calls:
            if _type(unit, call) in wrong:
                words = text(call.arguments[0])
                new = words[1:].strip("() ") if words.startswith("&") else f"*({words})"
                edits.append(replace_node(unit, call.node, new))
    return fix("read it without __ldg", edits)


def _type(unit: Unit, call: Call) -> str:
    """Return the type of what a call of `__ldg` reads: that of the pointer, as it is declared."""
    owner = re.match(r"&?\s*\(?\s*(\w+)", text(call.arguments[0]))
    name = owner[1] if owner else ""
    declared = re.search(rf"(\w+)\s*\*\s*(?:__restrict__\s+)?{name}\b", unit.text)
    return declared[1] if declared else name
