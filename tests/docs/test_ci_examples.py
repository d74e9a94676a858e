"""The examples for CI: their commands are commands of this program, their files are files of a run."""

import re

import pytest

from grader.cli.app import app
from grader.report import names
from grader.report.formats import all_formats

from .pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
COMMANDS = [
    line.removeprefix("- run: ").removeprefix("- ").removeprefix("entry: ").strip()
    for line in re.findall(
        r"^ +(?:- run: |- |entry: )?kernel-grader .*$", PAGE + HOOKS, re.MULTILINE
    )
    for line in [line.strip()]
]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_is_a_command(command: str) -> None:
    import grader.cli  # noqa: F401 - the commands register themselves

    program, *arguments = command.split()
    assert program == "kernel-grader"
    _, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert bound.arguments


def test_there_are_examples() -> None:
    assert len(COMMANDS) >= 6
    assert sum("--fail-on incorrect" in command for command in COMMANDS) == 2


def test_the_files_of_the_examples_are_those_of_a_run() -> None:
    known = {*(one.file for one in all_formats()), names.ROWS, names.PAGES_INDEX, names.INDEX}
    for name in re.findall(r"\breviews/([a-zA-Z_.]+\.[a-z]+)\b", PAGE):
        assert name in known, name


def test_the_hooks_are_those_of_the_page() -> None:
    hooks = set(re.findall(r"^- id: (\S+)$", HOOKS, re.MULTILINE))
    assert hooks == {"kernel-grader-text", "kernel-grader"}
    assert set(re.findall(r"- id: (\S+)$", PAGE, re.MULTILINE)) <= hooks
