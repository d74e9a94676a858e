"""API007: a tensor of the program's own making stays on the CPU, beside others on the GPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.records import Context, Edit, Evidence, Finding, Fix
from grader.rules.rule import Example, Rule
from grader.source import nodes_under
from grader.source.code_edits import fix
from grader.source.python_code import PythonCode, python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.source import Source

_RAISED = re.compile(
    r"[Ee]xpected all tensors to be on the same device|found at least two devices|is_cuda\(\)"
    r"|must be (?:a |on (?:the )?)?(?:CUDA|GPU)|should be (?:a |on (?:the )?)?(?:CUDA|GPU)|CUDA tensor"
)
MAKERS = {
    "zeros", "ones", "empty", "full", "rand", "randn", "tensor", "arange", "linspace", "eye", "as_tensor", "from_numpy",
}  # fmt: skip
"""torch's functions that make a tensor where nothing says otherwise on the CPU."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for tensors without a device where a call complained of two."""
    raised = [item for item in context.seen("python") if _RAISED.search(item.said)]
    code = python_code(source)
    if not raised or code is None or code.model is None:
        return
    for assign in code.of(ast.Assign):
        if code.class_of(assign) is code.model and (name := _kept(code, assign)):
            yield _finding(
                source,
                assign,
                f"self.{name} is a plain tensor on the CPU: .cuda() and .to() move parameters and "
                "buffers only, so forward gets it from another device than its input",
                raised,
                _buffered(source, assign, name),
            )
    for function in code.reached:
        if isinstance(function, ast.FunctionDef) and code.class_of(function) is code.model:
            for call, owner in _moved(code, function):
                end, start = source.span(call)[1], source.span(owner)[1]
                fixes = fix("leave it on the GPU", [Edit(start=start, end=end, text="")])
                yield _finding(source, call, "this takes a tensor off the GPU", raised, fixes)
            for call in _made(code, function):
                message = "this makes a tensor on the CPU, beside an input on the GPU"
                fixes = _beside_the_input(source, function, call)
                yield _finding(source, call, message, raised, fixes)


def _finding(
    source: Source, node: ast.AST, message: str, raised: list[Evidence], fixes: tuple[Fix, ...]
) -> Finding:
    place = source.place(node)
    return RULE.finding(place, message, confidence="proven", evidence=raised[:1], fixes=fixes)


def _kept(code: PythonCode, assign: ast.Assign) -> str:
    """Return the attribute that a statement sets to a tensor on the CPU, where forward reads it."""
    match assign.targets:
        case [ast.Attribute(value=ast.Name(id="self"), attr=name)]:
            read = any(
                isinstance(node, ast.Attribute) and node.attr == name
                for function in code.reached
                for node in nodes_under(function)
            )
            inside = any(_is_made(code, node) for node in nodes_under(assign.value))
            moved = any(_names_device(code, node) for node in nodes_under(assign.value))
            return name if read and inside and not moved else ""
    return ""


def _made(code: PythonCode, function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls in a method that make a tensor and name no device."""
    for node in nodes_under(function):
        if isinstance(node, ast.Call) and _is_made(code, node):
            around = code.parents.get(node)
            later = isinstance(around, ast.Attribute) and around.attr in {"to", "cuda", "type_as"}
            if not later and not _names_device(code, node):
                yield node


def _moved(code: PythonCode, function: ast.FunctionDef) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Yield the calls of `.cpu()` in a method whose result is no number, each with its tensor."""
    for node in nodes_under(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="cpu", value=owner), args=[]):
                around = code.parents.get(node)
                numbers = {"item", "tolist", "numpy"}
                if not (isinstance(around, ast.Attribute) and around.attr in numbers):
                    yield node, owner


def _is_made(code: PythonCode, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    space, _, name = code.canonical(node.func).rpartition(".")
    return space == "torch" and name in MAKERS


def _names_device(code: PythonCode, node: ast.AST) -> bool:
    """Whether a call says where its result goes, or makes a parameter, which is moved."""
    if not isinstance(node, ast.Call):
        return False
    called = code.canonical(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return (
        called.endswith("Parameter")
        or method in {"cuda", "to"}
        or any(word.arg == "device" for word in node.keywords)
    )


def _buffered(source: Source, assign: ast.Assign, name: str) -> tuple[Fix, ...]:
    start, end = source.span(assign)
    value = source.text(assign.value)
    text = f'self.register_buffer("{name}", {value}, persistent=False)'
    return fix(f"keep {name} as a buffer", [Edit(start=start, end=end, text=text)])


def _beside_the_input(source: Source, function: ast.FunctionDef, call: ast.Call) -> tuple[Fix, ...]:
    given = [one.arg for one in function.args.args[1:]]
    at = source.span(call)[1] - 1
    if not given or not (call.args or call.keywords):
        return ()
    text = f", device={given[0]}.device"
    return fix(f"make it where {given[0]} is", [Edit(start=at, end=at, text=text)])


MODEL = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.shift = SHIFT
    def forward(self, x):
        return x + self.shift + MADE
"""
TOLD = Context(
    evidence=(
        Evidence(
            kind="python",
            code="raised",
            text="RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
        ),
    )
)
RIGHT = MODEL.replace("SHIFT", "nn.Parameter(torch.ones(n))").replace("MADE", "torch.ones_like(x)")

RULE = Rule(
    code="API007",
    name="tensor-left-on-the-cpu",
    severity="error",
    summary="A tensor that the program makes itself is on the CPU while the input is on the GPU, so the call raises.",
    why="A module's .cuda() and .to() move its parameters and buffers. A tensor that is a plain attribute, or that "
    "forward makes without a device, stays where it was made: on the CPU.",
    bad=(
        Example(MODEL.replace("SHIFT", "torch.zeros(n)").replace("MADE", "1"), TOLD),
        Example(RIGHT.replace("torch.ones_like(x)", "torch.ones(3)"), TOLD),
    ),
    good=(Example(RIGHT, TOLD), MODEL.replace("SHIFT", "torch.zeros(n)").replace("MADE", "1")),
    detects=("evidence",),
    guards="Only where a run raised over devices: a plain tensor may be moved later, or hold numbers for the host.",
    fix="Registers the attribute as a buffer, or makes the tensor on the input's device.",
    check=check,
)
