"""The page of figures is made from its data, and the README stays short."""

import re

import pytest

from benchmarks.results_page import DATA, PAGE, WORDS, Figure, page, read

from .pages import ROOT

README = (ROOT / "README.md").read_text("utf-8")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(*read(DATA)), "python benchmarks/results_page.py"


def test_a_cell_that_is_too_long_is_refused() -> None:
    machines, (first, *_) = read(DATA)
    long = Figure(**{**vars(first), "figure": "word " * (WORDS + 1)})
    with pytest.raises(ValueError, match="over 25 words"):
        page(machines, [long])


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 700
    rows = [line for line in README.splitlines() if line.startswith("|")]
    assert len(rows) <= 8, "six figures: the others belong to docs/results.toml"
    for row in rows:
        for cell in row.strip("|").split("|"):
            assert len(cell.split()) <= WORDS, cell


def test_the_readme_has_the_test_command() -> None:
    """CI runs what stands there."""
    assert '\n    pip install -e ".[test]" && pytest -n auto\n' in README


def test_the_readme_shows_the_python_page_s_first_lines() -> None:
    """Which test_python_page.py runs."""
    shown = (ROOT / "docs" / "how-to" / "python.md").read_text("utf-8")
    assert PYTHON.findall(README) == PYTHON.findall(shown)[:1]


def test_the_figures_of_the_readme_are_those_of_the_page() -> None:
    """Each number of its table stands in the data."""
    data = DATA.read_text("utf-8")
    table = [line for line in README.splitlines() if line.startswith("|")][2:]
    numbers = {number for row in table for number in re.findall(r"\d[\d.]*%?", row)}
    assert len(numbers) > 10
    for number in numbers:
        assert re.search(rf"(?<!\d){re.escape(number)}(?!\d)", data), number


@pytest.mark.parametrize("name", ["trust.md", "timing.md"])
def test_what_is_promised_stands_first_and_is_short(name: str) -> None:
    text = (ROOT / "docs" / name).read_text("utf-8")
    first = text.split("\n## ")[0]
    assert "**Promised" in first
    assert "**Not promised:**" in first
    assert len(first.split()) <= 220


def test_the_changelog_s_last_release_is_the_version() -> None:
    (version,) = re.findall(
        r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    released = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert version == next(each for each in released if each != "Unreleased")
