"""A server that plays the few endpoints of GitHub's that the program calls, as its documentation has them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from grader.report.changed_lines import is_held, spans

REPOSITORY = "octo/kernels"
NUMBER = 12
TOKEN = "token-of-the-job"
BOT = "github-actions[bot]"
_MOST = 65_536


@dataclass
class PlayedGitHub:
    """One pull request; comments are kept as GitHub keeps them."""

    files: dict[str, str] = field(default_factory=dict)
    """Patch by path."""
    summaries: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    reads_only: bool = False
    """As for a pull request from a fork."""
    failures: int = 0
    """Answers of 502 before the next right one."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    root: str = ""

    def answer(self, method: str, address: str, body: Any, token: str) -> tuple[int, Any]:
        split = urlsplit(address)
        self.requests.append((method, split.path))
        if token != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}
        if self.failures:
            self.failures -= 1
            return 502, {"message": "Bad gateway"}
        if method != "GET" and self.reads_only:
            return 403, {"message": "Resource not accessible by integration"}
        page = {name: int(value[0]) for name, value in parse_qs(split.query).items()}
        return self._routed(method, split.path.removeprefix(f"/repos/{REPOSITORY}/"), body, page)

    def _routed(self, method: str, path: str, body: Any, page: dict[str, int]) -> tuple[int, Any]:
        listed = {
            f"pulls/{NUMBER}/files": [{"filename": k, "patch": v} for k, v in self.files.items()],
            f"issues/{NUMBER}/comments": self.summaries,
            f"pulls/{NUMBER}/comments": self.comments,
        }
        if method == "GET" and path in listed:
            size = min(page.get("per_page", 30), 100)
            start = (page.get("page", 1) - 1) * size
            return 200, listed[path][start : start + size]
        if method == "POST" and path == f"issues/{NUMBER}/comments":
            return 201, self.say(self.summaries, body["body"])
        if method == "POST" and path == f"pulls/{NUMBER}/reviews":
            return self._reviewed(body)
        known = re.fullmatch(r"issues/comments/(\d+)", path)
        if method == "PATCH" and known:
            (found,) = [item for item in self.summaries if item["id"] == int(known[1])]
            found["body"] = body["body"]
            return 200, found
        return 404, {"message": "Not Found"}

    def _reviewed(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Refuse, as GitHub does, what is empty, too long, or on lines outside of the diff."""
        for comment in body["comments"]:
            first = comment.get("start_line", comment["line"])
            there = spans(self.files.get(comment["path"], ""))
            if not is_held(there, first, comment["line"]) or comment["side"] != "RIGHT":
                return 422, {"message": "line must be part of the diff"}
            if len(comment["body"]) > _MOST or comment.get("start_line") == comment["line"]:
                return 422, {"message": "Validation Failed"}
        if not body["comments"] or body["event"] != "COMMENT":
            return 422, {"message": "Unprocessable Entity"}
        self.reviews.append(body)
        for comment in body["comments"]:
            self.comments.append(comment | {"id": self._next(), "user": {"login": BOT}})
        return 200, {"id": self._next()}

    def say(self, where: list[dict[str, Any]], body: str, author: str = BOT) -> dict[str, Any]:
        assert len(body) <= _MOST
        where.append({"id": self._next(), "body": body, "user": {"login": author}})
        return where[-1]

    def _next(self) -> int:
        return 1 + len(self.summaries) + len(self.comments) + len(self.reviews) * 1000


@contextmanager
def measured() -> Iterator[PlayedGitHub]:
    """Serve on a free port until the block ends."""
    github = PlayedGitHub()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            token = self.headers.get("Authorization", "")
            status, said = github.answer(self.command, self.path, body, token)
            text = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _serve

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    github.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield github
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
