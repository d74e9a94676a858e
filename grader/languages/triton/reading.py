"""What of a submission is Triton: functions under `@triton.jit`, and where they are launched."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.languages.language import CodeText, CompiledLine, Entry, Kernel
from grader.records import Place
from grader.source import Source, nodes_under

JIT = "triton.jit"
FILE = "submission.py"
"""As a guest saves the program (grader/guest/program.py)."""


def read(source: Source) -> TritonReading | None:
    """Read a submission's compiled functions; None where it has none."""
    marked = tuple(one for one in source.walk(ast.FunctionDef) if _is_marked(one, source))
    named = _handed_over(source)
    found = (one for one in source.walk(ast.FunctionDef) if one.name in named)
    functions = (*marked, *(one for one in found if one not in marked))
    return TritonReading(source, functions) if functions else None


@dataclass(frozen=True, eq=False)
class TritonReading:
    """`Reading` of functions that Triton compiles, over the Python tree."""

    source: Source
    functions: tuple[ast.FunctionDef, ...]
    """Kernels, and the functions that they call."""
    bindings: tuple[Entry, ...] = ()
    host_functions: tuple[str, ...] = ()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The functions but for those that only others of them call."""
        launched = {one.name for one in self.launches}
        helpers = {name.rpartition(".")[2] for name in self.called} - launched
        own = (one for one in self.functions if one.name not in helpers)
        return tuple(Kernel(one.name, self._definition_place(one)) for one in own)

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        """Each `kernel[grid](...)`."""
        return tuple(
            Entry(name, self.source.place(call))
            for call in self.source.walk(ast.Call)
            if (name := self._launched_kernel(call))
        )

    @cached_property
    def texts(self) -> tuple[CodeText, ...]:
        """Each function with its decorators."""
        return tuple(map(self._text, self.functions))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(one.name for one in self.functions)

    @cached_property
    def called(self) -> frozenset[str]:
        """Full names of all that the functions call."""
        nodes = (node for one in self.functions for node in nodes_under(one))
        return frozenset(self.source.full_name(n.func) for n in nodes if isinstance(n, ast.Call))

    def place(self, at: CompiledLine) -> Place | None:
        """Return where a line of the program stands; lines of Triton's own library are none of it."""
        if at.file.rpartition("/")[2] != FILE or not 1 <= at.line <= len(self.source.lines):
            return None
        line = at.line
        while line > 1 and not self.source.lines[line - 1].strip():
            line -= 1  # a line table may name the line after the last one
        call = self._long_calls.get(line)
        return self.source.place(call) if call else self.source.line_place(line)

    @cached_property
    def _long_calls(self) -> dict[int, ast.Call]:
        """By each of their lines the calls of the functions that are written over several lines, the outermost first."""
        found: dict[int, ast.Call] = {}
        calls = (
            node for one in self.functions for node in ast.walk(one) if isinstance(node, ast.Call)
        )
        for call in calls:
            last = call.end_lineno or call.lineno
            for line in range(call.lineno, last + 1) if last > call.lineno else ():
                found.setdefault(line, call)
        return found

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """What the functions are called by: their names, and those of what is made of them."""
        found = {one.name: one.name for one in self.functions}
        for node in self.source.walk(ast.Assign):
            inside = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)} & set(found)
            if len(inside) == 1 and isinstance(node.value, ast.Call | ast.Name | ast.Subscript):
                kernel = found[inside.pop()]
                names = (_last_name(target) for target in node.targets)
                found.update({name: kernel for name in names if name and name not in found})
        return found

    def _launched_kernel(self, call: ast.Call) -> str:
        if not isinstance(call.func, ast.Subscript):
            return ""
        return self._aliases.get(_last_name(call.func.value), "")

    def _definition_place(self, function: ast.FunctionDef) -> Place:
        return self.source.line_place(function.lineno)

    def _text(self, function: ast.FunctionDef) -> CodeText:
        return CodeText(
            language="python",
            text=self.source.text(function),
            plain=ast.unparse(function),
            first=self.source.line_place(function.lineno),
            last=self.source.line_place(function.end_lineno or function.lineno),
            has_kernels=True,
        )


def _is_marked(function: ast.FunctionDef, source: Source) -> bool:
    return any(_is_jit(mark, source) for mark in function.decorator_list)


def _is_jit(node: ast.expr, source: Source) -> bool:
    return source.full_name(node.func if isinstance(node, ast.Call) else node) == JIT


def _handed_over(source: Source) -> frozenset[str]:
    """Return the names of the functions that are arguments of `triton.jit(...)`."""
    return frozenset(_given_names(source))


def _given_names(source: Source) -> Iterator[str]:
    for call in source.walk(ast.Call):
        if _is_jit(call.func, source):
            yield from (one.id for one in call.args if isinstance(one, ast.Name))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
