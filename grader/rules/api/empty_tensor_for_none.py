"""API008: an empty tensor is passed where there is none, and the C++ code takes it for one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source import nodes_under
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import Call, around, cuda_code, text, units
from grader.source.python_code import PythonCode, python_code

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.records import Finding
    from grader.source import Source, Unit

RAISED = re.compile(r"of size \[0\]|for input of size 0\b|index 0 out of range")
"""What torch says where an empty tensor is used as a full one."""
ASKING = {"defined": "", "has_value": ".value()"}
"""Methods that say whether there is a tensor, and how it is had of what they are asked of."""
MAKERS = {"torch.empty", "torch.zeros", "torch.Tensor", "torch.FloatTensor", "torch.tensor"}
TESTS = {"if_statement", "conditional_expression", "while_statement", "declaration"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for empty tensors that forward passes to functions that ask whether they are defined."""
    code = python_code(source)
    if code is None or code.model is None:
        return
    raised = [item for item in context.seen("python") if RAISED.search(item.said)]
    empty = set(_empty_arguments(code))
    for unit in units(source):
        for function in unit.functions:
            names = [parameter.name for parameter in function.parameters]
            given = {names[at] for name, at in empty if name == function.name and at < len(names)}
            asked = [] if function.body is None else list(_asked(unit, function.body, given))
            if not asked:
                continue
            edits = [
                replace_node(unit, call.node, f"({text(call.node)} && {_tensor(call)}.numel() > 0)")
                for call in asked
            ]
            first = asked[0]
            yield RULE.finding(
                unit.place(first.node),
                f"`{text(first.node)}` is true for an empty tensor as well, and that is what forward passes "
                f"for no `{text(first.object)}`: what is done with it here is done with nothing",
                severity=None if raised else "warning",
                confidence="proven" if raised else "likely",
                evidence=raised[:1],
                fixes=fix("ask whether it holds anything", edits),
            )


def _tensor(call: Call) -> str:
    return text(call.object) + ASKING[call.last]


def _asked(unit: Unit, body: Node, names: set[str]) -> Iterator[Call]:
    """Yield the questions whether one of these is a tensor, where its size is not asked as well."""
    for call in cuda_code(unit).calls_under(body):
        if call.last in ASKING and call.object is not None and text(call.object) in names:
            test = next((node for node in around(call.node) if node.type in TESTS), None)
            if test is None or not (_counted(test) or _address(test)):
                yield call


def _counted(test: Node) -> bool:
    """Whether a condition asks for the number of elements too."""
    return "numel" in text(test.child_by_field_name("condition") or test)


def _address(test: Node) -> bool:
    """Whether it chooses an address, which is null for an empty tensor: `b.defined() ? b.data_ptr<float>() : nullptr`."""
    chosen = test.child_by_field_name("consequence")
    return test.type == "conditional_expression" and "data_ptr" in text(chosen)


def _empty_arguments(code: PythonCode) -> Iterator[tuple[str, int]]:
    """Yield the names of called methods with the position at which they may get an empty tensor."""
    for function in code.reached:
        for call in nodes_under(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                for position, argument in enumerate(call.args):
                    if any(_is_empty(code, node) for node in _values(function, argument)):
                        yield call.func.attr, position


def _values(function: ast.AST, argument: ast.expr) -> Iterator[ast.expr]:
    """Yield what an argument may be: one side of a choice, or what a local name was bound to."""
    match argument:
        case ast.IfExp(body=first, orelse=second):
            yield from (first, second)
        case ast.Name(id=name):
            for node in nodes_under(function):
                match node:
                    case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                        yield from (
                            (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
                        )
        case _:
            yield argument


def _is_empty(code: PythonCode, node: ast.expr) -> bool:
    """Whether an expression makes a tensor of no elements: `torch.tensor([])`, `torch.empty(0)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="to" | "cuda" | "float", value=inner)):
            return _is_empty(code, inner)
        case ast.Call(func=made, args=args) if code.canonical(made) in MAKERS:
            bare = not args and code.canonical(made).endswith("Tensor")
            return bare or (len(args) == 1 and ast.unparse(args[0]) in {"0", "[]", "(0,)", "[0]"})
    return False


CODE = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor shifted(torch::Tensor x, torch::Tensor bias) {
    auto y = x.clone();
    if (bias.defined()) y.add_(bias.view({1, -1}));
    return y;
}
"""
ext = load_inline(name="shifted", cpp_sources=source, functions=["shifted"])

class ModelNew(nn.Module):
    def __init__(self, bias=False):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(4)) if bias else None
    def forward(self, x):
        return ext.shifted(x, self.bias if self.bias is not None else torch.tensor([]))
'''
LOCAL = CODE.replace(
    "        return ext.shifted(x, self.bias if self.bias is not None else torch.tensor([]))",
    "        bias = self.bias if self.bias is not None else torch.empty(0, device=x.device)\n"
    "        return ext.shifted(x, bias)",
)

RULE = Rule(
    code="API008",
    name="empty-tensor-for-none",
    severity="error",
    summary="Forward passes an empty tensor where there is none, and the C++ code asks `defined()`, which is true for it.",
    why="`defined()` is false for `torch::Tensor()` alone. A tensor without elements is a tensor: it is added, viewed "
    "or indexed, and that raises, or a kernel is handed its null pointer. Ask `numel() > 0`, or take "
    "`c10::optional<torch::Tensor>` and pass None.",
    bad=(CODE, LOCAL),
    good=(
        CODE.replace("bias.defined()", "bias.defined() && bias.numel() > 0"),
        CODE.replace("torch.tensor([])", "torch.zeros(4)"),
        CODE.replace("if (bias.defined())", "if (x.defined())"),
        CODE.replace(
            "if (bias.defined()) y.add_(bias.view({1, -1}));",
            "add<<<1, 4>>>(y.data_ptr<float>(), bias.defined() ? bias.data_ptr<float>() : nullptr);",
        ),
    ),
    detects=("text", "evidence"),
    guards="Only where the same argument may be empty by forward's own text; a warning until a run raised over it.",
    fix="Asks for elements as well.",
    check=check,
)
