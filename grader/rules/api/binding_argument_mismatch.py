"""API004: Python passes what the C++ function does not accept."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.binding_calls import WrongCall, raw_pointers, refusals, wrong_calls
from grader.source.nodes import one_line


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare each call of an exported function with its prototype."""
    evidence = refusals(context)
    for one in wrong_calls(source, context):
        if one.wrong == "used result":
            said = f"{one.function.name} returns nothing (void), and its result is used: it is None"
            yield RULE.finding(source.place(one.node), said)
        else:
            yield RULE.finding(
                source.place(one.node),
                f"{_say_call(source, one)}: TypeError (incompatible function arguments)",
                evidence=evidence,
            )


def _say_call(source: Source, one: WrongCall) -> str:
    name = one.function.name
    if one.wrong == "keywords":
        keyword = one.call.keywords[0].arg
        return f"{name} is bound without names, so it takes no keyword arguments ({keyword}=)"
    if one.wrong == "raw pointers":
        pointers = ", ".join(one_line(each.node, 60) for each in raw_pointers(one.function))
        return f"{name} takes raw pointers ({pointers}), and Python has no tensor for one"
    if one.parameter is None or one.argument is None:
        return _say_miscount(one)
    passed = "a tuple (torch's layers keep it for each dimension)" if one.given == "tuple" else ""
    passed = passed or PASSED.get(one.given, "a number")
    if one.given == "nothing" and not isinstance(one.argument, ast.Constant):
        passed = f"{source.text(one.argument)}, which is None"
    return (
        f"{name} takes {one.parameter.type.strip()} {one.parameter.name}, and this passes {passed}"
    )


PASSED = {"nothing": "None", "text": "a string", "tensor": "a tensor", "layer": "a layer", "fraction": "a float"}  # fmt: skip


def _say_miscount(one: WrongCall) -> str:
    given, parameters = len(one.call.args), one.parameters
    defaults = [each for each in parameters if "=" in one_line(each.node, 200)]
    short = given < len(parameters) and given >= len(parameters) - len(defaults)
    more = "; bindings made by functions= do not know C++ default arguments" if short else ""
    return (
        f"{one.function.name} takes {len(parameters)} arguments, and this call passes {given}{more}"
    )


RULE = rule_of(__file__, check)
