"""Grids that are cut off: named where no loop goes on, and the fix takes the limit off."""

from __future__ import annotations

import pytest

from grader.records import Context, Evidence
from grader.rules.examples import as_submission
from grader.rules.index.grid_capped import CODE, LOOP
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

LIMIT = "int blocks = std::min((n + 255) / 256, 1024);"
FREE = "int blocks = (n + 255) / 256;"


@pytest.mark.parametrize(
    "capped",
    [LIMIT, "dim3 blocks(std::min(1024, (n + 255) / 256));", f"{FREE}\n    if (blocks > 65535) {{ blocks = 65535; }}"],
)  # fmt: skip
def test_the_limit_is_taken_off(capped: str) -> None:
    code = as_submission(CODE.replace(LIMIT, capped))
    wrong = Evidence(kind="mismatch", code="values", text="the end is zero")
    (found,) = review_with_fixes(parse(code), Context(evidence=(wrong,)), select=("IDX009",))
    assert found.severity == "error"
    fixed = apply(code, found.fixes[0].edits)
    assert "1024" not in fixed
    assert "65535" not in fixed
    assert "(n + 255) / 256" in fixed


def test_a_loop_over_the_grid_goes_with_a_limit() -> None:
    assert review_with_fixes(parse(as_submission(LOOP)), Context(), select=("IDX009",)) == ()
