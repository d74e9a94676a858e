"""Reads Python string literals with the position of every character, f-strings included.

The `ast` module has no positions inside values (and wrong ones in f-strings before Python 3.12), so literals are
scanned again here.
"""

import ast
import re
import unicodedata
from collections.abc import Callable

from grader.source.text import Literal, Piece, Text, computed_text, join

Hole = Callable[[str, int, int], Text]
"""Returns the text of an f-string hole from its expression and the place of its braces."""

MAX_MARKS = 20_000
"""Most escapes or holes in one literal, more than in any real program."""

_START = re.compile(r"([rRbBuUfFtT]{0,2})(\"\"\"|'''|\"|')")
_BETWEEN = re.compile(r"(?:[ \t\f\n]|\\\n|#[^\n]*)*")
_ESCAPE = re.compile(
    r"\\(?:[\nabfnrtv\\'\"]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}\n]+\})"
)
_SIMPLE = {"\n": "", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NESTED = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*'|[{}()\[\]]", re.DOTALL)


def read_literals(code: str, start: int, end: int, hole: Hole) -> Text | None:
    """Return the text of the adjacent string literals in `code[start:end]`.

    None where something else than string literals stands there, a bytes literal, or one with more
    than `MAX_MARKS` escapes.
    """
    if code.count("\\", start, end) > MAX_MARKS:
        return None
    parts: list[Text] = []
    at = _skip(code, start)
    while at < end:
        found = _START.match(code, at)
        if found is None or "b" in found[1].lower():
            return None
        part, at = _read_one(code, found, hole)
        parts.append(part)
        at = _skip(code, at)
    return join(parts)


def scan_literals(code: str) -> list[Text]:
    """Return the texts of all string literals of a program, parsable or not, in order.

    Used where Python's own parser fails; an unclosed literal ends with the program.
    """
    token = re.compile(r"#[^\n]*|[rRbBuUfFtT]{0,2}(?:\"\"\"|'''|\"|')")
    texts: list[Text] = []
    at = 0
    while (found := token.search(code, at)) is not None:
        start = _START.match(code, found.start())
        if start is None:
            at = found.end()
            continue
        text, at = _read_one(code, start, _unknown_hole)
        texts.append(text)
    return texts


def plain_hole(expression: str) -> ast.expr | None:
    """Return the contents of an f-string's hole, if they are a dotted name or a number.

    Its line is after all others, so that every binding of the name comes before.
    """
    name = expression.strip()
    if not name.replace(".", "").isidentifier() and not name.isdecimal():
        return None
    try:
        tree = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    for child in ast.walk(tree):
        child.__dict__.update(lineno=1 << 30, end_lineno=1 << 30)
    return tree


def unknown_name(number: int) -> str:
    """Return the placeholder identifier for an unknown value."""
    return f"unknown_{number}"


def _unknown_hole(expression: str, start: int, end: int) -> Text:
    del expression
    return computed_text(unknown_name(start), start, end, resolved=False)


def _skip(code: str, at: int) -> int:
    found = _BETWEEN.match(code, at)
    return found.end() if found else at


def _read_one(code: str, opening: re.Match[str], hole: Hole) -> tuple[Text, int]:
    """Read one literal; return its text and the offset after its closing quote."""
    prefix, quote = opening[1].lower(), opening[2]
    literal = Literal(quote, "r" in prefix, "f" in prefix or "t" in prefix)
    stops = _stops(quote, formatted=literal.formatted)
    parts: list[Text] = []
    at = run = opening.end()
    for _ in range(MAX_MARKS):
        found = stops.search(code, at)
        if found is None or found[0] == quote or found[0] == "\n":
            last = found.start() if found else len(code)
            parts.append(_decode(code, run, last, literal))
            return join(parts), found.end() if found else len(code)
        if found[0][0] == "\\":
            at = found.end()
            continue
        parts.append(_decode(code, run, found.start(), literal))
        part, at = _read_brace(code, found, literal, hole)
        parts.append(part)
        run = at
    return join(parts).mark_unresolved(), len(code)


def _stops(quote: str, *, formatted: bool) -> re.Pattern[str]:
    escaped = r"\\[^{}]" if formatted else r"\\."
    pattern = rf"\\N\{{[^}}\n]*\}}|{escaped}|{quote}"
    if len(quote) == 1:
        pattern += r"|\n"  # an unterminated literal ends with its line
    if formatted:
        pattern += r"|\{\{|\}\}|\{|\}"
    return re.compile(pattern, re.DOTALL)


def _read_brace(code: str, found: re.Match[str], literal: Literal, hole: Hole) -> tuple[Text, int]:
    start, end = found.span()
    if found[0] != "{":
        return Text(found[0][0], (Piece(1, start, end, literal),)), end
    close = _closing_brace(code, end)
    return hole(code[end : close - 1], start, close), close


def _closing_brace(code: str, at: int) -> int:
    """Return the offset after the brace that closes the hole whose content starts at `at`."""
    depth = 1
    for found in _NESTED.finditer(code, at):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        if depth == 0:
            return found.end()
    return len(code)


def _decode(code: str, start: int, end: int, literal: Literal) -> Text:
    """Return the text of `code[start:end]`, which holds no quote and no brace that counts."""
    if literal.raw or code.find("\\", start, end) < 0:
        value = code[start:end]
        return Text(value, (Piece(len(value), start, end, literal),) if value else ())
    values: list[str] = []
    pieces: list[Piece] = []
    at = start
    for found in _ESCAPE.finditer(code, start, end):
        if found.start() > at:
            values.append(code[at : found.start()])
            pieces.append(Piece(found.start() - at, at, found.start(), literal))
        value = _unescape(found[0][1:])
        values.append(value)
        pieces.append(Piece(len(value), found.start(), found.end(), literal))
        at = found.end()
    if end > at:
        values.append(code[at:end])
        pieces.append(Piece(end - at, at, end, literal))
    return Text("".join(values), tuple(pieces))


def _unescape(body: str) -> str:
    if body in _SIMPLE:
        return _SIMPLE[body]
    if body[0] in "01234567":
        return chr(int(body, 8))
    if len(body) == 1:
        return body
    if body[0] == "N":
        try:
            return unicodedata.lookup(body[2:-1])
        except (KeyError, ValueError):  # unknown, or a lone surrogate
            return "?"
    number = int(body[1:], 16)
    return chr(number) if number <= 0x10FFFF else "?"
