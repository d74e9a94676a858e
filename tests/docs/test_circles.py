"""No modules import each other in a circle, not for their types alone either."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import grader

PACKAGE = Path(grader.__file__).parent
LEFT = {
    "grader.devices.cuda.device",
    "grader.devices.cuda.timing_session",
    "grader.devices.cuda.timing_turn",
    "grader.devices.sim.changed",
    "grader.devices.sim.device",
    "grader.devices.sim.exact",
    "grader.devices.sim.first_block",
    "grader.devices.sim.first_rows",
    "grader.devices.sim.provenance",
    "grader.source.evaluate",
    "grader.source.string_methods",
}
"""Circles that there are still; the list only shrinks."""


def modules() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    paths = sorted(PACKAGE.rglob("*.py"))
    parts = {p: p.relative_to(PACKAGE.parent).with_suffix("").parts for p in paths}
    return {".".join(parts[p]).removesuffix(".__init__"): p for p in paths}


def imports(path: Path, known: Collection[str]) -> Iterator[str]:
    """Yield the modules that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in known)
            case ast.ImportFrom(module=str() as module, names=names, level=0):
                for member in (f"{module}.{one.name}" for one in names):
                    yield member if member in known else module


def in_circles(imported: Mapping[str, Collection[str]]) -> set[str]:
    """Return the modules that reach themselves."""
    reached = {name: set(others) & imported.keys() for name, others in imported.items()}
    last = {name for name in imported if not reached[name]}
    while last:  # what imports nothing that is left is in no circle
        reached = {n: others - last for n, others in reached.items() if n not in last}
        last = {name for name, others in reached.items() if not others}
    for between, others in reached.items():
        for name in reached:
            if between in reached[name]:
                reached[name] |= others
    return {name for name, others in reached.items() if name in others}


def test_a_circle_is_seen() -> None:
    circle = {"a": "b", "b": "c", "c": "be", "d": "", "e": "fd", "f": "e"}
    assert in_circles(circle) == {"b", "c", "e", "f"}


def test_modules_do_not_import_each_other_in_circles() -> None:
    files = modules()
    imported = {name: {*imports(path, files)} - {name} for name, path in files.items()}
    assert in_circles(imported) == LEFT
