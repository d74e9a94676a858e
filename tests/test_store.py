"""The store gives back what was written, or nothing."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.records import digest
from grader.store import COUNTED, Store


def test_reads_back_what_was_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = digest("a")
    assert store.read("review", key) is None
    store.write("review", key, b"body\nwith lines")
    assert store.read("review", key) == b"body\nwith lines"


def test_a_folder_that_can_not_be_made_or_written_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GraderError, match=r"can't write to .*file.*XDG_CACHE_HOME"):
        Store(tmp_path / "file" / "cache")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(GraderError, match="another user's"):
        Store(tmp_path)


def test_a_damaged_entry_reads_as_absent(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = digest("a")
    store.write("review", key, b"body")
    path = next(path for path in tmp_path.rglob(key))
    path.write_bytes(path.read_bytes()[:-1])
    assert store.read("review", key) is None
    assert not path.exists()


def test_one_at_a_time_makes_what_is_stored_under_a_key(tmp_path: Path) -> None:
    inside: list[int] = []

    def make(number: int) -> int:
        with Store(tmp_path).alone(digest("a")):  # a lock of its own, as another process has
            inside.append(number)
            time.sleep(0.01)
            inside.remove(number)
            return len(inside)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, range(8))) == {0}


def test_without_room_for_a_lock_all_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "locks").write_text("in its place")
    with store.alone(digest("a")):
        store.write("review", digest("a"), b"body")


def test_many_writers_of_one_folder_leave_one_whole_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = digest("artifact")

    def write(number: int) -> None:
        with store.new_folder("build", key) as draft:
            (draft / "a").write_text("x" * 1000)
            (draft / "b").write_text(str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    folder = store.folder("build", key)
    assert folder is not None
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert [path.name for path in folder.parent.iterdir()] == [key]


def test_a_failed_draft_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    try:
        with store.new_folder("build", digest("x")):
            raise RuntimeError
    except RuntimeError:
        pass
    assert store.folder("build", digest("x")) is None


def test_trim_keeps_what_was_used_last(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keys = [digest(str(number)) for number in range(10)]
    for number, key in enumerate(keys):
        store.write("review", key, b"x" * 1000)
        path = next(tmp_path.rglob(key))
        os.utime(path, (number, number))
    assert store.read("review", keys[0]) is not None  # used just now
    store.trim(3 * 1100)
    kept = [key for key in keys if store.read("review", key) is not None]
    assert keys[0] in kept
    assert len(kept) <= 3


def test_seeds_differ_between_installations(tmp_path: Path) -> None:
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    assert one.seed("a") == one.seed("a")
    assert one.seed("a") != two.seed("a")
    assert one.seed("a", "b") != one.seed("ab")


def test_a_seal_is_one_installations(tmp_path: Path) -> None:
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    assert one.seal("a") == one.seal("a")
    assert one.seal("a") not in {two.seal("a"), one.seal("b")}


def test_a_store_that_anyone_may_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(GraderError, match="anyone may write"):
        Store(tmp_path)


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_addresses_of_different_parts_differ(left: list[str], right: list[str]) -> None:
    assert (digest(*left) == digest(*right)) == (left == right)


def test_trim_takes_builds_and_drafts_but_nothing_in_use(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old, drafted, fresh = (store.builds / name for name in ("old", "building-x", "fresh"))
    for folder in (old, drafted, fresh):
        folder.mkdir(parents=True)
        (folder / "a.so").write_bytes(b"x" * 1000)
    os.utime(old, (1, 1))
    os.utime(drafted, (2, 2))
    assert store.usage()["builds"] == (3, 3000)
    assert store.trim(0) == 2000
    assert list(store.builds.iterdir()) == [fresh]
    assert store.trim(0, idle=-1) == 1000


def test_nobody_else_reads_what_is_kept(tmp_path: Path) -> None:
    old = tmp_path / "evaluation-by-content"
    old.mkdir(mode=0o755)
    store = Store(tmp_path)
    store.write("review", digest("a"), b"body")
    with store.new_folder("folder", digest("a")) as draft:
        (draft / "file").write_bytes(b"x")
    kinds = ("review", "folder", "evaluation")
    for folder in (store.builds, *(tmp_path / f"{kind}-by-content" for kind in kinds)):
        assert folder.stat().st_mode & 0o077 == 0, folder


def test_every_file_that_rules_are_made_of_counts_for_the_version() -> None:
    package = Path(__file__).parents[1] / "grader"
    files = [p for room in ("rules", "source") for p in (package / room).rglob("*") if p.is_file()]
    assert {p.suffix for p in files} - {".pyc"} <= COUNTED
