"""What Python's string methods make of a text, with every character's origin kept."""

import re
import textwrap
from collections.abc import Callable

from grader.source.text import Text, join

MAX_REPLACED = 1000
"""Replacements in one text; beyond that it is left as it is and counts as not known."""

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def strip_text(text: Text, method: str, characters: str | None) -> Text:
    """Apply `strip`, `lstrip` or `rstrip`."""
    value = text.value
    start = len(value) - len(value.lstrip(characters)) if method != "rstrip" else 0
    end = len(value.rstrip(characters)) if method != "lstrip" else len(value)
    return text.cut(start, max(start, end))


def replace_text(text: Text, old: str, new: Text) -> Text:
    """Apply `replace`."""
    if not old or text.value.count(old) > MAX_REPLACED:
        return text.unresolved()
    parts: list[Text] = []
    at = 0
    for found in re.finditer(re.escape(old), text.value):
        parts += (text.cut(at, found.start()), new)
        at = found.end()
    return join([*parts, text.cut(at, len(text.value))])


def format_text(text: Text, field: Callable[[str, int], Text]) -> Text:
    """Apply `format`; `field` gives the text of a field from its name or number and its offset."""
    parts: list[Text] = []
    at = counter = 0
    for found in _FIELD.finditer(text.value):
        parts.append(text.cut(at, found.start()))
        at = found.end()
        if found[1] is None:  # a doubled brace stands for one
            parts.append(text.cut(found.start(), found.start() + 1))
            continue
        name = found[1].split(":")[0].split("!")[0]
        parts.append(field(name or str(counter), found.start()))
        counter += not name
    return join([*parts, text.cut(at, len(text.value))])


def join_text(separator: Text, items: list[Text]) -> Text:
    """Apply `join`."""
    parts: list[Text] = []
    for item in items:
        parts += (separator, item)
    return join(parts[1:])


def dedent_text(text: Text) -> Text:
    """Apply `textwrap.dedent`, which shortens each line from the left (blank lines wholly)."""
    new = textwrap.dedent(text.value).split("\n")
    old = text.value.split("\n")
    parts: list[Text] = []
    at = 0
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        end = at + len(before)
        newline = 1 if index < len(old) - 1 else 0
        parts.append(text.cut(end - len(after), end + newline))
        at = end + newline
    return join(parts)
