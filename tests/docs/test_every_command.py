"""Every command that a page names is one of this program's, every script and every link is there."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest

import grader.cli  # noqa: F401 - the commands register themselves
from grader.cli.app import app
from grader.cli.entry import words

from .pages import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docs")]
TEXTS = sorted(
    path for page in PAGES for path in ([page] if page.is_file() else page.rglob("*.md"))
)
COMMAND = re.compile(
    r"(?:^(?: {4})?(?:\$ )?|`|\| )(?:kernel-grader|python3? grade\.py) (?P<arguments>[^`\n|#>&]+)",
    re.MULTILINE,
)
"""At the start of a line or of a span of code, or behind a pipe."""
PROSE = re.compile(r"^is not on PyPI")
"""A line of text that starts with the program's name."""
SCRIPT = re.compile(r"\b(?:benchmarks|tests)/[\w/]+\.py\b")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<path>[^)#\s]+)")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def commands(path: Path) -> list[list[str]]:
    found = [match["arguments"].strip() for match in COMMAND.finditer(path.read_text("utf-8"))]
    split = [shlex.split(arguments) for arguments in found if not PROSE.match(arguments)]
    with contextlib.chdir(ROOT):
        return [words(one) for one in split]


WITH_COMMANDS = [path for path in TEXTS if commands(path)]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=named)
def test_a_command_can_be_given(path: Path) -> None:
    for one in commands(path):
        app.parse_args(one, exit_on_error=False, print_error=False)


def test_there_are_commands() -> None:
    assert sum(len(commands(path)) for path in WITH_COMMANDS) > 40


def test_a_script_that_is_named_is_there() -> None:
    for path in (path for path in TEXTS if path.parent.name != "log"):
        for script in SCRIPT.findall(path.read_text("utf-8")):
            placeholder = Path(script).stem.removeprefix("test_").isupper()  # tests/.../NAME.py
            assert placeholder or (ROOT / script).is_file(), f"{named(path)}: {script}"


def test_a_link_outside_the_site_leads_to_a_file() -> None:
    """Sphinx looks at those within."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        path = ROOT / name
        for match in LINK.finditer(path.read_text("utf-8")):
            assert (path.parent / match["path"]).exists(), f"{named(path)}: {match['path']}"
