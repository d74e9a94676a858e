"""Joins an answer that was given in several blocks."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from grader.ingest.numbered import Line, Lines, join_lines
from grader.languages import embedded_texts
from grader.source import read_python

_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__builtins__", "__doc__", "__spec__"}


@dataclass(frozen=True)
class Part:
    """An earlier block of the answer."""

    lines: Lines
    segment: int

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that it binds at module level; none if it isn't Python."""
        tree, _ = read_python(join_lines(self.lines))
        return frozenset(_module_names(tree)) if tree is not None else frozenset()


def complete(lines: Lines, earlier: list[Part]) -> tuple[Lines, tuple[str, ...], set[int]]:
    """Return the program with its missing definitions taken from earlier blocks.

    Names that the program uses but doesn't define are looked up in earlier Python blocks, the latest first; undefined
    names passed as sources are taken from a block of CUDA or C++. Returns the program, notes, and the segments that
    became part of it.
    """
    if not earlier:
        return lines, (), set()
    rest = list(earlier)
    used: set[int] = set()
    notes: list[str] = []
    while missing := missing_names(join_lines(lines)):
        part = next((one for one in reversed(rest) if one.names & missing), None)
        if part is None:
            break
        rest.remove(part)
        used.add(part.segment)
        lines = (*part.lines, *lines)
        notes.append(
            f"the answer is split: the block at line {part.lines[0].number} was put before the rest"
        )
    for name, block in _sources(lines, rest):
        lines = (Line(0, f'{name} = r"""'), *block.lines, Line(0, '"""'), *lines)
        used.add(block.segment)
        notes.append(
            f"`{name}` is not defined; it was taken to be the block at line {block.lines[0].number}"
        )
    return lines, tuple(notes), used


def missing_names(code: str) -> frozenset[str]:
    """Return the names that a program uses and nowhere binds; none if it doesn't parse."""
    tree, _ = read_python(code)
    if tree is None:
        return frozenset()
    bound: set[str] = set(_KNOWN)
    used: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.alias(name="*"):
                return frozenset()
            case ast.alias(name=name, asname=other):
                bound.add((other or name).split(".")[0])
    return frozenset(used - bound)


def _module_names(tree: ast.Module) -> set[str]:
    """Return the names that a block binds at module level by assignment, definition or import."""
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
            case ast.Assign(targets=targets):
                names |= {
                    one.id
                    for target in targets
                    for one in ast.walk(target)
                    if isinstance(one, ast.Name)
                }
    return names


def _sources(lines: Lines, earlier: list[Part]) -> list[tuple[str, Part]]:
    """Return the undefined names given as texts for a compiler, as `cuda_sources`, with their blocks."""
    code = join_lines(lines)
    missing = missing_names(code)
    tree, _ = read_python(code)
    if not missing or tree is None:
        return []
    meant_for = {name: fits for one in embedded_texts() for name, fits in one.arguments.items()}
    found: list[tuple[str, Part]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in meant_for:
            names = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)} & missing
            blocks = [part for part in earlier if _is_source(part.lines, meant_for[node.arg])]
            if len(names) == 1 and len(blocks) == 1 and blocks[0] not in [b for _, b in found]:
                found.append((names.pop(), blocks[0]))
    return found


def _is_source(lines: Lines, fits: Callable[[str], bool]) -> bool:
    text = join_lines(lines)
    if '"""' in text or text.rstrip().endswith("\\") or "class ModelNew" in text:
        return False
    return fits(text)
