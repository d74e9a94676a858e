"""Fixes of tensors that are asked the way Python asks: methods without parentheses, `shape`, `torch.`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source.code_edits import fix
from grader.source.cuda_code import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Evidence, Fix
    from grader.source import Source

_BOUND = re.compile(
    r"pointer to a bound function|reference to non-static member function must be called"
    r"|invalid use of (?:non-static )?member function"
)
_METHODS = (
    "numel|dim|ndimension|device|dtype|options|sizes|strides|scalar_type|contiguous|is_cuda|is_contiguous|defined"
    "|element_size|item<\\w+>|data_ptr<[\\w:]+>|data<[\\w:]+>"
)
_BARE = re.compile(rf"\.({_METHODS})(?![\w<(]|\s*\()")
_SPELLED = (
    (re.compile(r"\.shape\s*\[([^\]]+)\]"), r".size(\1)"),
    (re.compile(r"\.(?:shape|sizes)\s*\(\s*(-?\w+)\s*\)"), r".size(\1)"),
    (re.compile(r"\.size\s*\(\s*\)\s*\[([^\]]+)\]"), r".size(\1)"),
    (re.compile(r"\.size\s*\(\s*\)"), ".numel()"),
    (re.compile(r"\.shape\b(?!\s*[\[(])"), ".sizes()"),
    (re.compile(r"\.ndim\b(?!\s*\()"), ".dim()"),
    (re.compile(r"\btorch\.(?=\w)"), "torch::"),
    (re.compile(r"\btorch::(float32|float16|bfloat16|float64|int32|int64)\b"), r"torch::k\1"),
    (re.compile(r"\btorch::(?:cuda::)?float\b"), "torch::kFloat32"),
    (re.compile(r"\bkfloat"), "kFloat"),
    (re.compile(r"\bkbfloat"), "kBFloat"),
    (re.compile(r"\bkint"), "kInt"),
)
"""What Python and half-remembered C++ call things, and what libtorch calls them; in this order."""
_UNKNOWN = re.compile(
    r"has no member|no member named|is not a member|namespace name is not allowed|unexpected namespace name"
    r"|too few arguments|no matching member function|no instance of|undeclared identifier 'torch'"
    r"|expected (?:primary-expression|unqualified-id) before '\.'|call of an object of a class type|expected expression"
)


def called(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Call the methods that are only named on a line."""
    if item.place is None or not _BOUND.search(item.said):
        return ()
    return fix("call the method", list(_replaced(source, item.place.line, ((_BARE, r".\1()"),))))


def sized(source: Source, item: Evidence) -> tuple[Fix, ...]:
    """Ask for sizes, numbers of dims and types by their names in C++, wherever the texts do not."""
    if item.place is None or not _UNKNOWN.search(item.said):
        return ()
    if not list(_replaced(source, item.place.line, _SPELLED)):
        return ()
    lines = sorted({line for first, last in _spans(source) for line in range(first, last + 1)})
    edits = [edit for line in lines for edit in _replaced(source, line, _SPELLED)]
    return fix("use the names that C++ has for it", edits)


def _spans(source: Source) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each C++ or CUDA text."""
    for unit in units(source):
        yield unit.place_line(1).line, unit.place_line(len(unit.lines)).line


def _replaced(
    source: Source, line: int, patterns: tuple[tuple[re.Pattern[str], str], ...]
) -> Iterator[Edit]:
    """Yield the edit of a line that these patterns change, comments left alone."""
    whole = source.lines[line - 1]
    code = whole.split("//")[0]
    new = code
    for pattern, words in patterns:
        new = pattern.sub(words, new)
    if new != code:
        start = source.positions.offset(line, 0)
        yield Edit(start=start, end=start + len(code), text=new)
