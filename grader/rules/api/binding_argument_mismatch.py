"""API004: Python passes what the C++ function does not accept."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.records import Context, Edit, Evidence, Finding, Fix
from grader.rules.rule import Example, Rule
from grader.source import dotted
from grader.source.analysis.layer_attributes import absent, keeps_tuples
from grader.source.cuda_code import one_line
from grader.source.python_code import PythonCode, python_code
from grader.source.rewriting.binding_arguments import (
    add_defaults,
    pass_by_position,
    replace_argument,
    with_defaults,
)
from grader.source.rewriting.invoked_with import given_values, invoked_fixes
from grader.source.rewriting.missing_arguments import pass_the_rest
from grader.source.rewriting.raw_pointers import (
    keep_the_output,
    raw_pointers,
    take_tensors,
    used_result,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.source import Extension, Function, Parameter, Source

TUPLES = {"stride", "padding", "kernel_size", "dilation", "output_padding", "normalized_shape"}
NUMBER = re.compile(r"\b(?:int|int64_t|long|float|double|size_t|bool|int32_t)\b")
INTEGER = re.compile(r"\b(?:int|int64_t|long|size_t|int32_t)\b")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare each call of an exported function with its prototype."""
    code = python_code(source)
    if code is not None:
        yield from _fixed_together([*_wrong_calls(source, code, context)])


def _fixed_together(findings: list[Finding]) -> Iterator[Finding]:
    """AppliedFix all that is wrong in the same way at once: of several calls, the first one right leaves the next to raise."""
    edits: dict[str, list[Edit]] = {}
    for finding in findings:
        labels = [one.label for one in finding.fixes]
        for one in finding.fixes:
            if labels.count(one.label) == 1:
                known = edits.setdefault(one.label, [])
                known += [edit for edit in one.edits if edit not in known]
    for finding in findings:
        fixes = (
            one.model_copy(update={"edits": tuple(edits.get(one.label, one.edits))})
            for one in finding.fixes
        )
        yield finding.model_copy(update={"fixes": tuple(fixes)})


def _wrong_calls(source: Source, code: PythonCode, context: Context) -> Iterator[Finding]:
    evidence = tuple(
        item for item in context.seen("python") if "incompatible function arguments" in item.said
    )
    prototypes = _prototypes(source)
    owners = {one.variable for one in source.extensions if one.variable}
    for call in code.of(ast.Call):
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in prototypes:
            continue
        if _from_extension(code, function.value, owners):
            yield from _call(source, code, call, prototypes[function.attr], evidence)


def _prototypes(source: Source) -> dict[str, Function]:
    """Return the functions bound by `functions=`, those with one known signature."""
    found: dict[str, list[Function]] = {}
    for extension in source.extensions:
        if not extension.functions or not extension.complete or _own_bindings(extension):
            continue
        for unit in extension.cpp:
            for function in (*unit.declarations, *unit.functions):
                if function.name in extension.functions:
                    found.setdefault(function.name, []).append(function)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def _own_bindings(extension: Extension) -> bool:
    return any(unit.bindings or not unit.resolved for unit in extension.units)


def _from_extension(code: PythonCode, node: ast.AST, owners: set[str]) -> bool:
    spelled = dotted(node)
    if spelled in owners:
        return True
    return any(
        dotted(assign.value) in owners
        for assign in code.of(ast.Assign)
        if any(dotted(target) == spelled for target in assign.targets if spelled)
    )


def _call(
    source: Source,
    code: PythonCode,
    call: ast.Call,
    prototype: Function,
    evidence: tuple[Evidence, ...],
) -> Iterator[Finding]:
    if any(isinstance(one, ast.Starred) for one in call.args) or any(
        word.arg is None for word in call.keywords
    ):
        return
    parameters = [one for one in prototype.parameters if one.type != "void"]
    if prototype.return_type.strip() == "void" and used_result(code, call):
        yield RULE.finding(
            source.place(call),
            f"{prototype.name} returns nothing (void), and its result is used: it is None",
            fixes=keep_the_output(source, code, call),
        )
    if call.keywords:
        yield _finding(
            source, call, f"{prototype.name} is bound without names, so it takes no keyword "
            f"arguments ({call.keywords[0].arg}=)", evidence, pass_by_position(source, call, parameters),
        )  # fmt: skip
        return
    if len(call.args) != len(parameters):
        yield _miscounted(source, code, call, prototype, parameters, evidence)
        return
    pointers = raw_pointers(prototype)
    if pointers and not any(isinstance(one, ast.Constant) for one in call.args[: len(pointers)]):
        names = ", ".join(one_line(one.node, 60) for one in pointers)
        yield _finding(
            source, call, f"{prototype.name} takes raw pointers ({names}), and Python has no tensor for one",
            evidence, take_tensors(source, prototype.name),
        )  # fmt: skip
        return
    told = False
    given = given_values(prototype.name, evidence) if _alone(code, call) else []
    for at, (parameter, argument) in enumerate(zip(parameters, call.args, strict=True)):
        wrong = _mismatch(code, parameter, argument)
        none = given[at : at + 1] == ["None"] or absent(code, argument)
        if not wrong and evidence and _takes_tensor(parameter) and none:
            wrong = f"{source.text(argument)}, which is None"
        if wrong:
            told = True
            yield _finding(
                source, argument,
                f"{prototype.name} takes {parameter.type.strip()} {parameter.name}, and this "
                f"passes {wrong}",
                evidence, replace_argument(source, call, argument, wrong),
            )  # fmt: skip
    fixes = () if told else tuple(invoked_fixes(source, call, prototype, evidence))
    if fixes:
        words = f"{prototype.name} is handed what its parameters can't take"
        yield _finding(source, call, words, evidence, fixes)


def _alone(code: PythonCode, call: ast.Call) -> bool:
    """Whether a function is called there alone, so that what a run saw was this call."""
    name = dotted(call.func).rpartition(".")[2]
    return sum(dotted(one.func).endswith(f".{name}") for one in code.of(ast.Call)) == 1


def _miscounted(
    source: Source, code: PythonCode, call: ast.Call, prototype: Function,
    parameters: list[Parameter], evidence: tuple[Evidence, ...],
) -> Finding:  # fmt: skip
    given = len(call.args)
    defaults = [one for one in parameters if "=" in one_line(one.node, 200)]
    more = (
        "; bindings made by functions= do not know C++ default arguments"
        if given >= len(parameters) - len(defaults)
        else ""
    )
    return _finding(
        source, call,
        f"{prototype.name} takes {len(parameters)} arguments, and this call passes {given}{more}",
        evidence,
        add_defaults(source, call, with_defaults(source, prototype) or parameters)
        or pass_the_rest(source, code, call, parameters)
        or tuple(invoked_fixes(source, call, prototype, evidence)),
    )  # fmt: skip


def _finding(
    source: Source, node: ast.AST, message: str, evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
) -> Finding:  # fmt: skip
    return RULE.finding(
        source.place(node),
        f"{message}: TypeError (incompatible function arguments)",
        confidence="proven" if evidence else "likely",
        evidence=evidence,
        fixes=fixes,
    )


def _mismatch(code: PythonCode, parameter: Parameter, argument: ast.expr) -> str:
    """Return what is passed, where the parameter can't take it."""
    kind = parameter.type
    optional = "optional" in kind
    number = bool(NUMBER.search(kind)) and "vector" not in kind and "Array" not in kind
    if isinstance(argument, ast.Constant):
        if argument.value is None and not optional and ("Tensor" in kind or number):
            return "None"
        if isinstance(argument.value, float) and INTEGER.search(kind) and number:
            return "a float"
        if isinstance(argument.value, str) and number:
            return "a string"
        if isinstance(argument.value, int | float) and "Tensor" in kind:
            return "a number"
    if isinstance(argument, ast.Tuple | ast.List) and number:
        return "a tuple"
    owner = argument.value if isinstance(argument, ast.Attribute) else None
    setting = isinstance(argument, ast.Attribute) and argument.attr in TUPLES
    if number and setting and owner is not None and keeps_tuples(code, owner):
        return "a tuple (torch's layers keep it for each dimension)"
    return ""


def _takes_tensor(parameter: Parameter) -> bool:
    return "Tensor" in parameter.type and "optional" not in parameter.type


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
EXT = (
    'ext = load_inline(name="e", functions=["f"], cuda_sources="",\n'
    '    cpp_sources="torch::Tensor f(torch::Tensor x, OTHER);")\n'
)
MODEL = (
    "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.conv = nn.Conv2d(3, 3, 3)\n    def forward(self, x):\n        return "
    "ext.f(ARGS)\n"
)


def _example(other: str, arguments: str) -> str:
    return HEAD + EXT.replace("OTHER", other) + MODEL.replace("ARGS", arguments)


_NO_BIAS = _example("torch::Tensor b", "x, self.bias").replace(
    "super().__init__()", "super().__init__(); self.register_parameter('bias', None)"
)
_RAISED = Context(
    evidence=(
        Evidence(
            kind="python",
            code="raised",
            text="TypeError: run(): incompatible function arguments. Invoked with: tensor, None",
        ),
    )
)

RULE = Rule(
    code="API004",
    name="binding-argument-mismatch",
    severity="error",
    summary="Python passes something the C++ function does not accept (None, a tuple, a tensor for a pointer, too few "
    "arguments), so the call fails; or it uses what the function does not return.",
    why="pybind11 converts numbers and tensors, and nothing else. Bindings made by functions= know "
    "neither argument names nor C++ default arguments.",
    bad=(
        _example("torch::Tensor b", "x, None"),
        _example("int stride", "x, self.conv.stride"),
        _example("double eps = 1e-5", "x"),
        _example("double eps", "x, eps=1e-5"),
        _example("const float* b", "x, x"),
        _example("int n", "x, 1").replace("torch::Tensor f(", "void f("),
        Example(_NO_BIAS, _RAISED),
    ),
    good=(
        _NO_BIAS,
        _example("c10::optional<torch::Tensor> b", "x, None"),
        _example("int stride", "x, self.conv.stride[0]"),
        _example("double eps", "x, 1"),
        _example("std::vector<int64_t> s", "x, self.conv.stride"),
    ),
    detects=("text", "evidence"),
    guards="Integers become doubles by themselves, optional takes None; names of unknown type, "
    "overloads and bindings of one's own are left alone.",
    fix="Passes arguments by position, what the missing ones are named after, the default value, or the first "
    "entry of the tuple; leaves out what is too much; lets a number have a fraction; takes tensors for raw pointers.",
    check=check,
)
