"""Source lines with their syntax marked; code inside Python strings is read in its own language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import Markup, escape
from pygments.lexers import get_lexer_by_name
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String

from grader.languages import embedded_texts
from grader.report.escape import clean

MAX_LINE = 1000
MAX_MARKED = 80_000
"""Longer code is shown without marks, so that a page stays small and quick to make."""
_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment.PreprocFile, "s"),
    (Comment.Preproc, "p"),
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "p"),
    (Name.Builtin, "k"),
)
_QUOTES = re.compile(r"\A([rRbBuUfF]*(?:\"\"\"|'''|\"|'))(.*?)(\"\"\"|'''|\"|')?\Z", re.DOTALL)

Token = tuple[Any, str]


def lines(code: str) -> list[Markup]:
    """Return the code's lines as markup, one for each line of `code.splitlines()` by newline."""
    shown = [clean(line, MAX_LINE) for line in code.split("\n")]
    if sum(map(len, shown)) > MAX_MARKED:
        return [escape(line) for line in shown]
    made = [Markup("").join(line) for line in _by_line(_tokens("\n".join(shown)))]
    return made if len(made) == len(shown) else [escape(line) for line in shown]


def _tokens(code: str) -> Iterator[Token]:
    for kind, text in _join_strings(PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)):
        lexer = _lexer(text) if kind is String else None
        if lexer and (parts := _QUOTES.match(text)):
            yield String, parts[1]
            inner = get_lexer_by_name(lexer, stripnl=False, ensurenl=False)
            yield from inner.get_tokens(parts[2])
            yield String, parts[3] or ""
        else:
            yield kind, text


def _lexer(text: str) -> str | None:
    """Return the alias of the lexer for a string that holds code of some language."""
    found = (one.lexer(text) for one in embedded_texts())
    return next((alias for alias in found if alias is not None), None)


def _join_strings(tokens: Iterable[Token]) -> Iterator[Token]:
    """Join the tokens into which a lexer splits one string."""
    held: list[str] = []
    for kind, text in tokens:
        if kind in String:
            held.append(text)
            continue
        if held:
            yield String, "".join(held)
            held = []
        yield kind, text
    if held:
        yield String, "".join(held)


def _by_line(tokens: Iterable[Token]) -> Iterator[list[Markup]]:
    line: list[Markup] = []
    for kind, text in tokens:
        name = next((name for marked, name in _CLASSES if kind in marked), "")
        first, *rest = text.split("\n")
        line.append(_mark(name, first))
        for part in rest:
            yield line
            line = [_mark(name, part)]
    yield line


def _mark(name: str, text: str) -> Markup:
    if not name or not text.strip():
        return escape(text)
    return Markup("<i class={}>{}</i>").format(Markup(name), text)  # noqa: S704 - from our table
