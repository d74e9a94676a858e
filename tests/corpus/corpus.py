"""Labelled submissions: correct kernels, and the same with one defect seeded into each.

`kernels/NAME.py` is a correct submission (its first line says the task), `kernels/NAME.toml` its seeds and
its variants: the same program for other tasks. `kinds.toml` says what each kind of seed is, and `everywhere.py`
makes the kinds that need no knowledge of the kernel. `triton/` is the same for Triton, with `triton_kinds.toml`;
most of its correct submissions are our own plain kernels (`grader/repair/plain_triton`).
A seed is a text edit at an anchor that must be unique, so the labels stay exact.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from grader.repair.plain_triton import KERNELS

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Kind:
    """One kind of mutation."""

    name: str
    title: str
    rules: tuple[str, ...]
    verdict: tuple[str, ...]


@dataclass(frozen=True)
class Labelled:
    """One submission with what is true of it."""

    name: str
    """`kernel` for an original, else `kernel--kind` with a number where a kernel has several."""
    kernel: str
    task: str
    code: str
    folder: str = "kernels"
    kind: str = ""
    """Kind of the seeded defect; empty for a correct original."""
    rules: tuple[str, ...] = ()
    """Rules that name the defect; a right review has an error of one of them."""
    lines: frozenset[int] = frozenset()
    """Lines of `code` (1-based) where that error may stand."""
    verdict: tuple[str, ...] = ("correct",)
    """Statuses that are right."""


@dataclass(frozen=True)
class Edit:
    """A seed before it is applied."""

    kind: str
    old: str
    new: str
    near: tuple[str, ...] = ()
    """Texts of other lines at which the defect may be named."""
    rules: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()


WRONG_VALUES = "NUM001"
DEPENDENCES = ("DEP001", "DEP002", "DEP003", "DEP004", "DEP005", "DEP006")
"""Say of wrong values what they were made of, where NUM001 says only that they are wrong."""
KINDS = {"kernels": "kinds.toml", "triton": "triton_kinds.toml"}


@cache
def kinds(folder: str = "kernels") -> dict[str, Kind]:
    """Return the kinds of mutation by name."""
    table = tomllib.loads((FOLDER / KINDS[folder]).read_text("utf-8"))
    return {
        name: Kind(name, entry["title"], tuple(entry["rules"]), tuple(entry["verdict"]))
        for name, entry in table.items()
    }


@cache
def originals(folder: str = "kernels") -> tuple[Labelled, ...]:
    """Return the correct submissions as they are written, by name."""
    return tuple(_original(path, folder) for path in sorted(_texts(folder), key=_stem))


def _texts(folder: str) -> Iterator[Path]:
    """Yield the files of correct submissions: for Triton our own plain kernels, and those beside them here."""
    yield from (FOLDER / folder).glob("*.py")
    if folder == "triton":
        yield from KERNELS.glob("*.py.txt")


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


@cache
def variants(folder: str = "kernels") -> tuple[Labelled, ...]:
    """Return the originals changed for other tasks: correct as well."""
    return tuple(
        _variant(original, entry["task"], entry["edits"])
        for original in originals(folder)
        for entry in _table(original)["variant"]
    )


@cache
def mutants(folder: str = "kernels") -> tuple[Labelled, ...]:
    """Return the submissions with one seeded defect each, in a fixed order."""
    return tuple(
        labelled
        for turn, original in enumerate(originals(folder))
        for labelled in _mutants(original, turn)
    )


def _original(path: Path, folder: str) -> Labelled:
    first, _, rest = path.read_text("utf-8").partition("\n")
    # The header line is blanked: the task's name must not help a rule, and lines keep their numbers.
    return Labelled(
        _stem(path), _stem(path), first.removeprefix("# task: ").strip(), "\n" + rest, folder
    )


def _variant(original: Labelled, task: str, edits: list[tuple[str, str]]) -> Labelled:
    name, code = f"{original.kernel}.{task}", original.code
    for old, new in edits:
        code = _replace(code, old, new, name)
    return replace(original, name=name, task=task, code=code)


def _mutants(original: Labelled, turn: int) -> Iterator[Labelled]:
    from . import everywhere

    counts: dict[str, int] = {}
    made = everywhere.edits(original.code, turn) if original.folder == "kernels" else ()
    for edit in (*_seeds(original), *made):
        counts[edit.kind] = number = counts.get(edit.kind, 0) + 1
        suffix = f"-{number}" if number > 1 else ""
        yield apply(original, edit, f"{original.kernel}--{edit.kind}{suffix}")


def _seeds(original: Labelled) -> Iterator[Edit]:
    for entry in _table(original)["seed"]:
        lists = {name: tuple(entry[name]) for name in ("near", "rules", "verdict") if name in entry}
        yield Edit(entry["kind"], entry["old"], entry["new"], **lists)


def _table(original: Labelled) -> dict[str, Any]:
    """Return a submission's seeds and variants; the variants of our own kernels are beside these."""
    found: dict[str, Any] = {"seed": [], "variant": []}
    for folder in (FOLDER / original.folder, KERNELS):
        path = folder / f"{original.kernel}.toml"
        for key, entries in (
            tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
        ).items():
            found[key] += entries
    return found


def apply(original: Labelled, edit: Edit, name: str) -> Labelled:
    """Return the original with the seed in it; raises ValueError where the anchor is not unique."""
    kind = kinds(original.folder)[edit.kind]
    code = _replace(original.code, edit.old, edit.new, name)
    return replace(
        original,
        name=name,
        code=code,
        kind=edit.kind,
        rules=_with_dependences(edit.rules or kind.rules),
        lines=frozenset(_lines(original.code, code, edit.near, name)),
        verdict=edit.verdict or kind.verdict,
    )


def _with_dependences(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rules that may name a seed: where wrong values may be, what explains them may as well."""
    return tuple(dict.fromkeys((*rules, *(DEPENDENCES if WRONG_VALUES in rules else ()))))


def _replace(code: str, old: str, new: str, name: str) -> str:
    if code.count(old) != 1:
        msg = f"{name}: the anchor occurs {code.count(old)} times: {old!r}"
        raise ValueError(msg)
    return code.replace(old, new)


def _lines(before: str, after: str, near: tuple[str, ...], name: str) -> Iterator[int]:
    """Yield the changed lines (the two beside a gap), and those that hold a text of `near`."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag == "delete":
            yield from (start, start + 1)
        elif tag != "equal":
            yield from range(start + 1, end + 1)
    for text in near:
        found = [number for number, line in enumerate(new, 1) if text in line]
        if not found:
            msg = f"{name}: no line holds {text!r}"
            raise ValueError(msg)
        yield from found
