"""EXT008: the constructor registers a parameter by a name that a plain attribute has already."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source import nodes_under
from grader.source.code_edits import delete_statement, fix
from grader.source.python_code import PythonCode, python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Finding
    from grader.source import Source

REGISTERS = {"register_parameter", "register_buffer", "add_module", "register_module"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look in ModelNew's constructor for a registration after a plain assignment to the same name."""
    code = python_code(source)
    constructor = code.method("__init__") if code is not None else None
    if code is None or constructor is None:
        return
    plain = dict(_plain(code, constructor))
    for call in nodes_under(constructor):
        name = _registered(call)
        assign = plain.get(name)
        if not isinstance(call, ast.Call) or assign is None or assign.lineno >= call.lineno:
            continue
        said = f"attribute '{name}' already exists"
        evidence = tuple(item for item in context.evidence if said in item.said)
        certain = bool(evidence) or code.parents.get(code.parents[call]) is constructor
        edits = [] if _read(constructor, name, assign, call) else [delete_statement(source, assign)]
        yield RULE.finding(
            source.place(call),
            f"self.{name} is a plain attribute since line {assign.lineno}, and nn.Module registers nothing over one: "
            f'KeyError ("{said}") when the model is made',
            severity="error" if certain else "warning",
            confidence="proven" if evidence else "likely",
            evidence=evidence,
            fixes=fix(f"leave out the plain self.{name}", edits),
        )


def _plain(code: PythonCode, constructor: ast.AST) -> Iterator[tuple[str, ast.Assign]]:
    """Yield what each run of the constructor sets without a call: no parameter, no module."""
    for node in nodes_under(constructor):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if (
                code.parents.get(node) is constructor
                and _is_own(node.targets[0], name, ast.Store)
                and not any(isinstance(part, ast.Call) for part in nodes_under(value))
            ):
                yield name, node


def _read(constructor: ast.AST, name: str, assign: ast.Assign, call: ast.Call) -> bool:
    """Whether the plain value is read between the two: before anything else is assigned."""
    lines = {ast.Load: [call.lineno + 1], ast.Store: [call.lineno]}
    for node in nodes_under(constructor):
        for kind, found in lines.items():
            if _is_own(node, name, kind) and getattr(node, "lineno", 0) > assign.lineno:
                found.append(getattr(node, "lineno", 0))
    return min(lines[ast.Load]) <= min(lines[ast.Store])


def _registered(node: ast.AST) -> str:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="self"), attr=called),
            args=[ast.Constant(value=str(name)), *_],
        ) if called in REGISTERS:
            return name
    return ""


def _is_own(node: ast.AST, name: str, context: type[ast.expr_context]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr == name:
            return isinstance(node.ctx, context)
    return False


HEAD = "import torch\nfrom torch import nn\n"
CODE = (
    HEAD + "class ModelNew(nn.Module):\n    def __init__(self, n, bias=False):\n"
    "        super().__init__()\n        self.bias = bias\n        if bias:\n"
    "            self.bias = nn.Parameter(torch.zeros(n))\n        else:\n"
    "            self.register_parameter('bias', None)\n    def forward(self, x):\n        return x\n"
)
RULE = Rule(
    code="EXT008",
    name="registered-over-a-plain-attribute",
    severity="error",
    summary="A parameter or buffer is registered by a name that a plain attribute has already, so the constructor "
    "raises a KeyError.",
    why="nn.Module keeps parameters apart from plain attributes. `self.bias = bias` makes a plain one, and "
    "`register_parameter('bias', None)` then refuses the name; assigning an nn.Parameter would replace it.",
    bad=CODE,
    good=(
        CODE.replace("        self.bias = bias\n", ""),
        CODE.replace("        self.bias = bias\n", "        self.bias = nn.Parameter(torch.ones(n))\n"),
        CODE.replace("self.register_parameter('bias', None)", "self.bias = None"),
    ),
    detects=("text", "evidence"),
    guards="Only assignments that every run of the constructor makes, of values that are no call's. A warning where the "
    "registration is in a branch and no run has raised.",
    fix="Leaves the plain attribute out, where nothing reads it before.",
    check=check,
)  # fmt: skip
