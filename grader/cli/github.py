"""The command that a GitHub Actions workflow calls after a grading."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.cli.app import GRADED, app, errors, out, plain
from grader.cli.checks import plural, run_folder
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.service.github import Pull

ACTIONS = "github-actions[bot]"


class _Event(NamedTuple):
    """The event that started the workflow."""

    number: int
    commit: str


@app.command(name="github-comment")
def github_comment(run: Path, *, author: str = ACTIONS) -> int:
    """Comment on a pull request from within GitHub Actions: a summary, and findings on changed lines.

    The summary is one comment that each run rewrites. A finding is posted once, at its line, with a suggested change
    where there is one. Reads GITHUB_TOKEN and the variables that GitHub Actions sets.

    Parameters
    ----------
    run
        A folder that a grading wrote.
    author
        Login of the token's account: only comments by this account are rewritten.

    """
    from grader.report.folder import RunFolder
    from grader.report.github_review import pull_review
    from grader.service.github import NotAllowedError

    folder = RunFolder(run_folder(run))
    event = _event()
    if event is None:
        errors.print("not a pull request: nothing to comment on")
        return GRADED
    pull = _pull(event, author)
    made = pull_review(folder.reviews(), pull.read_changes(), Path.cwd())
    summary = made.summary(_footer())
    _show_in_job(summary)
    try:
        pull.summarise(summary)
        said = pull.comment(made.comments)
    except NotAllowedError as error:
        errors.print(plain(f"no comment was written: {error}"), soft_wrap=True)
        return GRADED
    out.print(f"{plural(said, 'new comment')}, {len(made.comments) - said} said before")
    return GRADED


def _event() -> _Event | None:
    path = Path(_variable("GITHUB_EVENT_PATH"))
    try:
        found = json.loads(path.read_text("utf-8")).get("pull_request")
        return None if found is None else _Event(int(found["number"]), str(found["head"]["sha"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a GitHub Actions event") from error


def _pull(event: _Event, author: str) -> Pull:
    from grader.service.github import Api, Pull

    root = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    api = Api(root, _variable("GITHUB_TOKEN"))
    return Pull(api, _variable("GITHUB_REPOSITORY"), event.number, event.commit, author)


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UsageError(f"{name} is not set", "this command runs in a workflow of GitHub Actions")
    return value


def _footer() -> str:
    """Return the last line of the summary: who wrote it, and where the reviews are."""
    words = f"kernel-grader {version('kernel-grader')}"
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, number = (os.environ.get(name, "") for name in names)
    if not (server and repository and number):
        return f"<sub>{words}</sub>"
    return f"<sub>{words} · [the run, with all reviews]({server}/{repository}/actions/runs/{number})</sub>"


def _show_in_job(summary: str) -> None:
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(summary)
