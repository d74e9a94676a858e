"""The header that declares a library's name which neither torch's headers nor CUDA's runtime include."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from grader.records import Evidence
from grader.source.analysis.diagnostics import diagnostic_text, explain

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
HELPERS: Mapping[str, list[str]] = _TABLE["helpers"]
"""Helpers that answers use most, by the header that declares them."""
SPACES: Mapping[str, Mapping[str, list[str]]] = _TABLE["namespaces"]
"""Names declared by each header, by namespace."""
WHOLE: Mapping[str, str] = _TABLE["whole"]
"""Libraries with one header for all."""
PLAIN: Mapping[str, str] = _TABLE["plain"]
"""Patterns of names in no namespace, by header."""
_SCOPE = re.compile(r"\b(\w+)\s*::\s*\w+")


def declared_in(item: Evidence, line: str) -> tuple[str, str]:
    """Return the missing name on this line of code, and the header that declares it; "" for none."""
    meaning = explain(diagnostic_text(item))
    if meaning is not None and meaning.kind == "no-member":
        return _member(meaning.names)
    if meaning is not None and meaning.kind == "undefined-identifier":
        return meaning.names[0], _plain(meaning.names[0])
    if '"::"' not in diagnostic_text(item) and "qualified name" not in diagnostic_text(item):
        return "", ""
    space = next((found for found in _SCOPE.findall(line) if found in WHOLE), "")
    return space, WHOLE.get(space, "")


def _member(names: tuple[str, ...]) -> tuple[str, str]:
    for space, name in (names, reversed(names)):
        if space in WHOLE:
            return f"{space}::{name}", WHOLE[space]
        for header, declares in SPACES.get(space, {}).items():
            if name in declares:
                return f"{space}::{name}", header
    for name in reversed(names):
        if _helper(name):
            return name, _helper(name)
    return "", ""


def _plain(name: str) -> str:
    matches = (header for header, names in PLAIN.items() if re.fullmatch(names, name))
    return _helper(name) or WHOLE.get(name, "") or next(matches, "")


def _helper(name: str) -> str:
    return next((header for header, names in HELPERS.items() if name in names), "")
