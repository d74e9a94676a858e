"""Words that the project dropped don't come back; docs/glossary.md has those that took their places.

History may speak as it did: the changelog, dated logs and decisions.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pages import ROOT

DROPPED = re.compile(
    r"\b(?:mend(?:s|ed|ing|able)?|unmended|lent|workshops?|crews?|nurser(?:y|ies)|wardens?|warded"
    r"|rehears(?:e[sd]?|als?|ing)|roofs?|spool|harvest(?:s|ed|er)?|packets?"
    r"|second[ -]looks?|warm[ -]parents?)\b",
    re.IGNORECASE,
)
PLACES = ("grader", "docs", "prompts", "README.md", "CONTRIBUTING.md")
KINDS = {".py", ".md", ".j2", ".jinja", ".html", ".js", ".css", ".toml", ".txt", ".cpp", ".hpp", ".cu", ".cuh", ".h"}  # fmt: skip
HISTORY = (ROOT / "docs" / "decisions", ROOT / "docs" / "log", ROOT / "docs" / "glossary.md")
ALLOWED = {
    "after_mend": "a row's field keeps its name for one version of the format",
    "_packets(": "report/html/pictures.py is being rewritten",
    "grader/crew": "docs/architecture.md is being rewritten",
}
"""A line that holds one of these is passed over, for the reason given."""


def texts() -> Iterator[Path]:
    for place in PLACES:
        root = ROOT / place
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            past = any(path == each or each in path.parents for each in HISTORY)
            if path.suffix in KINDS and path.is_file() and not past:
                yield path


def words_of(name: str) -> str:
    """Return an identifier or a path as words: `second_look` and `WarmParent` are found too."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def test_no_text_uses_a_dropped_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        for match in DROPPED.finditer(words_of(line))
        if not any(name in line for name in ALLOWED)
    ]
    assert not found, "\n".join(found)


def test_no_file_is_called_by_a_dropped_word() -> None:
    named = [path for path in texts() if DROPPED.search(words_of(path.stem))]
    assert not named


@pytest.mark.parametrize(
    "text", ["self._second_look()", "class WarmParent:", "a Mend that", "crew"]
)
def test_it_is_found(text: str) -> None:
    assert DROPPED.search(words_of(text))


@pytest.mark.parametrize("text", ["recommended", "silently", "excellent", "roofline", "proofs"])
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert not DROPPED.search(words_of(text))
