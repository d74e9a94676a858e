"""The Triton code in a submission: functions under `@triton.jit`, and their launches."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from grader.languages.language import CodeText, CompiledLine, Entry, Kernel
from grader.records import Place
from grader.source import Source, nodes_under
from grader.source.analysis import triton

FILE = "submission.py"
"""Name of the file of the program in a guest (grader/guest/program.py)."""


def read(source: Source) -> TritonReading | None:
    """Read a submission's compiled functions; None where it has none."""
    functions = tuple(one.node for one in triton.kernels(source))
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
        """The functions except those that only other functions call."""
        launched = {one.name for one in self.launches}
        helpers = {name.rpartition(".")[2] for name in self.called} - launched
        own = (one for one in self.functions if one.name not in helpers)
        return tuple(Kernel(one.name, self.source.line_place(one.lineno)) for one in own)

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        """Each `kernel[grid](...)`."""
        found = triton.launches(self.source)
        return tuple(Entry(one.kernel.name, self.source.place(one.call)) for one in found)

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
        """Full names of all called functions."""
        nodes = (node for one in self.functions for node in nodes_under(one))
        return frozenset(
            self.source.module.canonical(n.func) for n in nodes if isinstance(n, ast.Call)
        )

    def place(self, at: CompiledLine) -> Place | None:
        """Return the place of a line of the program; None for lines of Triton's own library."""
        if at.file.rpartition("/")[2] != FILE or not 1 <= at.line <= len(self.source.lines):
            return None
        line = at.line
        while line > 1 and not self.source.lines[line - 1].strip():
            line -= 1  # a line table may name the line after the last one
        call = self._long_calls.get(line)
        return self.source.place(call) if call else self.source.line_place(line)

    @cached_property
    def _long_calls(self) -> dict[int, ast.Call]:
        """Multi-line calls in the functions, by each of their lines, the outermost first."""
        found: dict[int, ast.Call] = {}
        calls = (
            node for one in self.functions for node in ast.walk(one) if isinstance(node, ast.Call)
        )
        for call in calls:
            last = call.end_lineno or call.lineno
            for line in range(call.lineno, last + 1) if last > call.lineno else ():
                found.setdefault(line, call)
        return found

    def _text(self, function: ast.FunctionDef) -> CodeText:
        return CodeText(
            language="python",
            text=self.source.text(function),
            plain=ast.unparse(function),
            first=self.source.line_place(function.lineno),
            last=self.source.line_place(function.end_lineno or function.lineno),
            has_kernels=True,
        )
