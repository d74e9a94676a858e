"""Calls that a compiler refuses: arguments left out, plain sizes for a list of them."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from itertools import combinations

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Function, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_types import type_of
from grader.source.cuda_code import Call, cuda_code, descendants, text

MOST = 3
"""Arguments that are put in at most."""
MAKERS = {"empty", "zeros", "ones", "full", "rand", "randn"}
SHAPING = {"reshape", "view", "expand", "permute", "repeat"}
WHOLE = {"int", "long", "unsigned", "ulong", "ll", "ull"}
REFUSED = {"no-overload", "no-conversion", "ambiguous-call", "argument-type"}


def left_out(found: Diagnostic) -> tuple[Fix, ...]:
    """Pass what a call leaves out: the variables that have the parameters' names where the call stands."""
    for unit, call in found.calls() if found.kind == "argument-count" else ():
        for callee in unit.functions:
            given = call.node.child_by_field_name("arguments")
            words = _completed(unit, call, callee) if callee.name == call.last else []
            if words and given is not None:
                label = f"pass {callee.name} all that it takes"
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


def listed(found: Diagnostic) -> tuple[Fix, ...]:
    """Put sizes in braces where C++ takes a list of them: of a new tensor, of a convolution's strides."""
    edits = []
    for unit, call in found.calls() if found.kind in REFUSED | {"argument-count"} else ():
        if re.fullmatch(r"(?:torch|at)::conv[123]d", call.name):
            plain = [one for one in call.arguments[3:6] if type_of(unit, one) in WHOLE]
            edits += [replace_node(unit, one, f"at::IntArrayRef({{{text(one)}}})") for one in plain]
        if call.last in MAKERS or (call.last in SHAPING and call.object is not None):
            sizes = call.arguments[: _sizes(unit, call)]
            if sizes:
                start, end = sizes[0].start_byte, sizes[-1].end_byte
                edits += [unit.edit(start, start, "{"), unit.edit(end, end, "}")]
    return fix("put the sizes in braces", edits)


def _sizes(unit: Unit, call: Call) -> int:
    """Return how many whole numbers a call begins with: of `full` the first alone may be a size."""
    most = 1 if call.last == "full" else len(call.arguments)
    whole = [type_of(unit, one) in WHOLE for one in call.arguments[:most]]
    return whole.index(False) if False in whole else len(whole)
