"""API004: Python passes what the C++ function does not accept."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.records import Edit, Evidence, Finding, Fix
from grader.rules.api.invoked_with import invoked_mends
from grader.rules.api.missing_arguments import pass_the_rest
from grader.rules.cuda_code import one_line
from grader.rules.mending import fix
from grader.rules.python_code import PythonCode, python_code
from grader.rules.rule import Context, Example, Rule
from grader.source import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.source import Extension, Function, Parameter, Source

TUPLES = {"stride", "padding", "kernel_size", "dilation", "output_padding", "normalized_shape"}
NUMBER = re.compile(r"\b(?:int|int64_t|long|float|double|size_t|bool|int32_t)\b")
INTEGER = re.compile(r"\b(?:int|int64_t|long|size_t|int32_t)\b")
LITERAL = re.compile(r"=\s*(-?[\d.]+(?:[eE][-+]?\d+)?)[fFlLuU]*\s*$|=\s*(true|false)\s*$")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare each call of an exported function with its prototype."""
    code = python_code(source)
    if code is None:
        return
    evidence = tuple(
        item for item in context.seen("python") if "incompatible function arguments" in item.text
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
    given = len(call.args) + len(call.keywords)
    if call.keywords:
        yield _finding(
            source, call, f"{prototype.name} is bound without names, so it takes no keyword "
            f"arguments ({call.keywords[0].arg}=)", evidence, _positional(source, call, parameters),
        )  # fmt: skip
        return
    if given != len(parameters):
        defaults = [one for one in parameters if "=" in one_line(one.node, 200)]
        more = (
            "; bindings made by functions= do not know C++ default arguments"
            if given >= len(parameters) - len(defaults)
            else ""
        )
        yield _finding(
            source, call,
            f"{prototype.name} takes {len(parameters)} arguments, and this call passes "
            f"{given}{more}",
            evidence,
            _add_defaults(source, call, _with_defaults(source, prototype) or parameters)
            or pass_the_rest(source, code, call, parameters)
            or tuple(invoked_mends(source, call, prototype, evidence)),
        )  # fmt: skip
        return
    told = False
    for parameter, argument in zip(parameters, call.args, strict=True):
        wrong = _mismatch(code, parameter, argument)
        if not wrong and evidence and _takes_tensor(parameter) and _absent(code, argument):
            wrong = f"{dotted(argument)}, which is None"
        if wrong:
            told = True
            yield _finding(
                source, argument,
                f"{prototype.name} takes {parameter.type.strip()} {parameter.name}, and this "
                f"passes {wrong}",
                evidence, _argument_fixes(source, call, argument, wrong),
            )  # fmt: skip
    fixes = () if told else tuple(invoked_mends(source, call, prototype, evidence))
    if fixes:
        words = f"{prototype.name} is handed what its parameters can't take"
        yield _finding(source, call, words, evidence, fixes)


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
    if number and setting and owner is not None and _layer(code, owner):
        return "a tuple (torch's layers keep it for each dimension)"
    return ""


def _takes_tensor(parameter: Parameter) -> bool:
    return "Tensor" in parameter.type and "optional" not in parameter.type


def _absent(code: PythonCode, node: ast.expr) -> bool:
    """Whether the constructor may leave an attribute of self without a tensor: a bias, mostly."""
    spelled = dotted(node)
    if not isinstance(node, ast.Attribute) or not spelled:
        return False
    registered = any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in {"register_parameter", "register_buffer"}
        and [one.value for one in call.args if isinstance(one, ast.Constant)] == [node.attr, None]
        for call in code.of(ast.Call)
    )
    return (
        registered
        or _made_without(code, node)
        or (node.attr in {"weight", "bias"} and _without_affine(code, node))
        or any(
            isinstance(assign.value, ast.Constant)
            and assign.value.value is None
            and any(dotted(target) == spelled for target in assign.targets)
            for assign in code.of(ast.Assign)
        )
    )


def _made_without(code: PythonCode, node: ast.Attribute) -> bool:
    """Whether an attribute of a layer is the bias that it was made without."""
    spelled = dotted(node.value)
    return node.attr == "bias" and any(
        isinstance(assign.value, ast.Call)
        and any(
            word.arg == "bias"
            and isinstance(word.value, ast.Constant)
            and word.value.value is False
            for word in assign.value.keywords
        )
        for assign in code.of(ast.Assign)
        if any(dotted(target) == spelled for target in assign.targets if spelled)
    )


def _layer(code: PythonCode, node: ast.AST) -> bool:
    """Whether an attribute of self holds one of torch's layers whose settings are tuples."""
    spelled = dotted(node)
    return any(
        isinstance(assign.value, ast.Call)
        and code.canonical(assign.value.func).startswith("torch.nn.")
        and re.search(r"Conv|LayerNorm", code.canonical(assign.value.func))
        for assign in code.of(ast.Assign)
        if any(dotted(target) == spelled for target in assign.targets if spelled)
    )


def _positional(source: Source, call: ast.Call, parameters: list[Parameter]) -> tuple[Fix, ...]:
    names = [parameter.name for parameter in parameters]
    words = {word.arg: word for word in call.keywords}
    rest = names[len(call.args) :]
    if set(rest) != set(words) or not words:
        return ()
    values = [ast.unparse(words[name].value) for name in rest]
    start = source.span(call.keywords[0])[0]
    end = source.span(call.keywords[-1])[1]
    return fix("pass them by position", [Edit(start=start, end=end, text=", ".join(values))])


def _with_defaults(source: Source, prototype: Function) -> list[Parameter]:
    """Return the parameters as the definition has them, which may know defaults that the prototype lacks."""
    found = [f for unit in source.cuda for f in unit.functions if f.name == prototype.name]
    same = len(found) == 1 and len(found[0].parameters) == len(prototype.parameters)
    return list(found[0].parameters) if same else []


def _add_defaults(source: Source, call: ast.Call, parameters: list[Parameter]) -> tuple[Fix, ...]:
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


def _argument_fixes(
    source: Source, call: ast.Call, argument: ast.expr, wrong: str
) -> tuple[Fix, ...]:
    start, end = source.span(argument)
    if wrong.startswith("a tuple ("):
        return fix("pass its first entry", [Edit(start=end, end=end, text="[0]")])
    if wrong.endswith("None") and (plain := _plain_norm(source, argument)):
        return fix("pass what it stands for", [Edit(start=start, end=end, text=plain)])
    weight = next((one for one in call.args if dotted(one).endswith("weight")), None)
    if not wrong.endswith("None") or weight is None or weight is argument:
        return ()
    given, shaped = source.code[start:end], source.code[slice(*source.span(weight))]
    words = f"{shaped}.new_zeros({shaped}.shape[0])"
    if isinstance(argument, ast.Attribute):
        words = f"({given} if {given} is not None else {words})"
    return fix("pass zeros where there is none", [Edit(start=start, end=end, text=words)])


def _plain_norm(source: Source, argument: ast.expr) -> str:
    """Return ones for the weight, zeros for the bias, of a norm that was made without them."""
    if not isinstance(argument, ast.Attribute) or argument.attr not in {"weight", "bias"}:
        return ""
    code = python_code(source)
    forward = code.method("forward") if code is not None else None
    if code is None or forward is None or not _without_affine(code, argument):
        return ""
    x = forward.args.args[1].arg if len(forward.args.args) > 1 else ""
    made = "ones" if argument.attr == "weight" else "zeros"
    return f"{x}.new_{made}({ast.unparse(argument.value)}.num_features)" if x else ""


def _without_affine(code: PythonCode, node: ast.Attribute) -> bool:
    """Whether an attribute belongs to a norm without weight and bias: an `InstanceNorm`, as a rule."""
    spelled = dotted(node.value)
    for assign in code.of(ast.Assign):
        made = assign.value
        if not isinstance(made, ast.Call) or spelled not in map(dotted, assign.targets):
            continue
        words = {word.arg: word.value for word in made.keywords}
        affine = words.get("affine")
        told = affine.value if isinstance(affine, ast.Constant) else None
        name = code.canonical(made.func)
        if "InstanceNorm" in name and len(made.args) < 4:
            return told is not True
        return "BatchNorm" in name and told is False
    return False


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
    summary="Python passes something the C++ function does not accept (None, a tuple, too few "
    "arguments), so the call fails.",
    why="pybind11 converts numbers and tensors, and nothing else. Bindings made by functions= know "
    "neither argument names nor C++ default arguments.",
    bad=(
        _example("torch::Tensor b", "x, None"),
        _example("int stride", "x, self.conv.stride"),
        _example("double eps = 1e-5", "x"),
        _example("double eps", "x, eps=1e-5"),
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
    mend="Passes arguments by position, what the missing ones are named after, the default value, or the first "
    "entry of the tuple; leaves out what is too much; lets a number have a fraction.",
    check=check,
)
