"""A submission's text, parsed once: Python tree, CUDA units, extensions, positions."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from grader.records import Place
from grader.source.extensions import CPP_PRELUDE, CUDA_PRELUDE, Extension
from grader.source.positions import Positions, place_span
from grader.source.python_code import PythonCode
from grader.source.units import Unit

NodeType = TypeVar("NodeType", bound=ast.AST)


@dataclass(frozen=True)
class PythonError:
    """The syntax error of the Python text."""

    message: str
    line: int
    """1-based."""
    column: int
    """0-based."""
    text: str
    """The line itself."""


@dataclass(frozen=True, eq=False)
class Source:
    """Everything known from the text alone. Offsets and columns are in characters."""

    code: str
    """The Python text, with `\\n` line ends."""
    positions: Positions
    module: PythonCode
    """Its tree, indexed; empty where the text is not Python."""
    syntax_error: PythonError | None
    extensions: tuple[Extension, ...]
    cuda: tuple[Unit, ...]
    """Texts that reach `cuda_sources`; if there are none, each string with `__global__`."""
    cpp: tuple[Unit, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of the Python text."""
        return self.positions.lines

    @property
    def units(self) -> tuple[Unit, ...]:
        """Every text that a compiler sees, CUDA first."""
        return tuple(dict.fromkeys(self.cuda + self.cpp))

    # Python

    def walk(self, *kinds: type[NodeType]) -> Iterator[NodeType]:
        """Yield the nodes of some types, all over the program."""
        every = (nodes for kind, nodes in self.module.by_kind.items() if issubclass(kind, kinds))
        return (node for nodes in every for node in nodes)  # type: ignore[misc]

    # places

    def place(self, node_or_span: ast.AST | tuple[int, int]) -> Place:
        """Return the place of a node of the Python tree or of `code[start:end]`."""
        span = node_or_span if isinstance(node_or_span, tuple) else self.span(node_or_span)
        return place_span(self.positions, *span)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node of the Python tree, for edits."""
        return self.positions.span(node)

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node of the Python tree."""
        return self.code[slice(*self.span(node))]

    def line_place(self, line: int) -> Place:
        """Return the place of a whole line of the Python text, without its indentation."""
        text = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        start = self.positions.offset(line, len(text) - len(text.lstrip()))
        return place_span(self.positions, start, self.positions.offset(line, len(text.rstrip())))

    def compiled_place(
        self, file: str, line: int, column: int = 0, extension: str | None = None
    ) -> Place | None:
        """Return the submission's place of a compiler's line.

        `file` is `cuda.cu` or `main.cpp`, with or without folders; `line` is 1-based, `column`
        0-based. Of several extensions the one named counts, else the first with such a line. None for torch's own lines
        and unknown ones.
        """
        name = file.rsplit("/", 1)[-1]
        for one in self.extensions:
            if extension is None or one.name is None or _is_same_extension(one.name, extension):
                units, prelude = _layout(one, name)
                found = _unit_line(units, line - prelude)
                if found is not None:
                    return found[0].place_line(found[1], column)
        return None


def _layout(extension: Extension, file: str) -> tuple[tuple[Unit, ...], int]:
    """Return the units that make up a file, and the number of lines before them."""
    if file == "cuda.cu":
        return extension.cuda, len(CUDA_PRELUDE) if extension.preluded else 0
    if file == "main.cpp":
        return extension.cpp, len(CPP_PRELUDE) if extension.preluded else 0
    return (), 0


def _unit_line(units: tuple[Unit, ...], line: int) -> tuple[Unit, int] | None:
    if line < 1:
        return None
    for unit in units:
        if line <= len(unit.lines):
            return unit, line
        line -= len(unit.lines)
    return None


def _is_same_extension(name: str, given: str) -> bool:
    """Whether a build's name is the extension's, which torch extends by `_v1` when it changes."""
    return given == name or given.rpartition("_v")[0] == name
