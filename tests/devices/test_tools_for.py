"""Which of compute-sanitizer's tools look at a program."""

from __future__ import annotations

import pytest

from grader.devices.sanitizer import ALL, tools_for


@pytest.mark.parametrize(
    ("status", "wish", "expected"),
    [
        ("incorrect", None, ALL),
        ("hung", None, ("synccheck",)),
        ("crashed", None, ("memcheck",)),
        ("correct", None, ()),
        ("correct", True, ALL),
        ("incorrect", False, ()),
    ],
)
def test_what_went_wrong_is_looked_at_unless_all_or_none_is_wished(
    status: str, wish: bool | None, expected: tuple[str, ...]
) -> None:
    assert tools_for(status, wish) == expected
