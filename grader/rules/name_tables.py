"""The names that a rule looks for: `NAME.toml` beside its `NAME.py`, a row for each kind of names."""

import tomllib
from collections.abc import Mapping
from pathlib import Path


def read_names(file: str, section: str = "names") -> Mapping[str, tuple[str, ...]]:
    """Return a section of the table beside a rule's Python file, row by row."""
    text = Path(file).with_suffix(".toml").read_text(encoding="utf-8")
    return {kind: tuple(names) for kind, names in tomllib.loads(text)[section].items()}
