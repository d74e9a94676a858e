"""Finds a program in text that has no fences around it."""

from __future__ import annotations

import re

from grader.ingest.numbered import (
    Lines,
    common_indent,
    join_lines,
    trim_blank_lines,
    without_indent,
)
from grader.source import PythonError, read_python

MAX_TRIES = 24
"""Attempts to parse a region as Python before its end is left as it is."""

_START = re.compile(r"(?:import\s+[\w.]+|from\s+[\w.]+\s+import\b)")
_CODE_LINE = re.compile(
    r"""[\x20\t]|[)\]}'"\#@]
    |(?:class|def|if|elif|else|for|while|with|try|except|finally|async)\b.*:\s*(?:\#.*)?$
    |import\s+[\w.]+|from\s+[\w.]+\s+import\b
    |[\w.\[\]"']+\s*(?:[-+*/]?=|:\s*\w+\s*=|\()""",
    re.VERBOSE,
)
"""A line that can be part of a program; any other line at the left margin is prose."""


def defines(text: str, name: str) -> bool:
    """Whether a text has a line that begins the definition of a class."""
    return class_line(name).search(text) is not None


def class_line(name: str) -> re.Pattern[str]:
    """Return the pattern of a line that begins the definition of a class."""
    return re.compile(rf"^[ \t>]*class[ \t]+{name}\b[ \t]*[(:]", re.MULTILINE)


def python_error(lines: Lines) -> PythonError | None:
    """Return why the lines are not valid Python; None if they are."""
    tree, error = read_python(join_lines(lines))
    return None if tree is not None else error


def find_program(lines: Lines, name: str) -> tuple[Lines, bool]:
    """Return the program that defines a class, and whether it parses.

    It begins at an import or, where none stands before the class, at the class; it ends where the text is no longer
    Python.
    """
    pattern = class_line(name)
    last = max((i for i, line in enumerate(lines) if pattern.match(line.text)), default=-1)
    if last < 0:
        return (), False
    starts = import_lines(lines[: last + 1])
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
    """Return the beginning that parses as Python if the rest is prose.

    It has at least `least` lines. None where the first line that doesn't parse looks like code: a truncated or wrong
    program stays unchanged.
    """
    end = len(lines)
    for _ in range(MAX_TRIES):
        region = trim_blank_lines(lines[:end])
        error = python_error(region)
        if error is None:
            return _without_loose_words(region, least)
        end = min(error.line - 1, len(region) - 1)
        if end < least or _CODE_LINE.match(region[end].text):
            return None
    return None


def _without_loose_words(lines: Lines, least: int) -> Lines:
    """Drop headings at the end that read as Python by chance, like a single word."""
    end = len(lines)
    while end > least and (not lines[end - 1].text or not _CODE_LINE.match(lines[end - 1].text)):
        end -= 1
    return trim_blank_lines(lines[:end])


def code_like(lines: Lines, least: int) -> Lines:
    """Return the lines up to the first, after `least`, that looks like prose."""
    for index in range(least, len(lines)):
        text = lines[index].text
        if text.strip() and not _CODE_LINE.match(text):
            return trim_blank_lines(lines[:index])
    return trim_blank_lines(lines)


def import_lines(lines: Lines) -> list[int]:
    """Return the indices of the lines that import something."""
    return [i for i, line in enumerate(lines) if _START.match(line.text.strip())]
