"""Names that don't exist as they are written: misspelt ones, Python's, ones without their namespace."""

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
    """Yield the ways to write the unknown name as it may be meant."""
    for meant in _names_meant(found) if found.unknown else ():
        edits = [replace_node(unit, node, meant) for unit, node in found.uses(found.unknown)]
        yield from fix(f"write {meant}", edits)


def _names_meant(found: Diagnostic) -> list[str]:
    """Return what a name may be meant to be: what everybody means by it, its name in a namespace, one almost like it."""
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
