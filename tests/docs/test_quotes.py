"""What a page quotes of a review stands in the committed reviews of `samples/`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pages import ROOT

QUOTE = re.compile(r"^> (.*)$", re.MULTILINE)
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not {"decisions", "log", "rules"} & set(path.parts)
]
QUOTES = [(path, quote) for path in PAGES for quote in QUOTE.findall(path.read_text("utf-8"))]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def said() -> str:
    rows = (ROOT / "reviews" / "results.jsonl").read_text("utf-8").splitlines()
    return "\n".join(text for row in rows for text in strings(json.loads(row)))


@pytest.mark.parametrize(("path", "quote"), QUOTES)
def test_a_quote_is_what_a_review_says(path: Path, quote: str) -> None:
    assert quote in said(), f"{path.relative_to(ROOT)}: grade samples/ again, and quote that"


def test_there_are_quotes() -> None:
    assert len(QUOTES) >= 3
