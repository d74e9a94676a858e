"""The run folder: everything beside each other, rendered again from the data alone."""

import json
from pathlib import Path

import pytest

from grader.report.folder import RunFolder

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
    folder.write_index({"a", "b"})
    return folder


def test_a_run_leaves_every_format(tmp_path: Path, make_review: Make) -> None:
    write(tmp_path, make_review)
    each = {"a.md", "b.md"}
    pages = {
        f"{folder}/{name}.{end}"
        for folder, end in (("pages", "html"), ("data", "json"))
        for name in "ab"
    }
    repairs = {f"repairs/{name}.{kind}.py" for name in "ab" for kind in ("mend", "reference")}
    shared = {"README.md", "index.html", "results.jsonl", "results.sarif", "junit.xml"}
    assert set(contents(tmp_path)) == each | pages | repairs | shared


def test_rendering_again_gives_the_same_bytes(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    before = contents(tmp_path)
    for one in folder.reviews():
        folder.render(one)
    folder.write_index({"a", "b"})
    assert contents(tmp_path) == before


def test_a_sample_called_readme_does_not_take_the_indexs_place(
    tmp_path: Path, make_review: Make
) -> None:
    folder = RunFolder(tmp_path)
    folder.add(make_review("README"), "key")
    folder.write_index({"README"})
    assert (tmp_path / "README.md").read_text().startswith("# Reviews")
    assert "(README.review.md)" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "README.review.md").read_text().startswith("# README")


def test_a_repair_that_is_gone_leaves_no_file(tmp_path: Path, make_review: Make) -> None:
    write(tmp_path, make_review)
    assert (tmp_path / "repairs" / "a.mend.py").read_text() == CODE
    write(tmp_path, make_review, status="correct")
    assert list((tmp_path / "repairs").iterdir()) == []


def test_finished_samples_are_known_by_their_key(tmp_path: Path, make_review: Make) -> None:
    folder = write(tmp_path, make_review)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"sample": "c", "key')  # as an interrupt leaves it
    assert folder.finished() == {"a": "key of a", "b": "key of b"}
    folder.keep({"b"})
    assert [json.loads(line)["sample"] for line in (tmp_path / "results.jsonl").open()] == ["b"]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_words_stop_a_run(tmp_path: Path, make_review: Make, payload: str) -> None:
    folder = RunFolder(tmp_path)
    folder.add(make_review("a", words=payload), "key")
    folder.write_index({"a"})
    assert folder.review("a") is not None
