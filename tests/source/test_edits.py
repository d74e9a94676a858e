"""Edits change what they name and nothing else, and each new line knows its old one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.records import Edit
from grader.source import edits

LINES = st.lists(st.text(alphabet="abc ", max_size=6), min_size=1, max_size=12)


def test_edits_apply_by_offset_in_any_order() -> None:
    made = edits.apply(
        "one two three", [Edit(start=8, end=13, text="3"), Edit(start=0, end=3, text="1")]
    )
    assert made == "1 two 3"


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(edits.OverlappingEditsError):
        edits.apply("abcdef", [Edit(start=0, end=3, text="x"), Edit(start=2, end=4, text="y")])


def test_an_edit_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        edits.apply("abc", [Edit(start=2, end=9, text="x")])


@given(LINES, LINES)
def test_an_unchanged_line_maps_to_an_equal_line(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    mapped = edits.old_lines(before, after)
    assert len(mapped) == len(after.splitlines())
    assert all(0 <= line <= len(before.splitlines()) for line in mapped)


@given(LINES)
def test_equal_texts_map_line_by_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert edits.old_lines(text, text) == tuple(range(1, len(text.splitlines()) + 1))
