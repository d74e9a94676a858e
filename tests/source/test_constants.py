"""Expressions that a compiler knows, and those that it doesn't."""

from __future__ import annotations

import pytest

from grader.source import parse
from grader.source.constants import fold
from tests.rules.examples import as_submission

KERNEL = """
template <typename T>
__global__ void k(const T* x, int n) {
    constexpr int kOfType = 32 / sizeof(T);
    constexpr int kOwn = 32 / sizeof(float);
    float v[%s];
}
"""


@pytest.mark.parametrize(("extent", "value"), [("kOwn", 8), ("kOfType", None), ("n", None)])
def test_a_constant_that_hangs_on_an_unknown_type_is_not_known_and_stops_nothing(
    extent: str, value: int | None
) -> None:
    (unit,) = parse(as_submission(KERNEL % extent)).cuda
    (array,) = unit.nodes("array_declarator")
    assert fold(unit, array.child_by_field_name("size")) == value
