"""Fixes of calls that a bound function does not accept: each argument in the accepted form, and all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.missing_arguments import pass_the_rest
from grader.source import Parameter, Source, dotted_name
from grader.source.analysis.binding_calls import WrongCall, wrong_calls
from grader.source.code_edits import fix, replace_node
from grader.source.nodes import one_line

LITERAL = re.compile(r"=\s*(-?[\d.]+(?:[eE][-+]?\d+)?)[fFlLuU]*\s*$|=\s*(true|false)\s*$")


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the fixes of a call, each combined with those of all calls with the same error.

    With several such calls, fixing only the first makes the next one raise.
    """
    wrong = tuple(wrong_calls(source, context))
    made = {one: tuple(_fixes(source, one)) for one in wrong}
    for one in wrong:
        for each in made[one] if source.place(one.node) == finding.place else ():
            alike = (other for fixes in made.values() for other in fixes)
            edits = dict.fromkeys(
                edit for other in alike if other.label == each.label for edit in other.edits
            )
            yield each.model_copy(update={"edits": tuple(edits)})


def _fixes(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    if one.wrong == "keywords":
        return _by_position(source, one)
    if one.wrong == "count":
        if len(one.call.args) > len(one.parameters):
            return _without_the_rest(source, one)
        return _with_defaults(source, one) or _with_what_is_known(source, one)
    return _in_form(source, one) if one.wrong == "argument" else ()


def _by_position(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    """Pass keyword arguments in the parameters' order."""
    words = {word.arg: word for word in one.call.keywords}
    rest = [parameter.name for parameter in one.parameters][len(one.call.args) :]
    if set(rest) != set(words):
        return ()
    values = [ast.unparse(words[name].value) for name in rest]
    start, end = source.span(one.call.keywords[0])[0], source.span(one.call.keywords[-1])[1]
    return fix("pass them by position", [Edit(start=start, end=end, text=", ".join(values))])


def _with_defaults(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    """Pass the missing parameters' C++ defaults, of the prototype or of the definition."""
    named = [f for unit in source.cuda for f in unit.functions if f.name == one.function.name]
    for parameters in (list(named[0].parameters) if len(named) == 1 else [], one.parameters):
        missing = parameters[len(one.call.args) :]
        found = [LITERAL.search(one_line(parameter.node, 200)) for parameter in missing]
        values = [hit[1] or hit[2].capitalize() for hit in found if hit]
        if values and len(values) == len(missing) and one.call.args:
            at = source.span(one.call.args[-1])[1]
            edit = Edit(start=at, end=at, text="".join(f", {value}" for value in values))
            return fix(f"pass {', '.join(values)}", [edit])
    return ()


def _with_what_is_known(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    return pass_the_rest(source, source.module, one.call, one.parameters)


def _without_the_rest(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    """Remove arguments that the function does not accept."""
    taken, args = len(one.parameters), one.call.args
    start = source.span(args[taken - 1])[1] if taken else source.span(args[0])[0]
    edit = Edit(start=start, end=source.span(args[-1])[1], text="")
    return fix("pass what the function takes", [edit])


def _in_form(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    """Pass one argument in the form that its parameter has."""
    if one.argument is None or one.parameter is None:
        return ()
    start, end = source.span(one.argument)
    if one.given == "nothing":
        return _in_place_of_none(source, one)
    if one.given == "fraction" and "Tensor" not in one.parameter.type:
        return fix("let it take a number with a fraction", _wider(source, one, one.parameter))
    if one.given in {"number", "fraction"}:
        first, words = source.text(one.call.args[0]), source.code[start:end]
        made = f"torch.tensor({words}, device={first}.device, dtype={first}.dtype)"
        return fix("make a tensor of it", [Edit(start=start, end=end, text=made)])
    bias = re.search(r"^(?:b|beta)$|bias", one.parameter.name, re.IGNORECASE)
    suffix = {"tuple": "[0]", "tensor": ".item()", "layer": ".bias" if bias else ".weight"}
    more = suffix.get(one.given, "")
    return fix(f"pass its {more}", [Edit(start=end, end=end, text=more)]) if more else ()


def _in_place_of_none(source: Source, one: WrongCall) -> tuple[Fix, ...]:
    """Pass zeros in the shape given by the call's weight, where a layer has no bias."""
    weight = next((given for given in one.call.args if dotted_name(given).endswith("weight")), None)
    if weight is None or weight is one.argument or one.argument is None:
        return ()
    called, shaped = dotted_name(one.call.func).lower(), source.text(weight)
    first = int("transpos" in called or "deconv" in called)  # its weight begins with the input's
    given = source.text(one.argument)
    words = f"{shaped}.new_zeros({shaped}.shape[{first}])"
    if not isinstance(one.argument, ast.Constant):
        words = f"({given} if {given} is not None else {words})"
    start, end = source.span(one.argument)
    return fix("pass zeros where there is none", [Edit(start=start, end=end, text=words)])


def _wider(source: Source, one: WrongCall, parameter: Parameter) -> list[Edit | None]:
    """Change the parameter to a floating-point type, in all declarations."""
    return [
        replace_node(unit, kind, "double")
        for unit in source.units
        for function in (*unit.functions, *unit.declarations)
        if function.name == one.function.name
        for own in function.parameters
        if own.name == parameter.name and (kind := own.node.child_by_field_name("type")) is not None
    ]


FIX = FixMaker(codes=("API004",), propose=propose)
