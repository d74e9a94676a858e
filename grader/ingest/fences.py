"""Fence lines, and the stretches of text between them.

What models write is not always well-formed markdown: fences inside docstrings, doubled openings,
closings that never come. So a text is first cut at every fence line into segments; which of them
belong together is decided later, by what reads as Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.ingest.numbered import Lines, number_lines, without_indent

_FENCE = re.compile(
    r"(?:^(?P<lead>[ \t>]*)|(?<=\|>))(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t]*(?:$|(?=<\|))",
    re.MULTILINE,
)
"""A line with nothing else but chat marks, between which models put fences: `<|message|>```python`."""
_GLUED_CODE = re.compile(r"(?:(?:python3?|py)[ \t]+)?(?=(?:import|from)[ \t]+\w)")
"""A first line of code on the fence line."""


@dataclass(frozen=True)
class Fence:
    """One line of three or more backticks or tildes."""

    line: int
    """Number of the line (1-based)."""
    start: int
    end: int
    """Offsets of the line, without its line end."""
    lead: str
    """Indentation and block quote marks before it."""
    mark: str
    info: str
    """The text after the marks: a language, or nothing."""
    content_line: int
    """Number of the first line of code: the next line, or its own where code follows the marks."""


@dataclass(frozen=True)
class Segment:
    """The text between two fence lines, or between one and an end of the text."""

    index: int
    start: int
    end: int
    first_line: int
    """Number of its first line."""
    opening: Fence | None
    closing: Fence | None
    inside: bool
    """Whether it is inside a block, by the rules of markdown."""


def find_fences(text: str) -> tuple[Fence, ...]:
    """Return all fence lines of a text."""
    fences: list[Fence] = []
    line, at = 1, 0
    for found in _FENCE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        glued = _GLUED_CODE.match(found["info"])
        end = found.start("info") + glued.end() - 1 if glued else found.end()
        info = (glued[0] if glued else found["info"]).strip().lower()
        below = line if glued or text[found.end() : found.end() + 2] == "<|" else line + 1
        fences.append(Fence(line, at, end, found["lead"] or "", found["mark"], info, below))
    return tuple(fences)


def cut_segments(text: str) -> tuple[Segment, ...]:
    """Cut a text at its fence lines."""
    fences = find_fences(text)
    segments: list[Segment] = []
    before: Fence | None = None
    opened: Fence | None = None
    for index, fence in enumerate((*fences, None)):
        segments.append(
            Segment(
                index=index,
                start=min(before.end + 1, len(text)) if before else 0,
                end=fence.start if fence else len(text),
                first_line=before.content_line if before else 1,
                opening=before,
                closing=fence,
                inside=opened is not None,
            )
        )
        if fence is not None:
            opened = _next_open(opened, fence)
        before = fence
    return tuple(segments)


def segment_lines(text: str, segment: Segment) -> Lines:
    """Return the lines of a segment, without the indentation of its opening fence if they have it."""
    body = text[segment.start : segment.end]
    if segment.closing is not None:
        body = body.removesuffix("\n")
    if not body and segment.closing is not None and segment.start == segment.end:
        return ()
    lines = number_lines(body, segment.first_line)
    lead = segment.opening.lead if segment.opening else ""
    first = next((line.text for line in lines if line.text.strip()), "")
    return without_indent(lines, lead) if first.startswith(lead.rstrip() or lead) else lines


def _next_open(opened: Fence | None, fence: Fence) -> Fence | None:
    """Return the fence of the block that is open after a fence line; None if none is."""
    if opened is None:
        return fence
    if fence.mark[0] != opened.mark[0]:
        return opened
    if fence.info:  # a closing fence has no language: an opening whose predecessor wasn't closed
        return fence
    return None if len(fence.mark) >= len(opened.mark) else opened
