"""Calls of bound functions compared with their C++ prototypes, and the arguments that a run showed."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from grader.records import Context, Evidence
from grader.source import Extension, Function, Parameter, Source, dotted_name
from grader.source.python_code import PythonCode

Wrong = Literal["used result", "keywords", "count", "raw pointers", "argument"]
Taken = Literal["integer", "number", "tensor", "optional tensor", ""]
Given = Literal["tuple", "tensor", "number", "fraction", "text", "layer", "nothing", ""]
NUMBER = re.compile(r"\b(?:int|int64_t|long|float|double|size_t|bool|int32_t)\b")
INTEGER = re.compile(r"\b(?:int|int64_t|long|size_t|int32_t)\b")
ELEMENTS = ("float", "double", "int", "int64_t", "long", "bool", "half", "__half")
INVOKED = re.compile(r"Invoked with: (.*?)(?:; kwargs:.*)?$", re.DOTALL)
SHOWN: tuple[tuple[re.Pattern[str], Given], ...] = (
    (re.compile(r"None"), "nothing"),
    (re.compile(r"[(\[].*", re.DOTALL), "tuple"),
    (re.compile(r"tensor.*", re.DOTALL), "tensor"),
    (re.compile(r"-?\d+"), "number"),
    (re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+"), "fraction"),
    (re.compile(r"['\"].*", re.DOTALL), "text"),
    (re.compile(r"[A-Z]\w*\(.*", re.DOTALL), "layer"),
)
"""Patterns of pybind's printed values, with their types."""
REFUSED: Mapping[Taken, frozenset[Given]] = {
    "tensor": frozenset({"nothing", "number", "fraction", "layer"}),
    "optional tensor": frozenset({"number", "fraction"}),
    "integer": frozenset({"nothing", "fraction", "tuple", "text", "tensor"}),
    "number": frozenset({"nothing", "tuple", "text", "tensor"}),
}
"""Types that pybind11 does not convert."""


@dataclass(frozen=True)
class WrongCall:
    """A call that the function does not accept, or whose result does not exist."""

    call: ast.Call
    function: Function
    wrong: Wrong
    argument: ast.expr | None = None
    parameter: Parameter | None = None
    given: Given = ""

    @property
    def node(self) -> ast.expr:
        """The wrong argument, or the whole call."""
        return self.argument or self.call

    @property
    def parameters(self) -> list[Parameter]:
        """The function's parameters."""
        return parameters_of(self.function)


def wrong_calls(source: Source, context: Context) -> Iterator[WrongCall]:
    """Yield the calls of exported functions that don't fit their prototypes."""
    code = source.module
    functions = _prototypes(source)
    owners = {one.variable for one in source.extensions if one.variable}
    for call in code.of(ast.Call):
        made = call.func
        known = isinstance(made, ast.Attribute) and made.attr in functions
        if not isinstance(made, ast.Attribute) or not known:
            continue
        if _from_extension(code, made.value, owners) and not _is_spread(call):
            yield from _wrong_call(code, call, functions[made.attr], refusals(context))


def refusals(context: Context) -> tuple[Evidence, ...]:
    """Return pybind11's exceptions about arguments."""
    raised = context.evidence_of("python")
    return tuple(item for item in raised if "incompatible function arguments" in item.said)


def parameters_of(function: Function) -> list[Parameter]:
    """Return a function's parameters; `f(void)` has none."""
    return [one for one in function.parameters if one.type != "void"]


def _is_spread(call: ast.Call) -> bool:
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return starred or any(word.arg is None for word in call.keywords)


def _prototypes(source: Source) -> dict[str, Function]:
    """Return the functions bound by `functions=`, those with one known signature that is their definition's."""
    found: dict[str, list[Function]] = {}
    for extension in source.extensions:
        if not extension.functions or not extension.complete or _own_bindings(extension):
            continue
        for unit in extension.cpp:
            for function in (*unit.declarations, *unit.functions):
                made = extension.defined.get(function.name, function)
                same = len(made.parameters) == len(function.parameters)
                if function.name in extension.functions and same:
                    found.setdefault(function.name, []).append(function)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def _own_bindings(extension: Extension) -> bool:
    return any(unit.bindings or not unit.resolved for unit in extension.units)


def _from_extension(code: PythonCode, node: ast.AST, owners: set[str]) -> bool:
    spelled = dotted_name(node)
    return spelled in owners or any(
        dotted_name(assign.value) in owners
        for assign in code.of(ast.Assign)
        if any(dotted_name(target) == spelled for target in assign.targets if spelled)
    )


def _wrong_call(
    code: PythonCode, call: ast.Call, function: Function, evidence: tuple[Evidence, ...]
) -> Iterator[WrongCall]:
    """Yield the errors of one call."""
    parameters = parameters_of(function)
    used = not isinstance(code.parents.get(call), ast.Expr)
    if function.return_type.strip() == "void" and used:
        yield WrongCall(call, function, "used result")
    if call.keywords:
        yield WrongCall(call, function, "keywords")
    elif len(call.args) != len(parameters):
        yield WrongCall(call, function, "count")
    elif (pointers := raw_pointers(function)) and not any(
        isinstance(one, ast.Constant) for one in call.args[: len(pointers)]
    ):
        yield WrongCall(call, function, "raw pointers")
    else:
        shown = _shown_values(code, call, function.name, evidence)
        for parameter, argument, words in zip(parameters, call.args, shown, strict=False):
            kinds = (kind for pattern, kind in SHOWN if pattern.fullmatch(words))
            given: Given = next(kinds, "")
            if given in REFUSED.get(_taken_parameter(parameter), ()):
                yield WrongCall(call, function, "argument", argument, parameter, given)


def raw_pointers(function: Function) -> list[Parameter]:
    """Return a host function's pointer parameters, which pybind11 doesn't convert from tensors."""
    pointers = [one for one in function.parameters if one.is_pointer and function.runs == "host"]
    return [one for one in pointers if _element(one) in ELEMENTS]


def _element(parameter: Parameter) -> str:
    return parameter.type.replace("const", "").replace("__restrict__", "").rstrip("* &").strip()


def _taken_parameter(parameter: Parameter) -> Taken:
    kind = parameter.type
    if "vector" in kind or "Array" in kind:
        return ""
    if "Tensor" in kind:
        return "optional tensor" if "optional" in kind else "tensor"
    if "optional" in kind or not NUMBER.search(kind):
        return ""
    return "integer" if INTEGER.search(kind) else "number"


def _shown_values(
    code: PythonCode, call: ast.Call, name: str, evidence: tuple[Evidence, ...]
) -> list[str]:
    """Return a call's arguments as printed by pybind; empty where it may have been another call."""
    called = [one for one in code.of(ast.Call) if dotted_name(one.func).endswith(f".{name}")]
    for item in evidence if len(called) == 1 else ():
        found = INVOKED.search(item.said)
        if found and f"{name}()" in item.said:
            values = [value.strip() for value in _split_arguments(found[1])]
            return values if len(values) == len(call.args) else []
    return []


def _split_arguments(words: str) -> Iterator[str]:
    """Yield the parts between commas outside brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(words):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            yield words[start:at]
            start = at + 1
    yield words[start:]
