"""The pages under docs/rules/ say what the rule files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.rules.page import pages

FOLDER = Path(__file__).parents[2] / "docs" / "rules"
STALE = "docs/rules/ is stale: run python -m grader.rules.page docs/rules"


@pytest.mark.parametrize("name", sorted(pages()))
def test_page_is_fresh(name: str) -> None:
    written = FOLDER / name
    assert written.is_file(), STALE
    assert written.read_text(encoding="utf-8") == pages()[name], STALE


def test_no_page_without_a_rule() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} <= set(pages()), STALE
