"""The fork servers that guests are forked from."""

from __future__ import annotations

from pathlib import Path

from grader.sandbox import fork_server


def test_libraries_that_do_not_load_leave_the_parent_itself(tmp_path: Path) -> None:
    missing = (str(tmp_path / "libkgsim.so"), str(tmp_path / "libkgtorch.so"))
    first = fork_server.shared_server()
    assert fork_server.shared_server(missing) is first
    assert fork_server.shared_server() is first
