"""Slips of Python that leave a program running and its result wrong: a weight untransposed, an argument unused."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, dotted, nodes_under
from grader.source.code_edits import fix
from grader.source.python_code import PythonCode, python_code

PRODUCTS = {"torch.matmul", "torch.mm"}


def python_slips(source: Source) -> Iterator[Fix]:
    """Yield the fixes of such slips; whether one is meant, its evaluation shows."""
    code = python_code(source)
    if code is None or code.model is None:
        return
    yield from _untransposed(source, code)
    yield from unused_arguments(source, code)


def _untransposed(source: Source, code: PythonCode) -> Iterator[Fix]:
    """Transpose a linear layer's weight, which has a row for each output, in a product from the left."""
    linear = {
        dotted(target)
        for assign in code.of(ast.Assign)
        if isinstance(assign.value, ast.Call)
        and code.canonical(assign.value.func) == "torch.nn.Linear"
        for target in assign.targets
    }
    for function in code.reached:
        for node in nodes_under(function):
            right: ast.expr | None = None
            if isinstance(node, ast.Call) and code.canonical(node.func) in PRODUCTS:
                right = node.args[1] if len(node.args) > 1 else None
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                right = node.right
            if isinstance(right, ast.Attribute) and right.attr == "weight":
                if dotted(right.value) in linear:
                    end = source.span(right)[1]
                    edit = Edit(start=end, end=end, text=".t()")
                    yield from fix(f"transpose {ast.unparse(right)}", [edit])


def unused_arguments(source: Source, code: PythonCode) -> Iterator[Fix]:
    """Set an attribute to the constructor's argument of its name, where nothing uses that argument."""
    maker = code.method("__init__")
    if maker is None:
        return
    names = {argument.arg for argument in maker.args.args[1:]}
    used = {node.id for node in nodes_under(maker) if isinstance(node, ast.Name)}
    for node in nodes_under(maker):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
            ) if name in names - used:
                start, end = source.span(value)
                yield from fix(
                    f"set self.{name} to the argument", [Edit(start=start, end=end, text=name)]
                )


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the slips where a run saw results of another form, or wrong ones at the sizes that decide."""
    code = python_code(source)
    if finding.rule in {"NUM001", "DEP003", "DEP005"} and finding.severity == "error":
        yield from python_slips(source)
    elif finding.cause == "form" and code is not None:
        yield from unused_arguments(source, code)


FIX = FixMaker(codes=("NUM001", "DEP003", "DEP005", "EXT005"), propose=propose)
