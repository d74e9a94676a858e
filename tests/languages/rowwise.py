"""A tiny second language: kernels are Python functions of one row of a numpy array.

What the seam must hold for: no text for a compiler, kernels that Python starts itself, findings at Python lines, and
rules of its own. Its package is this file with two entry points.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.languages import (
    CodeText,
    CompiledLine,
    CompilerException,
    Entry,
    Kernel,
    Language,
    Recipe,
)
from grader.records import Context, Evidence, Finding, Place, ToolMessage
from grader.rules.rule import Rule
from grader.source import Source, nodes_under

MARK = "rowwise"
REFUSED = "a kernel takes one row"


@dataclass(frozen=True, eq=False)
class RowwiseReading:
    """`Reading` of functions under `@rowwise`, over the Python tree."""

    source: Source
    functions: tuple[ast.FunctionDef, ...]
    bindings: tuple[Entry, ...] = ()
    host_functions: tuple[str, ...] = ()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(Kernel(one.name, self.source.place(one)) for one in self.functions)

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        names = {one.name for one in self.functions}
        return tuple(
            Entry(call.func.id, self.source.place(call))
            for call in self.source.walk(ast.Call)
            if isinstance(call.func, ast.Name) and call.func.id in names
        )

    @cached_property
    def texts(self) -> tuple[CodeText, ...]:
        return tuple(map(self._text, self.functions))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.functions)

    @cached_property
    def called(self) -> frozenset[str]:
        nodes = (node for one in self.functions for node in nodes_under(one))
        return frozenset(
            self.source.module.canonical(n.func) for n in nodes if isinstance(n, ast.Call)
        )

    def place(self, at: CompiledLine) -> Place | None:
        return self.source.line_place(at.line) if at.file.endswith(".py") else None

    def _text(self, function: ast.FunctionDef) -> CodeText:
        return CodeText(
            language="python",
            text=self.source.text(function),
            plain=ast.unparse(function),
            first=self.source.line_place(function.lineno),
            last=self.source.line_place(function.end_lineno or function.lineno),
            has_kernels=True,
        )


def read(source: Source) -> RowwiseReading | None:
    found = tuple(
        one
        for one in source.walk(ast.FunctionDef)
        if any(isinstance(mark, ast.Name) and mark.id == MARK for mark in one.decorator_list)
    )
    return RowwiseReading(source, found) if found else None


def diagnose(raised: CompilerException, source: Source) -> Evidence | None:
    """Return what the decorator refused."""
    name, _, said = raised.reason.partition(": ")
    if name != "TypeError" or REFUSED not in said:
        return None
    place = source.line_place(raised.line) if raised.line else None
    details = ToolMessage(said=said, tool="rowwise", line=raised.line or 0)
    return Evidence(
        kind="compiler", code="signature", text=f"rowwise: {said}.", place=place, details=details
    )


LANGUAGE = Language(
    name="rowwise",
    title="Rowwise",
    fences=frozenset({"rowwise"}),
    kernel_signs=(f"@{MARK}",),
    signs=(),
    place_names=frozenset(),
    read=read,
    recipe=Recipe(
        compiles=lambda _code: False,
        when="launched",
        options={"rowwise": True},
        diagnose=diagnose,
    ),
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for kernels that hand back the row they were given."""
    del context
    found = read(source)
    for function in found.functions if found else ():
        for node in nodes_under(function):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
                if node.value.id == function.args.args[0].arg:
                    yield RULE.finding(source.place(node), f"`{function.name}` returns its input")


RULE = Rule(
    code="ROW001",
    name="row-returned-as-it-came",
    severity="warning",
    summary="A kernel returns the row that it was given.",
    why="It computes nothing.",
    bad="@rowwise\ndef f(row):\n    return row\nimport torch\n",
    good="@rowwise\ndef f(row):\n    return row + 1\nimport torch\n",
    guards="Rows that were changed under another name.",
    fix="",
    check=check,
    predicts="wrong-values",
    languages=("rowwise",),
)
