"""Posts a run's results to a pull request on GitHub: one summary comment that is rewritten, and each finding once.

Only comments by this program's own account are rewritten or count as posted, since anybody may write a comment that
begins with our marks.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from grader.errors import GraderError
from grader.records import JsonValue
from grader.report.changed_lines import Changed, spans
from grader.report.github_review import SUMMARY_MARK, Comment

PAGE = 100
MOST_PAGES = 50
TRIES = 3
SECONDS = 30.0
MOST_BYTES = 32 << 20
Json = dict[str, JsonValue]


class NotAllowedError(GraderError):
    """The token lacks the permission, as in pull requests from forks, where it is read-only."""


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, since the token is only for the given address."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Api:
    """GitHub's REST interface with one token."""

    root: str
    """`https://api.github.com`, or the address of another server."""
    token: str
    wait: Callable[[float], None] = time.sleep

    def call(self, method: str, path: str, body: Json | None = None) -> JsonValue:
        """Return GitHub's answer as JSON. Retries requests that are safe to repeat.

        Raises NotAllowedError where the token lacks the permission, GraderError for every other error.
        """
        tries = TRIES if method in {"GET", "PATCH"} else 1
        for number in range(1, tries + 1):
            try:
                return self._call_api(method, path, body)
            except urllib.error.HTTPError as error:
                if error.code < HTTPStatus.INTERNAL_SERVER_ERROR or number == tries:
                    raise _refusal(method, path, error) from error
            except OSError as error:
                if number == tries:
                    raise GraderError(f"GitHub can't be reached at {self.root}: {error}") from error
            self.wait(2.0**number)
        raise AssertionError  # the last attempt returns or raises

    def pages(self, path: str) -> Iterator[Json]:
        """Yield the items of a list, page by page."""
        for number in range(1, MOST_PAGES + 1):
            found = self.call("GET", f"{path}?per_page={PAGE}&page={number}")
            items = found if isinstance(found, list) else []
            yield from (item for item in items if isinstance(item, dict))
            if len(items) < PAGE:
                return

    def _call_api(self, method: str, path: str, body: Json | None) -> JsonValue:
        address = f"{self.root}/{path}"
        if urlsplit(address).scheme not in {"http", "https"}:
            raise GraderError(f"{self.root} is not a web address", "set GITHUB_API_URL")
        request = urllib.request.Request(  # noqa: S310 - the scheme is one of the web's
            address,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "kernel-grader",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        opener = urllib.request.build_opener(_Stays)
        with opener.open(request, timeout=SECONDS) as answer:
            return json.loads(answer.read(MOST_BYTES) or b"null")


@dataclass(frozen=True)
class Pull:
    """One pull request, and our login in it."""

    api: Api
    repository: str
    """`owner/name`."""
    number: int
    commit: str
    """The graded commit."""
    author: str
    """Login under which our comments appear."""

    def read_changes(self) -> Changed:
        """Return the lines that it changes; none for a file without a patch on GitHub."""
        files = self.api.pages(f"repos/{self.repository}/pulls/{self.number}/files")
        return {
            str(item["filename"]): spans(str(item.get("patch") or ""))
            for item in files
            if "filename" in item
        }

    def summarise(self, body: str) -> None:
        """Write the summary comment, or rewrite the existing one."""
        listed = f"repos/{self.repository}/issues/{self.number}/comments"
        ours = [item for item in self.api.pages(listed) if self._is_ours(item, SUMMARY_MARK)]
        if not ours:
            self.api.call("POST", listed, {"body": body})
        elif ours[0].get("body") != body:
            path = f"repos/{self.repository}/issues/comments/{int(ours[0]['id'])}"
            self.api.call("PATCH", path, {"body": body})

    def comment(self, comments: list[Comment]) -> int:
        """Post new comments as one review; return their number."""
        said = self._comments_said()
        new = [comment for comment in comments if comment.mark not in said]
        if new:
            review = {
                "commit_id": self.commit,
                "event": "COMMENT",
                "comments": [_place_comment(comment) for comment in new],
            }
            path = f"repos/{self.repository}/pulls/{self.number}/reviews"
            self.api.call("POST", path, review)
        return len(new)

    def _comments_said(self) -> set[str]:
        path = f"repos/{self.repository}/pulls/{self.number}/comments"
        ours = (item for item in self.api.pages(path) if self._is_ours(item, ""))
        return {str(item.get("body", "")).partition("\n")[0].rstrip("\r") for item in ours}

    def _is_ours(self, item: Json, mark: str) -> bool:
        user = item.get("user") or {}
        return user.get("login") == self.author and str(item.get("body", "")).startswith(mark)


def _place_comment(comment: Comment) -> Json:
    """Return the comment in GitHub's format, on lines of the new file."""
    made: Json = {
        "path": comment.path,
        "body": f"{comment.mark}\n{comment.body}",
        "line": comment.last,
        "side": "RIGHT",
    }
    if comment.first < comment.last:
        made |= {"start_line": comment.first, "start_side": "RIGHT"}
    return made


def _refusal(method: str, path: str, error: urllib.error.HTTPError) -> GraderError:
    try:
        said = json.loads(error.read(1 << 16))
        words = f": {str(said.get('message', ''))[:200]}"
    except (ValueError, AttributeError, OSError):
        words = ""
    text = f"GitHub answered {error.code} to {method} {path}{words}"
    if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return NotAllowedError(text, "give the job `permissions: pull-requests: write`")
    return GraderError(text)
