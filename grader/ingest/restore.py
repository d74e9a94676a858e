"""Restores programs broken by a transcript's fences or chat marks.

Each method is tried in turn until the text parses as Python; a program that stays broken is left unchanged, since then
the error is the model's.
"""

from __future__ import annotations

from typing import NamedTuple

from grader.ingest.fences import Segment, segment_lines
from grader.ingest.markers import is_tag_line, without_glued_tags, without_tags
from grader.ingest.numbered import (
    Line,
    Lines,
    common_indent,
    join_lines,
    number_lines,
    trim_blank_lines,
    without_indent,
)
from grader.ingest.python_region import (
    class_line,
    defines,
    find_program,
    import_lines,
    longest_program,
    python_error,
)
from grader.languages import languages

MAX_MERGED = 6
"""Neighbouring segments that may be joined on either side."""
MAX_CHARACTERS = 400_000
"""Most characters of a program joined from several segments; each attempt is parsed."""

_FIRST_LINES = frozenset({"python", "py", "python3", "copy", "copy code", "plaintext"})


class Program(NamedTuple):
    """Lines of Python, and notes on how they were restored."""

    lines: Lines
    notes: tuple[str, ...] = ()
    reads: bool = True
    """Whether it parses."""
    first_segment: int = 0
    last_segment: int = 0


def restore(text: str, segments: tuple[Segment, ...], segment: Segment, name: str) -> Program:
    """Return the program in a segment that defines the class `name`."""
    at = segment.index
    if not segment.inside:
        return _remove_fence(text, segments, segment, name)
    lines = _without_language(trim_blank_lines(segment_lines(text, segment)))
    if python_error(lines) is None:
        return Program(lines, (), True, at, at)
    for way in (_closed_in_line, _remove_chat_marks, _dedent_block):
        if (program := way(lines, name)) is not None:
            return program._replace(first_segment=at, last_segment=at)
    if (merged := _join_neighbours(text, segments, segment, name)) is not None:
        return merged
    if segment.closing is None and (cut := _cut_prose(lines, name)) is not None:
        return cut._replace(first_segment=at, last_segment=at)
    return Program(without_tags(lines), (), False, at, at)


def _without_language(lines: Lines) -> Lines:
    """Drop a first line that only names the language: it would parse as a Python name."""
    first = lines[0].text.strip().lower() if lines else ""
    named = first in _FIRST_LINES or any(first in one.fences for one in languages().values())
    return lines[1:] if named else lines


def _closed_in_line(lines: Lines, name: str) -> Program | None:
    """End the block at a fence at the end of a line of code."""
    for index in range(_class_index(lines, name) + 1, len(lines)):
        body = lines[index].text.rstrip()
        if body.endswith(("```", "~~~")):
            last = Line(lines[index].number, body.rstrip("`~"))
            plain = (*lines[:index], last)
            if python_error(plain) is None:
                return Program(plain, ("the fence that closes the block was in a line of code",))
    return None


def _class_index(lines: Lines, name: str) -> int:
    pattern = class_line(name)
    return max((i for i, line in enumerate(lines) if pattern.match(line.text)), default=0)


def _remove_chat_marks(lines: Lines, name: str) -> Program | None:
    """Remove chat marks from the ends or the middle."""
    del name
    plain = without_tags(lines)
    if plain != lines and python_error(plain) is None:
        return Program(plain, ("marks of the chat around the code were cut off",))
    inner = tuple(line for line in plain if not is_tag_line(line.text))
    if inner != plain and python_error(inner) is None:
        return Program(inner, ("marks of the chat inside the code were cut out",))
    return None


def _dedent_block(lines: Lines, name: str) -> Program | None:
    """Remove the indentation of the whole block."""
    del name
    indent = common_indent(lines)
    plain = without_indent(lines, indent)
    if indent and python_error(plain) is None:
        return Program(plain, ("the whole block was indented",))
    return None


def _cut_prose(lines: Lines, name: str) -> Program | None:
    """End an unclosed block where the text is no longer Python."""
    least = _class_index(lines, name) + 1
    found = longest_program(lines, least)
    if found is None or "def forward" not in join_lines(found[least - 1 :]):
        return None
    return Program(found, ("the block was not closed; it ends where the text stops being Python",))


def _join_neighbours(
    text: str, segments: tuple[Segment, ...], segment: Segment, name: str
) -> Program | None:
    """Join a segment with its neighbours: a fence line inside the code had cut it.

    A segment outside of a block needs one before it: a stray fence had ended the block too early.
    """
    at = segment.index
    spans = sorted(
        (
            (first, last)
            for first in range(max(1, at - MAX_MERGED), at + segment.inside)
            for last in range(at, min(len(segments), at + MAX_MERGED + 1))
            if first < last
        ),
        key=lambda span: (span[1] - span[0], -span[0]),
    )
    for first, last in spans:
        if segments[last].end - segments[first].start > MAX_CHARACTERS:
            continue
        for keep, note in (
            (True, "a fence line inside the code was kept as part of it"),
            (False, "a fence line inside the code was cut out"),
        ):
            lines = _joined_lines(text, segments[first : last + 1], keep=keep)
            if defines(join_lines(lines), name) and python_error(lines) is None:
                return Program(lines, (note,), True, first, last)
    return None


def _joined_lines(text: str, segments: tuple[Segment, ...], *, keep: bool) -> Lines:
    opening = segments[0].opening
    parts: list[Line] = []
    for index, segment in enumerate(segments):
        body = text[segment.start : segment.end]
        body = body.removesuffix("\n") if segment.closing is not None else body
        parts += number_lines(body, segment.first_line) if body or segment.closing is None else ()
        if keep and index < len(segments) - 1 and (fence := segment.closing) is not None:
            parts.append(Line(fence.line, text[fence.start : fence.end]))
    return trim_blank_lines(without_indent(tuple(parts), opening.lead if opening else ""))


def _remove_fence(text: str, segments: tuple[Segment, ...], segment: Segment, name: str) -> Program:
    at = segment.index
    lines = tuple(
        without_glued_tags(line)
        for line in segment_lines(text, segment)
        if not is_tag_line(line.text)
    )
    program, reads = find_program(lines, name)
    headless = not import_lines(lines[: _class_index(lines, name)])
    if not reads or headless:  # the rest may be in the block before a stray fence
        merged = _join_neighbours(text, segments, segment, name)
        if merged is not None:
            return merged
    return Program(program or lines, ("the code had no fences around it",), reads, at, at)
