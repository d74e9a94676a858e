"""The reference pages in the repository are those that the code makes."""

from pathlib import Path

from grader.reference import write

from .pages import ROOT


def test_the_pages_are_current(tmp_path: Path) -> None:
    write(tmp_path)
    for made in tmp_path.iterdir():
        kept = ROOT / "docs" / "reference" / made.name
        assert kept.read_text("utf-8") == made.read_text("utf-8"), "python -m grader.reference"
