"""The warm parents that guests are forked from."""

from __future__ import annotations

from pathlib import Path

from grader.sandbox import nursery


def test_libraries_that_do_not_load_leave_the_parent_itself(tmp_path: Path) -> None:
    missing = (str(tmp_path / "libkgsim.so"), str(tmp_path / "libkgtorch.so"))
    first = nursery.shared()
    assert nursery.shared(missing) is first
    assert nursery.shared() is first
