"""Messages of compilers and loaders, in the formats of nvcc, clang, gcc, ptxas, ld and Python.

A log line has no grammar, so it is matched by patterns. `explain` rephrases it for a person who does not read C++
diagnostics.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.records import Context, Evidence, ToolMessage

BUILD = ("compiler", "ptxas", "link", "python")


@dataclass(frozen=True)
class Explained:
    """One compiler message: its kind, its names, and its explanation."""

    kind: str
    names: tuple[str, ...]
    sentence: str


def explain(text: str) -> Explained | None:
    """Return a message's meaning, or None for an unknown wording."""
    for message in messages():
        for pattern in message.patterns:
            found = pattern.search(text)
            if found:
                names = tuple(name or "" for name in found.groups())
                return Explained(message.kind, names, _fill(message.sentence, names))
    return None


def _fill(sentence: str, names: tuple[str, ...]) -> str:
    words = [f"`{name.strip()}`" if name.strip() else "it" for name in names]
    return sentence.format(*words, *["it"] * 3)


def diagnostic_text(item: Evidence) -> str:
    """Return a diagnostic in the tool's own words, without the tool's name."""
    return item.said


def failures(context: Context, *kinds: str) -> tuple[Evidence, ...]:
    """Return the evidence of these kinds that stopped a build; warnings and later calls did not."""
    return tuple(
        item
        for item in context.evidence_of(*kinds)
        if not (isinstance(item.details, ToolMessage) and item.details.warning)
        and "warning" not in item.code
        and item.code != "raised"
    )


def errors(context: Context) -> Iterator[tuple[Evidence, Explained | None]]:
    """Yield the build's errors in order, each with its meaning."""
    for item in failures(context, *BUILD):
        yield item, explain(diagnostic_text(item))


def confirming_errors(
    context: Context,
    kinds: Iterable[str],
    names: Iterable[str] = (),
    lines: Iterable[int] = (),
    *,
    run: bool = False,
) -> tuple[Evidence, ...]:
    """Return the build's errors of some kinds that mention one of these names or lines.

    A name matches as a whole word of what the message names. Without names and lines every error
    of the kinds is meant. With `run`, what Python raised while the program ran counts as well.
    """
    wanted, places, accepted = tuple(names), set(lines), set(kinds)
    found = list(errors(context))
    if run:
        raised = (item for item in context.evidence_of("python") if item.code == "raised")
        found += [(item, explain(diagnostic_text(item))) for item in raised]
    return tuple(
        item
        for item, meaning in found
        if meaning is not None
        and meaning.kind in accepted
        and (
            (not wanted and not places)
            or any(_speaks_of(diagnostic_text(item), name) for name in wanted)
            or (item.place is not None and item.place.line in places)
        )
    )


def errors_by_line(context: Context, kinds: Iterable[str]) -> Mapping[int, tuple[Evidence, ...]]:
    """Return the build's errors of some kinds by the lines that they are at."""
    found: dict[int, tuple[Evidence, ...]] = {}
    for item in confirming_errors(context, kinds):
        if item.place is not None:
            found[item.place.line] = (*found.get(item.place.line, ()), item)
    return found


def _speaks_of(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text) is not None


MARKS = "\"\u2018\u2019\u201c\u201d`'"
"""Quotation marks of compilers around names; gcc uses typographic ones."""
STANDS_FOR = {
    "<name>": f"[{MARKS}]([^{MARKS}]+)[{MARKS}]",
    "<quote>": f"[{MARKS}]",
    "<marks>": MARKS,
}


@dataclass(frozen=True)
class Message:
    """A kind of message: its wordings, and the sentence with `{0}`, `{1}` for the names."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    sentence: str


@cache
def messages() -> tuple[Message, ...]:
    """Return all kinds of messages, in the order in which they are tried."""
    table = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
    return tuple(
        Message(one["kind"], tuple(map(_pattern, one["wordings"])), one["says"])
        for one in table["message"]
    )


def _pattern(wording: str) -> re.Pattern[str]:
    for short, long in STANDS_FOR.items():
        wording = wording.replace(short, long)
    return re.compile(wording)
