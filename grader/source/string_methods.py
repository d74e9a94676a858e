"""Python's string methods on a text, keeping every character's origin: `strip`, `replace`, `format`, `join`, `dedent`."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.source.literals import unknown_name
from grader.source.scopes import Scope
from grader.source.text import UNKNOWN, Text, Unknown, Value, computed_text, join

if TYPE_CHECKING:
    from grader.source.evaluate import Evaluator

MAX_REPLACED = 1000
"""Most replacements in one text; with more it is left unchanged and counts as unknown."""

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def strip_text(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    """Apply `strip`, `lstrip` or `rstrip`."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else "strip"
    given = evaluator.value(call.args[0], scope) if call.args else None
    if isinstance(given, Unknown):
        return owner.mark_unresolved()
    value, characters = owner.value, given.value if isinstance(given, Text) else None
    start = len(value) - len(value.lstrip(characters)) if method != "rstrip" else 0
    end = len(value.rstrip(characters)) if method != "lstrip" else len(value)
    return owner.cut(start, max(start, end))


def replace_text(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    """Apply `replace`."""
    given = [evaluator.value(argument, scope) for argument in call.args]
    old, new = given if len(given) == 2 and not call.keywords else (None, None)
    if not isinstance(old, Text) or not isinstance(new, Text) or not old.value:
        return owner.mark_unresolved()
    if owner.value.count(old.value) > MAX_REPLACED:
        return owner.mark_unresolved()
    parts: list[Text] = []
    at = 0
    for found in re.finditer(re.escape(old.value), owner.value):
        parts += (owner.cut(at, found.start()), new)
        at = found.end()
    return evaluator.count_text(join([*parts, owner.cut(at, len(owner.value))]))


def format_text(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    """Apply `format`."""
    given = {str(index): argument for index, argument in enumerate(call.args)}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    parts: list[Text] = []
    at = counter = 0
    for found in _FIELD.finditer(owner.value):
        parts.append(owner.cut(at, found.start()))
        at = found.end()
        if found[1] is None:  # a doubled brace stands for one
            parts.append(owner.cut(found.start(), found.start() + 1))
            continue
        name = found[1].split(":")[0].split("!")[0]
        argument = given.get(name or str(counter))
        span, unknown = evaluator.positions.span(call), unknown_name(found.start())
        known = evaluator.text(argument, scope) if argument is not None else None
        parts.append(known or computed_text(unknown, *span, resolved=False))
        counter += not name
    return evaluator.count_text(join([*parts, owner.cut(at, len(owner.value))]))


def join_texts(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    """Apply `join`."""
    items = evaluator.value(call.args[0], scope) if len(call.args) == 1 else UNKNOWN
    if not isinstance(items, tuple):
        return UNKNOWN
    texts = (evaluator.as_text(item, call) for item in items)
    return evaluator.count_text(join([part for text in texts for part in (owner, text)][1:]))


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


METHODS: Mapping[str, Callable[[Evaluator, Text, ast.Call, Scope], Value]] = {
    **dict.fromkeys(("strip", "lstrip", "rstrip"), strip_text),
    "replace": replace_text,
    "format": format_text,
    "join": join_texts,
}
"""String methods by name, called with the evaluator, the text, the call and its scope."""
