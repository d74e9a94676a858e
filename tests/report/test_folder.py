"""The run folder: everything beside each other, rendered again from the data alone."""

import json
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.records import Review
from grader.report.folder import RunFolder
from grader.report.spill import SpillFile
from grader.store import Store

from .conftest import CODE, Make
from .payloads import PAYLOADS


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write(root: Path, make_review: Make, **changes: str) -> RunFolder:
    folder = RunFolder(root)
    for sample in ("a", "b"):
        folder.add(make_review(sample, **changes), f"key of {sample}")
    folder.write_index()
    return folder


def test_a_run_leaves_every_format(tmp_path: Path, make_review: Make) -> None:
    write(tmp_path, make_review)
    each = {"a.md", "b.md"}
    pages = {
        f"{folder}/{name}.{end}"
        for folder, end in (("pages", "html"), ("data", "json"))
        for name in "ab"
    }
    repairs = {f"repairs/{name}.{kind}.py" for name in "ab" for kind in ("fixed", "reference")}
    shared = {"README.md", "index.html", "results.jsonl", "results.sarif", "junit.xml"}
    assert set(contents(tmp_path)) == each | pages | repairs | shared


def test_rendering_again_gives_the_same_bytes(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    before = contents(tmp_path)
    for one in folder.reviews():
        folder.render(one)
    folder.write_index()
    assert contents(tmp_path) == before


class Watched(RunFolder):
    """Counts the reviews that are alive whenever another one is read."""

    most = 0

    def reviews(self, samples: set[str] | None = None) -> Iterator[Review]:
        known: list[weakref.ref[Review]] = []
        for review in super().reviews(samples):
            known.append(weakref.ref(review))
            self.most = max(self.most, sum(one() is not None for one in known))
            yield review


def test_the_index_of_a_large_run_holds_few_reviews(tmp_path: Path, make_review: Make) -> None:
    folder = Watched(tmp_path)
    for number in range(12):
        folder.add(make_review(f"s{number}"), "key")
    assert len(folder.write_index()) == 12
    assert 0 < folder.most <= 3


@given(st.lists(st.text(), max_size=8), st.randoms())
def test_a_spool_gives_back_what_was_put_there(texts: list[str], order: Random) -> None:
    with SpillFile(Path()) as spill:
        pieces = [spill.add(text) for text in texts]
        pairs = list(zip(pieces, texts, strict=True))
        order.shuffle(pairs)
        for piece, text in pairs:
            assert spill.get(piece) == text.encode("utf-8", "replace").decode()


def test_a_spool_goes_on_in_a_file(tmp_path: Path) -> None:
    with SpillFile(tmp_path) as spill:
        pieces = [spill.add(letter * 400_000) for letter in "äbcd"]
        assert [set(spill.get(piece)) for piece in reversed(pieces)] == [{"d"}, {"c"}, {"b"}, {"ä"}]
    assert list(tmp_path.iterdir()) == []


def test_a_sample_called_readme_does_not_take_the_indexs_place(
    tmp_path: Path, make_review: Make
) -> None:
    folder = RunFolder(tmp_path)
    folder.add(make_review("README"), "key")
    folder.write_index()
    assert (tmp_path / "README.md").read_text().startswith("# Reviews")
    assert "(README.review.md)" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "README.review.md").read_text().startswith("# README")


def test_a_repair_that_is_gone_leaves_no_file(tmp_path: Path, make_review: Make) -> None:
    write(tmp_path, make_review)
    assert (tmp_path / "repairs" / "a.fixed.py").read_text() == CODE
    write(tmp_path, make_review, status="correct")
    assert list((tmp_path / "repairs").iterdir()) == []


def rows(folder: Path) -> list[str]:
    return [json.loads(line)["sample"] for line in (folder / "results.jsonl").open()]


def test_finished_samples_are_known_by_their_key(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"sample": "c", "key')  # as an interrupt leaves it
    (tmp_path / "pages" / ".draft-x").write_text("half a p")
    with folder.claim():
        assert folder.finished_samples() == {"a": "key of a", "b": "key of b"}
        folder.add(make_review("c"), "key of c")
    assert rows(tmp_path) == ["a", "b", "c"]
    assert not list(tmp_path.rglob(".draft-*"))


def test_a_folder_of_another_installation_sets_no_seed_and_no_row(
    tmp_path: Path, make_review: Make
) -> None:
    run = tmp_path / "run"
    stranger = RunFolder(run, Store(tmp_path / "stranger").seal)
    assert stranger.seed(None, 1) == 1
    stranger.add(make_review("a", status="correct"), "the key")
    ours = Store(tmp_path / "ours")
    folder = RunFolder(run, ours.seal)
    assert folder.seed(None, 2) == 2
    assert folder.finished_samples() == {}
    folder.add(make_review("a"), "the key")
    again = RunFolder(run, ours.seal)
    assert again.seed(None, 3) == 2
    assert again.finished_samples() == {"a": "the key"}
    assert again.seed(5, 6) == 5


@pytest.mark.parametrize("text", ["", "{}", '{"seed": 1}', '{"seed": [], "seal": 1}', "[" * 10_000])
def test_a_forged_record_of_a_run_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    folder = RunFolder(tmp_path, Store(tmp_path / "store").seal)
    assert folder.seed(None, 2) == 2
    assert folder.finished_samples() == {}


def test_a_sample_graded_again_has_one_row(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    folder.add(make_review("a"), "newer key")
    folder.settle({"a"}, ())
    assert rows(tmp_path) == ["b", "a"]
    assert folder.finished_samples() == {"a": "newer key", "b": "key of b"}


def test_an_unchanged_run_writes_no_index_again(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    path = tmp_path / "results.jsonl"
    os.utime(path, (1, 1))
    with folder.claim():
        folder.settle({"a"}, ())
    assert path.stat().st_mtime == 1, "else the index is taken for older than the rows"
    assert folder.index_is_current()
    with path.open("ab") as file:
        file.write(b'{"half": ')
    with folder.claim():
        assert path.read_bytes().endswith(b"}\n")
    assert path.stat().st_mtime > 1


def test_samples_of_other_paths_stay(tmp_path: Path, make_review: Make) -> None:
    folder = RunFolder(tmp_path / "run")
    samples = tmp_path / "samples"
    for sample, origin in (
        ("a", samples / "a.md"),
        ("gone", samples / "gone.md"),
        ("other", tmp_path / "samples2" / "other.md"),
        ("line_1", f"{tmp_path}/x.jsonl:1"),
        ("line_2", f"{tmp_path}/x.jsonl:2"),
    ):
        folder.add(make_review(sample, origin=str(origin)), "key")
    folder.settle({"a"}, [str(samples / "a.md")])
    assert len(rows(folder.root)) == 5
    folder.settle({"a", "line_1"}, [str(samples), str(tmp_path / "x.jsonl")])
    assert rows(folder.root) == ["a", "other", "line_1"]
    assert {review.sample for review in folder.write_index()} == {"a", "other", "line_1"}
    assert not list(folder.root.rglob("gone*"))


def test_two_gradings_into_one_folder_are_refused(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path).claim(),
        pytest.raises(UsageError, match="another grading"),
        RunFolder(tmp_path).claim(),
    ):
        pass


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_words_stop_a_run(tmp_path: Path, make_review: Make, payload: str) -> None:
    folder = RunFolder(tmp_path)
    folder.add(make_review("a", words=payload), "key")
    folder.write_index()
    assert folder.review("a") is not None
