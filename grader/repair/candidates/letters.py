"""Names that differ by an axis letter: `ih` and `iw`, `H` and `W`, `stride_am` and `stride_an`.

`names` are the names in a function.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import permutations

Letters = tuple[str, str]
Names = frozenset[str]
ALIKE = 0.55
"""How much of a value's text its twin's has to share, to be one."""
WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


def twin_of(names: Names, name: str, letters: Letters) -> str:
    """Return the known name that differs from one by these letters; the name itself where there is none."""
    old, new = letters
    places = [m.start() for m in re.finditer(re.escape(old), name, re.IGNORECASE)]
    made = [
        name[:at] + _in_case_of(name[at : at + len(old)], new) + name[at + len(old) :]
        for at in places
    ]
    if len(places) > 1:
        made.append(
            re.sub(re.escape(old), lambda was: _in_case_of(was[0], new), name, flags=re.IGNORECASE)
        )
    return next((one for one in made if one != name and one in names), name)


def as_twin(names: Names, one: tuple[str, str], other: tuple[str, str]) -> str:
    """Return a variable's value rewritten for its twin; empty where a name has no twin.

    Both are names with the texts of their values.
    """
    letters = difference(one[0], other[0])
    words = rename_twins(names, one[1], letters) if letters else ""
    alike = SequenceMatcher(None, words, other[1], autojunk=False)
    return words if words not in {"", one[1], other[1]} and alike.ratio() > ALIKE else ""


def rename_twins(names: Names, words: str, letters: Letters) -> str:
    """Return a text with every name that has a twin by these letters replaced by it."""
    return WORD.sub(lambda word: twin_of(names, word[0], letters), words)


@lru_cache(maxsize=4096)
def of_one_axis(names: Names, name: str) -> frozenset[str]:
    """Return the names that go along the axis of one: `KH` and `oh` of `ih`, where `KW`, `ow` and `iw` are known as well."""
    letters = [pair for pair in axes(names) if name and twin_of(names, name, pair) != name]
    return frozenset(o for o in names for pair in letters if twin_of(names, o, pair) != o)


def _in_case_of(old: str, new: str) -> str:
    return new.upper() if old.isupper() else new


@lru_cache(maxsize=4096)
def difference(one: str, other: str) -> Letters | None:
    """Return the letters by which two names differ: one word of several, or one letter."""
    first, second = one.split("_"), other.split("_")
    if one == other or len(first) != len(second):
        return None
    words = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(words) != 1:
        return None
    a, b = words[0]
    apart = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    if len(a) == len(b) and len(apart) == 1:
        x, y = apart[0]
        return (x.lower(), y.lower()) if x.isalpha() == y.isalpha() else None
    return (a, b) if len(first) > 1 and a and b else None


@lru_cache(maxsize=64)
def axes(names: Names) -> tuple[Letters, ...]:
    """Return the letters by which at least two pairs of names differ: `h` and `w` of `ih`, `iw`, `H`, `W`."""
    pairs = [difference(*pair) for pair in permutations(sorted(names), 2)]
    known = [pair for pair in pairs if pair is not None]
    return tuple(dict.fromkeys(pair for pair in known if known.count(pair) > 1))
