"""Making a sample's words safe to show: in markdown, in its HTML, in a terminal."""

from __future__ import annotations

import re
import unicodedata

MAX_SHOWN = 4000
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_MARKDOWN = re.compile(r"([\\`*{}\[\]()#+!|~>$@^=]|^[-.]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_FEW = re.compile(r"([\\*\[\]|~$@#!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_BLOCK = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))|^(?=>|[-+](?:\s|$)|--)")
"""What would begin a list, a quotation or a rule."""
_SCHEMES = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data):")


def clean(text: str, limit: int = MAX_SHOWN) -> str:
    """Return the text without terminal escapes, control and bidi characters, cut in the middle."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if not text.replace("\n", "").replace("\t", "").isprintable():
        text = "".join(character if _harmless(character) else "\ufffd" for character in text)
    half = limit // 2
    cut = f"{text[:half]} [... {len(text) - 2 * half} characters left out ...] {text[-half:]}"
    return cut if len(text) > max(limit, len(cut)) else text


def _harmless(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Zl",
        "Zp",
    }


def one_line(text: str, limit: int = 300) -> str:
    """Return the cleaned text on one line."""
    return clean(" ".join(clean(text, limit * 4).split()), limit)


def inline(text: str, limit: int = 600) -> str:
    """Return text that markdown renders as itself: no markup, no HTML, no links."""
    text = one_line(text, limit).replace("&", "&amp;").replace("<", "&lt;")
    return _SCHEMES.sub(r"\1&#58;", _no_block(_MARKDOWN.sub(r"\\\1", text)))


def prose(text: str, limit: int = 900) -> str:
    """Return a sentence of ours with code spans kept; all other markup is escaped."""
    parts = one_line(text, limit).split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: none of them is surely ours
        return _no_block(_escape_few("'".join(parts)))
    spans = (code(part) if index % 2 else _escape_few(part) for index, part in enumerate(parts))
    return _no_block("".join(spans).strip() or _escape_few("'".join(parts)))


def end_sentence(text: str) -> str:
    """Return the sentence with a full stop, for a place where others follow."""
    return text if not text or text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."


def _escape_few(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = _FEW.sub(r"\\\1", text)
    return _SCHEMES.sub(r"\1&#58;", text)


def _no_block(text: str) -> str:
    return _BLOCK.sub(r"\1\\", text)


def code(text: str, limit: int = 200) -> str:
    """Return an inline code span, also for text with backticks and bars in it."""
    text = one_line(text, limit).replace("|", "\u2223")
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str, language: str = "text", limit: int = 20000) -> str:
    """Return a fenced block whose fence is longer than any run of backticks in the text."""
    text = clean(text, limit)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"
