"""Finds a program in text that has no fences around it."""

from __future__ import annotations

import re

from grader.ingest.numbered import Lines, common_indent, joined, trimmed, without_indent
from grader.source import PythonError, read_python

MAX_TRIES = 24
"""Attempts to read a region as Python before its end is taken as it is."""

_START = re.compile(r"(?:import\s+[\w.]+|from\s+[\w.]+\s+import\b)")
_CODE_LINE = re.compile(
    r"[ \t]|[)\]}'\"#@]|(?:class|def|if|for|with|return|import|from)\b|[\w.]+\s*[=(]"
)


def defines(text: str, name: str) -> bool:
    """Whether a text has a line that begins the definition of a class."""
    return class_line(name).search(text) is not None


def class_line(name: str) -> re.Pattern[str]:
    """Return the pattern of a line that begins the definition of a class."""
    return re.compile(rf"^[ \t>]*class[ \t]+{name}\b[ \t]*[(:]", re.MULTILINE)


def python_error(lines: Lines) -> PythonError | None:
    """Return why some lines are no Python; None if they are."""
    tree, error = read_python(joined(lines))
    return None if tree is not None else error


def find_program(lines: Lines, name: str) -> tuple[Lines, bool]:
    """Return the program that defines a class, and whether it reads as Python.

    It begins at an import or, where none stands before the class, at the class; it ends where the
    text stops being Python.
    """
    pattern = class_line(name)
    last = max((i for i, line in enumerate(lines) if pattern.match(line.text)), default=-1)
    if last < 0:
        return (), False
    starts = _starts(lines[: last + 1])
    best: Lines = ()
    for start in starts[:8] or [last]:
        region = lines[start:]
        region = without_indent(region, common_indent(region[: last + 1 - start]))
        program = longest_program(region, last + 1 - start)
        if program is not None:
            return program, True
        best = best or region
    return code_like(best, last + 1 - (starts or [last])[0]), False


def longest_program(lines: Lines, least: int) -> Lines | None:
    """Return the longest beginning that reads as Python and has at least that many lines."""
    end = len(lines)
    for _ in range(MAX_TRIES):
        region = trimmed(lines[:end])
        if len(region) < least:
            return None
        error = python_error(region)
        if error is None:
            return region
        end = min(error.line - 1, len(region) - 1)
    return None


def code_like(lines: Lines, least: int) -> Lines:
    """Return the lines up to the first, after `least`, that looks like prose."""
    for index in range(least, len(lines)):
        text = lines[index].text
        if text.strip() and not _CODE_LINE.match(text):
            return trimmed(lines[:index])
    return trimmed(lines)


def _starts(lines: Lines) -> list[int]:
    """Return where imports begin, but only the first of a run of lines that are code."""
    return [i for i, line in enumerate(lines) if _START.match(line.text.strip())]
