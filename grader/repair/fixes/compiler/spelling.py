"""Fixes of unknown names: misspelt ones, Python's, ones without their namespace."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.repair.fixes.names import names
from grader.source.code_edits import fix, replace_node

ALIKE = 0.84
SHORT = 3


def respell_name(found: Diagnostic) -> Iterator[Fix]:
    """Yield the likely spellings of the unknown name."""
    for meant in _names_meant(found) if found.unknown else ():
        edits = [replace_node(unit, node, meant) for unit, node in found.uses(found.unknown)]
        yield from fix(f"write {meant}", edits)


def _names_meant(found: Diagnostic) -> list[str]:
    """Return the likely meanings of a name: a common substitute, its name in a namespace, a similar one."""
    name = found.unknown
    if name in names()["meant"]:
        return [names()["meant"][name]]
    for space in ("torch", "std"):
        if name in names()[space]:
            return [f"{space}::{name}"]
    if len(name) <= SHORT:
        return []
    own = [other for unit in found.source.units for other in unit.names]
    known = [other for other in (*names()["known"], *own) if other != name and len(other) > SHORT]
    return list(dict.fromkeys(get_close_matches(name, known, 2, ALIKE)))
