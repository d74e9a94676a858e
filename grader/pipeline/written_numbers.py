"""The hard-coded numbers in an answer, some of which are sizes of its task."""

from __future__ import annotations

import ast
import re

from grader.languages import read
from grader.records import Submission
from grader.source import parse

_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?![\w.])")
TILE = 32
"""The smallest number that counts as a tile's width: a warp."""
_LIMIT = re.compile(r"(?<![<>])[<>]=?\s*(\d{2,9})(?![\w.])|(?<![\w.])(\d{2,9})\s*[<>]=?(?![<>])")


def written_numbers(submission: Submission) -> frozenset[int]:
    """Return the whole numbers in an answer's kernels and in the code beside them."""
    texts = (one.plain for reading in read(parse(submission.code)) for one in reading.texts)
    return frozenset(int(number) for text in texts for number in _NUMBER.findall(text))


def tiles(submission: Submission) -> frozenset[int]:
    """Return the whole numbers that may be widths of its tiles, including those that Python passes to a kernel."""
    python = {
        node.value
        for node in parse(submission.code).walk(ast.Constant)
        if isinstance(node.value, int)
    }
    found = written_numbers(submission) | python
    return frozenset(n for n in found if n >= TILE)


def limits(submission: Submission) -> frozenset[int]:
    """Return the whole numbers in comparisons of host code and Python, which may choose the launch."""
    source = parse(submission.code)
    host = (text for reading in read(source) for text in reading.host_functions)
    python = (ast.unparse(node) for node in source.walk(ast.Compare))  # where `//` divides
    found = (match for text in (*host, *python) for match in _LIMIT.finditer(text))
    return frozenset(int(match[1] or match[2]) for match in found)
