"""The text around the code: the prompt or the plan before it, the claims after it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.ingest.fences import Segment
from grader.languages import languages
from grader.records import Prose

MOST_PROSE = 200_000
"""Characters of prose read at the beginning and the end of a longer transcript."""

_CLASS = r"^[ \t>]*class[ \t]+\w+.*:"


def prose_outside(
    text: str, segments: tuple[Segment, ...], spans: list[tuple[int, int]], code_line: int = 0
) -> tuple[Prose, ...]:
    """Return the runs of text outside the code; fence lines and other programs are left out."""
    runs: list[Prose] = []
    program = _program()
    line = 1
    at = 0
    for one in segments:
        if one.inside and program.search(text, one.start, one.end):
            continue
        for start, end in _ends(_outside(one, spans)):
            line += text.count("\n", at, start)
            at = start
            if text[start:end].strip():
                before = line < code_line or code_line == 0
                runs.append(Prose(line=line, text=text[start:end], before_code=before))
    return tuple(runs)


def _ends(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans; of one that is too long for prose only its beginning and its end."""
    for start, end in spans:
        if end - start > 2 * MOST_PROSE:
            yield start, start + MOST_PROSE
            yield end - MOST_PROSE, end
        else:
            yield start, end


def _outside(segment: Segment, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a segment outside the spans."""
    rest = [(segment.start, segment.end)]
    for low, high in spans:
        rest = [
            piece
            for start, end in rest
            for piece in ((start, min(end, low)), (max(start, high), end))
            if piece[0] < piece[1]
        ]
    return rest


def _program() -> re.Pattern[str]:
    """Return the sign that a block is a program: a class, or a kernel in any language."""
    signs = (re.escape(sign) for one in languages().values() for sign in one.kernel_signs)
    return re.compile("|".join((_CLASS, *signs)), re.MULTILINE)
