"""A finding's place in the user's own files, for CI tools."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from grader.records import Place, Review


class FilePlace(NamedTuple):
    """A file, and a line of it where one can be told (1-based; 0: the whole file)."""

    path: str
    line: int = 0
    end_line: int = 0


def in_file(review: Review, place: Place | None) -> FilePlace:
    """Return the file and its line for a place of the submission, or for the review as a whole.

    A record of a JSONL file is one line of it, for every line of the completion; a record of a parquet file has no
    line.
    """
    if review.format == "jsonl":
        path, colon, number = review.origin.rpartition(":")
        if colon and number.isdecimal():
            return FilePlace(path, int(number), int(number))
    if review.format == "parquet":
        return FilePlace(review.origin.rpartition("#")[0] or review.origin)
    if not is_text_file(review) or place is None:
        return FilePlace(review.origin)
    first = place.sample_line or _nearest(review, place.line)
    last = _map_line(review, place.end_line) if place.end_line > place.line else first
    return FilePlace(review.origin, first, max(first, last))


def command(review: Review) -> str:
    """Return the command that grades the sample again, quoted for a shell."""
    only = "" if is_text_file(review) else f" --only {review.sample}"
    return f"python grade.py {shlex.quote(in_file(review, None).path)}{only}"


def is_text_file(review: Review) -> bool:
    """Whether the sample's lines are the lines of its file."""
    return review.format in {"transcript", "python", "kernelbench"}


def same_line(review: Review, line: int) -> int:
    """Return the file's line that holds the same text as the submission's line; 0 where none does."""
    mapped, text, own = (
        _map_line(review, line),
        review.text.split("\n"),
        (review.code or "").split("\n"),
    )
    known = is_text_file(review) and 1 <= mapped <= len(text) and line <= len(own)
    return mapped if known and text[mapped - 1] == own[line - 1] else 0


def _map_line(review: Review, line: int) -> int:
    return review.line_map[line - 1] if 1 <= line <= len(review.line_map) else 0


def _nearest(review: Review, line: int) -> int:
    """Return the sample line of the closest line above that has one."""
    return next((mapped for n in range(line, 0, -1) if (mapped := _map_line(review, n))), 0)
