"""Fixes of API004: arguments by position, defaults, and what stands for None or a tuple."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.records import Edit, Fix
from grader.source import dotted
from grader.source.analysis.layer_attributes import without_affine
from grader.source.code_edits import delete_keyword, fix
from grader.source.cuda_code import one_line
from grader.source.python_code import python_code

if TYPE_CHECKING:
    from grader.source import Function, Parameter, Source


LITERAL = re.compile(r"=\s*(-?[\d.]+(?:[eE][-+]?\d+)?)[fFlLuU]*\s*$|=\s*(true|false)\s*$")


def pass_by_position(
    source: Source, call: ast.Call, parameters: list[Parameter]
) -> tuple[Fix, ...]:
    """Return the fix that passes keyword arguments in the parameters' order."""
    names = [parameter.name for parameter in parameters]
    words = {word.arg: word for word in call.keywords}
    rest = names[len(call.args) :]
    if set(rest) != set(words) or not words:
        return ()
    values = [ast.unparse(words[name].value) for name in rest]
    start = source.span(call.keywords[0])[0]
    end = source.span(call.keywords[-1])[1]
    return fix("pass them by position", [Edit(start=start, end=end, text=", ".join(values))])


def with_defaults(source: Source, prototype: Function) -> list[Parameter]:
    """Return the parameters as the definition has them, which may know defaults that the prototype lacks."""
    found = [f for unit in source.cuda for f in unit.functions if f.name == prototype.name]
    same = len(found) == 1 and len(found[0].parameters) == len(prototype.parameters)
    return list(found[0].parameters) if same else []


def add_defaults(source: Source, call: ast.Call, parameters: list[Parameter]) -> tuple[Fix, ...]:
    """Return the fix that passes the missing parameters' C++ defaults."""
    missing = parameters[len(call.args) :]
    values: list[str] = []
    for parameter in missing:
        found = LITERAL.search(one_line(parameter.node, 200))
        if not found:
            return ()
        values.append(found.group(1) or found.group(2).capitalize())
    if not values or not call.args:
        return ()
    at = source.span(call.args[-1])[1]
    edit = Edit(start=at, end=at, text="".join(f", {value}" for value in values))
    return fix(f"pass {', '.join(values)}", [edit])


def replace_argument(
    source: Source, call: ast.Call, argument: ast.expr, wrong: str
) -> tuple[Fix, ...]:
    """Return the fix of one argument: an entry of its tuple, or what stands for None."""
    start, end = source.span(argument)
    if wrong.startswith("a tuple ("):
        return fix("pass its first entry", [Edit(start=end, end=end, text="[0]")])
    if wrong.endswith("None") and (plain := _plain_norm(source, argument)):
        return fix("pass what it stands for", [Edit(start=start, end=end, text=plain)])
    weight = next((one for one in call.args if dotted(one).endswith("weight")), None)
    if not wrong.endswith("None"):
        return ()
    with_bias = _with_bias(source, argument)
    if weight is None or weight is argument:
        return with_bias
    given, shaped = source.code[start:end], source.text(weight)
    called = dotted(call.func).lower()
    transposed = (
        "transpos" in called or "deconv" in called
    )  # its weight begins with the input's channels
    words = f"{shaped}.new_zeros({shaped}.shape[{int(transposed)}])"
    if not isinstance(argument, ast.Constant):
        words = f"({given} if {given} is not None else {words})"
    zeros = fix("pass zeros where there is none", [Edit(start=start, end=end, text=words)])
    return (*zeros, *with_bias)


def _with_bias(source: Source, argument: ast.expr) -> tuple[Fix, ...]:
    """Return the fix that makes the layer with the bias that the call hands over."""
    code = python_code(source)
    if code is None or not isinstance(argument, ast.Attribute) or argument.attr != "bias":
        return ()
    layer = dotted(argument.value)
    for assign in code.of(ast.Assign):
        made = assign.value
        if isinstance(made, ast.Call) and layer and layer in map(dotted, assign.targets):
            edit = delete_keyword(source, made, "bias")
            return fix(f"make {layer} with a bias", [edit]) if edit else ()
    return ()


def _plain_norm(source: Source, argument: ast.expr) -> str:
    """Return ones for the weight, zeros for the bias, of a norm that was made without them."""
    if not isinstance(argument, ast.Attribute) or argument.attr not in {"weight", "bias"}:
        return ""
    code = python_code(source)
    forward = code.method("forward") if code is not None else None
    if code is None or forward is None or not without_affine(code, argument):
        return ""
    x = forward.args.args[1].arg if len(forward.args.args) > 1 else ""
    made = "ones" if argument.attr == "weight" else "zeros"
    return f"{x}.new_{made}({ast.unparse(argument.value)}.num_features)" if x else ""
