"""The fix of a ModelNew that is an autograd.Function: a module whose forward applies that function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Edit, Fix
from grader.source import nodes_under
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.source import Source
    from grader.source.python_code import PythonCode

NAME = "KernelFunction"


def wrapped(source: Source, code: PythonCode, model: ast.ClassDef) -> tuple[Fix, ...]:
    """Return the fix that names the function otherwise, and makes a module of its name.

    A module of the answer's own that applies the function already becomes it.
    """
    if any(node.name == NAME for node in code.of(ast.ClassDef)):
        return ()
    edits = [*_named(source, code, model.name, NAME), *_static(source, model)]
    own = next((one for one in code.of(ast.ClassDef) if _applies(one, model.name)), None)
    if own is not None:
        edits += _named(source, code, own.name, model.name)
    else:
        end = source.span(model)[1]
        edits.append(Edit(start=end, end=end, text=_module(model)))
    return fix("make it a module that applies the function", edits)


def _named(source: Source, code: PythonCode, old: str, new: str) -> Iterator[Edit]:
    """Give a class another name, wherever it is named."""
    for node in code.of(ast.ClassDef):
        if node.name == old:
            start = source.code.index(old, source.span(node)[0])
            yield Edit(start=start, end=start + len(old), text=new)
    for name in code.of(ast.Name):
        if name.id == old:
            start, end = source.span(name)
            yield Edit(start=start, end=end, text=new)


def _static(source: Source, model: ast.ClassDef) -> Iterator[Edit]:
    """Make static methods of those that are handed a context in place of an object."""
    for method in model.body:
        if isinstance(method, ast.FunctionDef) and method.name in {"forward", "backward"}:
            if not method.decorator_list:
                at = source.positions.offset(method.lineno, 0) + method.col_offset
                text = f"@staticmethod\n{' ' * method.col_offset}"
                yield Edit(start=at, end=at, text=text)


def _applies(other: ast.ClassDef, name: str) -> bool:
    return other.name != name and any(
        isinstance(node, ast.Attribute)
        and node.attr == "apply"
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in nodes_under(other)
    )


def _module(model: ast.ClassDef) -> str:
    """Return a module that keeps the constructor's arguments, and hands them on after the inputs where they are taken."""
    forward = next(
        (n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None
    )
    taken = [one.arg for one in forward.args.args[1:]] if forward is not None else []
    return (
        f"\n\n\nclass {model.name}(torch.nn.Module):\n"
        "    def __init__(self, *settings):\n"
        "        super().__init__()\n"
        "        self.settings = settings\n\n"
        "    def forward(self, *inputs):\n"
        f"        return {NAME}.apply(*[*inputs, *self.settings][:{len(taken)}])\n"
    )


__all__ = ["wrapped"]
