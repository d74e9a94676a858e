"""The fork servers that guests are forked from."""

from __future__ import annotations

import threading
from pathlib import Path

from grader.sandbox import fork_server


def test_libraries_that_do_not_load_leave_the_parent_itself(tmp_path: Path) -> None:
    missing = (str(tmp_path / "libkgsim.so"), str(tmp_path / "libkgtorch.so"))
    first = fork_server.shared_server()
    assert fork_server.shared_server(missing) is first
    assert fork_server.shared_server() is first


def test_a_branch_that_loads_holds_up_no_other_guest(monkeypatch) -> None:
    """Only those wait that want what it loads."""
    first, loading, loaded = fork_server.shared_server(), threading.Event(), threading.Event()
    assert first is not None

    def load(*_: object) -> fork_server.ForkServer:
        loading.set()
        assert loaded.wait(20)
        return first

    monkeypatch.setattr(first, "branch", load)
    branching = threading.Thread(target=fork_server.shared_server, args=(("a", "test's"),))
    branching.start()
    assert loading.wait(20)
    assert fork_server.shared_server() is first
    loaded.set()
    branching.join()
