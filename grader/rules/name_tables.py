"""Tables of a rule's names and sentences: `NAME.toml` beside its `NAME.py`."""

import tomllib
from collections.abc import Mapping
from pathlib import Path


def read_names(file: str, section: str = "names") -> Mapping[str, tuple[str, ...]]:
    """Return a section of the table beside a rule's Python file, a row for each kind of names."""
    return {kind: tuple(names) for kind, names in _section(file, section).items()}


def read_sentences(file: str, section: str) -> Mapping[str, str]:
    """Return the sentences of a section, by code."""
    return _section(file, section)


def _section(file: str, section: str) -> dict[str, str]:
    tables = tomllib.loads(Path(file).with_suffix(".toml").read_text(encoding="utf-8"))
    found: dict[str, str] = tables[section]
    return found
