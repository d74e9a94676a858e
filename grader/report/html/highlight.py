"""Source lines with their syntax marked; CUDA inside Python strings is read as CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import Markup, escape
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String

from grader.report.escape import clean

MAX_LINE = 1000
MAX_MARKED = 80_000
"""Longer code is shown without marks, so that a page stays small and is made in no time."""
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
_DEVICE_CODE = re.compile(r"#include|__global__|__device__|torch::|PYBIND11_MODULE")
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
    for kind, text in _joined(PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)):
        if kind is String and _DEVICE_CODE.search(text) and (parts := _QUOTES.match(text)):
            lexer = CudaLexer if "__global__" in text or "__device__" in text else CppLexer
            yield String, parts[1]
            yield from lexer(stripnl=False, ensurenl=False).get_tokens(parts[2])
            yield String, parts[3] or ""
        else:
            yield kind, text


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    """Join the pieces in which a lexer gives one string."""
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
