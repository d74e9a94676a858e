"""Methods of a string that are followed: `strip`, `replace`, `format` and `join`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.source.literals import unknown_name
from grader.source.scopes import Scope
from grader.source.string_methods import format_text, join_text, replace_text, strip_text
from grader.source.text import Text, computed_text
from grader.source.values import UNKNOWN, Unknown, Value

if TYPE_CHECKING:
    from grader.source.evaluate import Evaluator


def _strip(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else "strip"
    characters = evaluator.value(call.args[0], scope) if call.args else None
    if isinstance(characters, Unknown):
        return owner.unresolved()
    return strip_text(owner, name, characters.value if isinstance(characters, Text) else None)


def _replace(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    if len(call.args) != 2 or call.keywords:
        return owner.unresolved()
    old, new = (evaluator.value(argument, scope) for argument in call.args)
    if not isinstance(old, Text) or not isinstance(new, Text):
        return owner.unresolved()
    return evaluator.counted(replace_text(owner, old.value, new))


def _format(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    numbered = {str(index): argument for index, argument in enumerate(call.args)}
    start, end = evaluator.positions.span(call)

    def field(name: str, offset: int) -> Text:
        argument = named.get(name) or numbered.get(name)
        if argument is None:
            return computed_text(unknown_name(offset), start, end, resolved=False)
        return evaluator.text(argument, scope)

    return evaluator.counted(format_text(owner, field))


def _join(evaluator: Evaluator, owner: Text, call: ast.Call, scope: Scope) -> Value:
    items = evaluator.value(call.args[0], scope) if len(call.args) == 1 else UNKNOWN
    if not isinstance(items, tuple):
        return UNKNOWN
    return evaluator.counted(join_text(owner, [evaluator.as_text(item, call) for item in items]))


METHODS: Mapping[str, Callable[[Evaluator, Text, ast.Call, Scope], Value]] = {
    "strip": _strip,
    "lstrip": _strip,
    "rstrip": _strip,
    "replace": _replace,
    "format": _format,
    "join": _join,
}
"""What each makes of a text: given the evaluator, the text, the call and the scope it stands in."""
