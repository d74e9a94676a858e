"""Reductions of rows for the fast templates (sums, extremes, softmax, moments), and formulas on their results."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Operation:
    """The operator-specific part of a kernel: C++ statements over `s` (a Stat), `v` and `i`."""

    finish: str
    """Gives the result: `return ...;` with `v` the value (where it maps) and `n` the length."""
    factor: str = ""
    """What all values of a row have in common, for `finish` where it maps."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Type, name and start value of each field of Stat."""
    add: str = ""
    """Folds the value `v` (at index `i`) into `s`."""
    batch: str = ""
    """Folds the kCount values `v` into `s`, where that is cheaper than one by one."""
    blank: str = "0.0f"
    """A value that changes nothing when it is folded in."""
    warp: str = ""
    """Merges the `s` of all lanes of a warp, where that is cheaper than `merge` in five steps."""
    merge: str = ""
    """Folds `b` into `a`."""
    scalars: tuple[str, ...] = ()
    """Numbers that a kernel takes beside its tensors."""
    result: str = "float"
    maps: bool = True
    """One result for each value; otherwise one for each row."""
    indexed: bool = False
    """Whether `add` needs the index."""

    @property
    def counted(self) -> bool:
        """Whether `finish` needs the number of values."""
        return re.search(r"\bn\b", self.finish) is not None


@cache
def operations() -> Mapping[str, Operation]:
    """Return all operations by name, as `operations.toml` has them."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {name: _operation(table, name) for name in table}


def _operation(table: Mapping[str, Any], name: str) -> Operation:
    given = _with_likes(table, name)
    words = given.pop("words", {})
    for key, value in given.items():
        given[key] = _put_words(value, words)
    return Operation(**given)


def _with_likes(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an operation's settings, completed from the one that it is like."""
    own = dict(table[name])
    return _with_likes(table, own.pop("like")) | own if "like" in own else own


def _put_words(value: Any, words: Mapping[str, str]) -> Any:
    """Return a value with words put in, its lists as tuples."""
    if isinstance(value, list):
        return tuple(_put_words(one, words) for one in value)
    for word, new in words.items() if isinstance(value, str) else ():
        value = value.replace(word, new)
    return value
