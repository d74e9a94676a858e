"""Fixes of lines that a compiler refuses: a parenthesis, a dot too many, a device's name in quotes, exchanges between lanes without a mask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import fix

if TYPE_CHECKING:
    from grader.records import Evidence, Fix
    from grader.source import Source

_BEGIN = (re.compile(r"(?<![=!<>])=(?!=)\s*"), re.compile(r"\breturn\s+|\b(?:if|while)\s+"))
"""Where an expression begins: after `=`, else after `return`, `if`, `while`."""
_DOT = re.compile(r"(?<=[A-Za-z_)\]])\.(?=\s*[-+*/%|&^]?=|\s*[;,)])")
_DEVICE = re.compile(r"const char ?\[\d+\].*c10::Device", re.DOTALL)
_UNMASKED = re.compile(r"\b(__(?:shfl(?:_up|_down|_xor)?|any|all|ballot))\s*\(")
"""What CUDA had before it asked for the lanes that take part; it went with Volta."""
_NAMES = {'"cuda"': "torch::kCUDA", '"cpu"': "torch::kCPU", "'cuda'": "torch::kCUDA"}


def line_fixes(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Return the fixes of the line that an error is about."""
    if item.place is None or not 1 <= item.place.line <= len(source.lines):
        return ()
    line = item.place.line
    return (
        *_balanced(source, line, item.said),
        *_without_dot(source, line, item.said),
        *_device(source, line, item.said),
        *_with_mask(source, item.said),
    )


def _balanced(source: Source, line: int, said: str) -> tuple[Fix, ...]:
    """Put in the one parenthesis that a line lacks: at the beginning of its expression, or at its end."""
    words = source.lines[line - 1]
    code = re.split(r"//|/\*", words)[0].rstrip()
    more = code.count("(") - code.count(")")
    if "expected" not in said or abs(more) != 1 or '"' in code or not code.endswith((";", "{")):
        return ()
    if more > 0:
        end = len(code.rstrip(";{").rstrip())
        return _inserted(source, line, end, ")")
    begin = next((found for pattern in _BEGIN if (found := pattern.search(code))), None)
    return _inserted(source, line, begin.end(), "(") if begin else ()


def _without_dot(source: Source, line: int, said: str) -> tuple[Fix, ...]:
    """Take out a dot that names no member: `y. += x`."""
    found = _DOT.search(source.lines[line - 1].split("//")[0]) if "expected" in said else None
    if found is None:
        return ()
    at = source.positions.offset(line, 0)
    label = f"line {line}: take out the dot that names no member"
    return fix(label, [Edit(start=at + found.start(), end=at + found.end(), text="")])


def _inserted(source: Source, line: int, column: int, what: str) -> tuple[Fix, ...]:
    at = source.positions.offset(line, 0) + column
    label = f"line {line}: put in the `{what}` that is missing"
    return fix(label, [Edit(start=at, end=at, text=what)])


def _device(source: Source, line: int, said: str) -> tuple[Fix, ...]:
    """Name a device by what C++ calls it: text becomes none by itself."""
    if not _DEVICE.search(said):
        return ()
    for quoted, name in _NAMES.items():
        column = source.lines[line - 1].find(quoted)
        if column >= 0:
            at = source.positions.offset(line, 0) + column
            return fix(f"say {name}", [Edit(start=at, end=at + len(quoted), text=name)])
    return ()


def _with_mask(source: Source, said: str) -> tuple[Fix, ...]:
    """Name the lanes in every exchange of a warp, once a compiler knows one of the old ones no more."""
    if not re.search(r"\b__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)\b", said):
        return ()
    edits = [
        Edit(start=found.start(), end=found.end(), text=f"{found[1]}_sync(0xffffffff, ")
        for found in _UNMASKED.finditer(source.code)
    ]
    return fix("name the lanes that take part: all of the warp", edits)
