"""Answers that are an extension module without Python: a class that calls it is added."""

from __future__ import annotations

from typing import NamedTuple

from grader.ingest.fences import Segment, segment_lines
from grader.ingest.markers import answer_start, thought_end
from grader.ingest.numbered import Line, Lines, join_lines, number_lines, trim_blank_lines
from grader.languages import EmbeddedTexts, embedded_texts


class BareModule(NamedTuple):
    """A block that binds a function for Python, and the program around it."""

    lines: Lines
    segments: set[int]
    notes: tuple[str, ...]


def with_class(
    text: str, segments: tuple[Segment, ...], reference: str | None, model: str
) -> BareModule | None:
    """Return the program around the last block that is a module; None where there is no unique choice.

    `reference` is the source of the task's `Model`, if the sample holds one.
    """
    made = (_around(text, segments, reference, model, one) for one in embedded_texts())
    return next((one for one in made if one is not None), None)


def _around(
    text: str,
    segments: tuple[Segment, ...],
    reference: str | None,
    model: str,
    embedded: EmbeddedTexts,
) -> BareModule | None:
    found = _last_block(text, segments, embedded)
    if found is None:
        return None
    lines, used = found
    wrapping = embedded.wrap(join_lines(lines), reference, model)
    if wrapping is None:
        return None
    note = f"the answer is a {embedded.module_title} without Python: a class {model} that calls its `{wrapping.function}` was added"
    before = tuple(Line(0, one) for one in wrapping.before)
    after = tuple(Line(0, one) for one in wrapping.after)
    return BareModule((*before, *lines, *after), used, (note,))


def _last_block(
    text: str, segments: tuple[Segment, ...], embedded: EmbeddedTexts
) -> tuple[Lines, set[int]] | None:
    """Return the last block with a module, after the reasoning if there is one there; or the whole text."""
    module = embedded.module
    if len(segments) == 1:
        lines = trim_blank_lines(number_lines(text))
        is_code = module.search(text) and _begins_with_code(lines, embedded)
        return (lines, {0}) if is_code else None
    binding = [s for s in segments if s.inside and module.search(text, s.start, s.end)]
    end = max(answer_start(text), thought_end(text))
    chosen = [one for one in binding if one.start >= end] or binding
    if not chosen:
        return None
    return trim_blank_lines(segment_lines(text, chosen[-1])), {chosen[-1].index}


def _begins_with_code(lines: Lines, embedded: EmbeddedTexts) -> bool:
    """Whether a text without fences begins as a module does."""
    first = next((line.text.strip() for line in lines if line.text.strip()), "")
    return first.startswith(embedded.first_words)
