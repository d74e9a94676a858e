"""API004: Python passes what the C++ function does not accept."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.binding_calls import WrongCall, raw_pointers, refusals, wrong_calls
from grader.source.cuda_code import one_line


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

RULE = Rule(
    code="API004",
    name="binding-argument-mismatch",
    summary="Python passes something the C++ function does not accept (None, a tuple, a tensor for a pointer, too few "
    "arguments), so the call fails; or it uses what the function does not return.",
    why="pybind11 converts numbers and tensors, and nothing else. Bindings made by functions= know "
    "neither argument names nor C++ default arguments.",
    bad=_example("torch::Tensor b", "x, None"),
    good=_NO_BIAS,
    detects=("text", "evidence"),
    guards="Integers become doubles by themselves, optional takes None; names of unknown type, "
    "overloads and bindings of one's own are left alone.",
    fix="Passes arguments by position, what the missing ones are named after, the default value, or the first "
    "entry of the tuple; leaves out what is too much; lets a number have a fraction; takes tensors for raw pointers.",
    check=check,
)
