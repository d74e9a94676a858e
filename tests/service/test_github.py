"""What a run brings to GitHub, against a server that plays GitHub's part."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import grader.cli  # noqa: F401 - the commands register themselves
from grader.cli import main
from grader.errors import GraderError
from grader.report.folder import RunFolder
from grader.report.github_review import SUMMARY_MARK, Comment
from grader.service.github import Api, NotAllowedError, Pull
from tests.report.conftest import review

from .played_github import BOT, NUMBER, REPOSITORY, TOKEN, PlayedGitHub, measured

FILE = "samples/total_race.md"
PATCH = "@@ -0,0 +1,40 @@\n" + "\n".join("+line" for _ in range(40))


@pytest.fixture
def github() -> Iterator[PlayedGitHub]:
    with measured() as found:
        found.files = {FILE: PATCH, "notes.txt": "@@ -1 +1 @@\n-a\n+b"}
        yield found


@pytest.fixture
def job(github: PlayedGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TimingSession where a job of a pull request stands, with a run in `reviews`."""
    event = {"pull_request": {"number": NUMBER, "head": {"sha": "c0ffee"}}}
    (tmp_path / "event.json").write_text(json.dumps(event))
    variables = {
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_API_URL": github.root,
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "77",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    RunFolder(tmp_path / "reviews").add(review(), "key")
    return tmp_path


def grade_again(job: Path, words: str) -> None:
    RunFolder(job / "reviews").add(review(words=words), "key")


def test_the_first_run_writes_a_summary_and_the_findings(github: PlayedGitHub, job: Path) -> None:
    assert main(["github-comment", "reviews"]) == 0
    (summary,) = github.summaries
    assert summary["body"].startswith(SUMMARY_MARK)
    assert "the changed kernel is not correct" in summary["body"]
    assert "https://github.com/octo/kernels/actions/runs/77" in summary["body"]
    assert (job / "summary.md").read_text() == summary["body"]
    (sent,) = github.reviews
    assert (sent["commit_id"], sent["event"]) == ("c0ffee", "COMMENT")
    (comment,) = sent["comments"]
    assert comment["path"] == FILE
    assert "```suggestion" in comment["body"]


def test_a_run_that_says_the_same_writes_nothing(
    github: PlayedGitHub, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["github-comment", "reviews"]) == 0
    assert [method for method, _ in github.requests if method != "GET"] == ["POST", "POST"]
    assert "0 new comments, 1 said before" in capsys.readouterr().out


def test_the_summary_is_rewritten_and_a_finding_is_said_once(
    github: PlayedGitHub, job: Path
) -> None:
    for n in range(250):
        github.say(github.summaries, f"a talk, {n}", "somebody")
    main(["github-comment", "reviews"])
    grade_again(job, "other words")
    assert main(["github-comment", "reviews"]) == 0
    ours = [item for item in github.summaries if item["user"]["login"] == BOT]
    assert len(ours) == 1
    assert "other words" in ours[0]["body"]
    assert len(github.comments) == 1


def test_others_comments_with_our_marks_are_neither_rewritten_nor_believed(
    github: PlayedGitHub, job: Path
) -> None:
    main(["github-comment", "reviews"])
    forged = github.comments[0]["body"]
    github.summaries.clear(), github.comments.clear(), github.reviews.clear()
    github.say(github.summaries, f"{SUMMARY_MARK}\nall is well", "mallory")
    github.say(github.comments, forged, "mallory")
    assert main(["github-comment", "reviews"]) == 0
    assert github.summaries[0]["body"].endswith("all is well")
    assert len(github.summaries) == 2
    assert len(github.reviews) == 1


def test_a_token_that_may_only_read_fails_no_job(
    github: PlayedGitHub, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.reads_only = True
    assert main(["github-comment", "reviews"]) == 0
    told = capsys.readouterr()
    assert "no comment was written" in told.err
    assert "pull-requests: write" in told.err
    assert (job / "summary.md").read_text().startswith(SUMMARY_MARK)


def test_outside_of_a_pull_request_nothing_is_asked(github: PlayedGitHub, job: Path) -> None:
    (job / "event.json").write_text('{"ref": "refs/heads/main"}')
    assert main(["github-comment", "reviews"]) == 0
    assert not github.requests


def test_outside_of_a_job_the_command_says_what_is_missing(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["github-comment", "reviews"]) == 2
    assert "GITHUB_TOKEN is not set" in capsys.readouterr().err
    assert main(["github-comment", "nowhere"]) == 2


def pull(github: PlayedGitHub, token: str = TOKEN) -> Pull:
    api = Api(github.root, token, wait=lambda _seconds: None)
    return Pull(api, REPOSITORY, NUMBER, "c0ffee", BOT)


def test_a_passing_fault_is_asked_again(github: PlayedGitHub) -> None:
    github.failures = 2
    assert set(pull(github).read_changes()) == set(github.files)
    github.failures = 3
    with pytest.raises(GraderError, match="502"):
        pull(github).read_changes()
    github.failures = 1
    with pytest.raises(GraderError, match="502"):
        pull(github).api.call("POST", "repos/x", {})


def test_refusals_are_told_apart(github: PlayedGitHub) -> None:
    with pytest.raises(NotAllowedError, match="Bad credentials"):
        pull(github, "another").read_changes()
    outside = Comment(FILE, 90, 90, "<!-- kernel-grader: 0 -->", "text")
    with pytest.raises(GraderError, match="part of the diff"):
        pull(github).comment([outside])
    nobody = Api("http://127.0.0.1:9", TOKEN, wait=lambda _seconds: None)
    with pytest.raises(GraderError, match="can't be reached"):
        nobody.call("GET", "x")
    with pytest.raises(GraderError, match="not a web address"):
        Api("file:///etc", TOKEN).call("GET", "hosts")


def test_the_token_goes_nowhere_else() -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    with pytest.raises(GraderError, match="302"):
        Api(f"http://127.0.0.1:{server.server_port}", TOKEN).call("GET", "here")
    thread.join()
    server.server_close()
    assert asked == ["/here"]
