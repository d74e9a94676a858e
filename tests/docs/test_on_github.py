"""The pages can be read on GitHub as well: text and links in them, and no link to what is not in the repository."""

import re
import subprocess
from pathlib import Path

import pytest

from .pages import ROOT

LISTED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, check=False, capture_output=True, text=True,
)  # fmt: skip
if LISTED.returncode:
    pytest.skip(f"this is no checkout: {LISTED.stderr}", allow_module_level=True)
TRACKED = {ROOT / line for line in LISTED.stdout.splitlines()}
PAGES = sorted(
    path for path in TRACKED
    if path.suffix == ".md" and path.is_file()
    and (path.parent == ROOT or {ROOT / "docs", ROOT / "grader"} & set(path.parents))
)  # fmt: skip
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]+`")
DIRECTIVE = re.compile(r"^```\{(?!code-block)\w+\}", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    return INLINE.sub("", FENCE.sub("", path.read_text("utf-8")))


def test_there_are_pages() -> None:
    assert len(PAGES) > 100


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_a_link_leads_to_what_the_repository_holds(path: Path) -> None:
    for match in LINK.finditer(prose(path)):
        target = (path.parent / match["path"]).resolve()
        held = target in TRACKED or any(target in each.parents for each in TRACKED)
        assert held, f"{named(path)}: {match['path']}"


@pytest.mark.parametrize(
    "path", [path for path in PAGES if DIRECTIVE.search(path.read_text("utf-8"))], ids=named
)
def test_a_page_is_more_than_a_directive(path: Path) -> None:
    """GitHub shows a directive of Sphinx as a block of code."""
    told = [line for line in prose(path).splitlines() if line and not line.startswith("#")]
    assert sum(len(line.split()) for line in told) >= 20
