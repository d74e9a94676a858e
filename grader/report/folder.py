"""The run folder: each review as markdown, page and data, a row each, and the tables of all."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from grader.errors import GraderError, UsageError
from grader.records import Review, Status
from grader.report import names
from grader.report.formats import all_formats
from grader.report.row_file import RowFile, RowHead
from grader.store import write_parts

if TYPE_CHECKING:
    from grader.report.entry import Entry

_PLACES = (names.markdown_name, names.page, names.data)
_REPAIRS = ("fix", "model", "reference", "reference_fast")


class Written(NamedTuple):
    """A review that is on disk but for its row."""

    row: str
    status: Status


class RunFolder:
    """The folder that one run writes; every sample is on disk as soon as it's finished."""

    def __init__(self, root: Path, seal: Callable[[str], str] = str) -> None:
        """Make the folder; `seal` marks a run as this installation's, see `Store.seal`."""
        self.root = root
        self._seal = seal
        self._ours = True
        self.rows = RowFile(root / names.ROWS)
        self._lock = threading.Lock()
        try:
            for folder in ("data", "pages", "repairs"):
                (root / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"can't write to {root}: {error.strerror}", "choose another --out"
            ) from error

    def seed(self, wanted: int | None, fresh: int) -> int:
        """Return the wanted seed, else the recorded one, else the fresh one; record it.

        A run recorded by another installation is not resumed: a folder shipped with its samples could set inputs that
        their author knows, and hold rows for samples that were never graded.
        """
        path = self.root / "run.json"
        recorded = self._recorded_version(path)
        self._ours = recorded is not None
        seed = next(value for value in (wanted, recorded, fresh) if value is not None)
        run = {"seed": seed, "seal": self._seal(f"seed {seed}")}
        self._write(path, json.dumps(run) + "\n")
        return seed

    def _recorded_version(self, path: Path) -> int | None:
        try:
            found = json.loads(path.read_text("utf-8"))
            seed = int(found["seed"])
            return seed if found["seal"] == self._seal(f"seed {seed}") else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder for one grading; half-written files of a killed grading are removed.

        Raises UsageError where another grading writes here now, GraderError where the disk fails.
        """
        lock = FileLock(self.root / names.LOCK)
        try:
            lock.acquire(blocking=False)
        except Timeout as error:
            raise UsageError(
                f"another grading writes to {self.root}", "wait for it, or choose another --out"
            ) from error
        try:
            with self._tell_disk_errors():
                for draft in self.root.rglob(".draft-*"):
                    draft.unlink(missing_ok=True)
                self.rows.fix_tail()
            yield
        finally:
            lock.release()

    def finished_samples(self) -> dict[str, str]:
        """Return the content address of each sample with a whole row; none where another installation wrote the run."""
        if not self._ours:
            return {}
        with self._tell_disk_errors():
            return self.rows.finished_samples()

    def settle(self, seen: set[str], paths: Sequence[str]) -> bool:
        """Keep one row for each sample, and drop samples of these paths that are gone.

        Samples of other paths stay: a folder may be graded in several runs. Returns whether any was dropped.
        """
        here = Path.cwd()
        inside = tuple(prefix for path in paths for prefix in _beneath(here / path))

        def is_wanted(head: RowHead) -> bool:
            return head.sample in seen or not str(here / head.origin).startswith(inside)

        with self._tell_disk_errors():
            kept = self.rows.keep(is_wanted)
            there = {path.stem for path in (self.root / "data").glob("*.json")}
            for sample in there - kept:
                self._forget(sample)
        return bool(there - kept)

    def index_is_current(self) -> bool:
        """Whether the documents on all samples exist and are no older than the rows."""
        try:
            rows = (self.root / names.ROWS).stat().st_mtime_ns
            files = (names.INDEX, names.PAGES_INDEX, *(one.file for one in all_formats()))
            return all((self.root / name).stat().st_mtime_ns >= rows for name in files)
        except OSError:
            return False

    def _forget(self, sample: str) -> None:
        for place in _PLACES:
            (self.root / place(sample)).unlink(missing_ok=True)
        for kind in _REPAIRS:
            (self.root / names.repair(sample, kind)).unlink(missing_ok=True)

    def add(self, review: Review, key: str) -> None:
        """Write one review, its row last, so that a row implies that all other files exist."""
        self.append(self.write(review, key))

    def write(self, review: Review, key: str) -> Written:
        """Write all of a review but its row, which is returned; any process may do so, one for each sample."""
        from grader.report import rows

        self._write(self.root / names.data(review.sample), _data(review) + "\n")
        self.render(review)
        return Written(rows.line(review, key), review.verdict.status)

    def append(self, written: Written) -> None:
        """Add the row of a written review: only the process that claimed the folder may."""
        with self._lock, self._tell_disk_errors():
            self.rows.append(written.row)

    def render(self, review: Review) -> None:
        """Write a review's markdown, page and repaired programs, from the review alone."""
        from grader.report import html, markdown

        self._write(self.root / names.markdown_name(review.sample), markdown.render(review))
        self._write(self.root / names.page(review.sample), html.page(review))
        repairs = {repair.kind: repair for repair in reversed(review.repairs)}
        named = repairs | {"reference_fast": review.reference_fast}
        codes = {kind: repair.code for kind, repair in named.items() if repair}
        for kind in _REPAIRS:
            path = self.root / names.repair(review.sample, kind)
            if kind in codes:
                self._write(path, codes[kind])
            else:
                path.unlink(missing_ok=True)

    def reviews(self, samples: set[str] | None = None) -> Iterator[Review]:
        """Read reviews back, all or those of these samples, sorted by sample, one in memory."""
        for path in sorted((self.root / "data").glob("*.json"), key=lambda path: path.stem):
            if samples is not None and path.stem not in samples:
                continue
            try:
                yield Review.model_validate_json(path.read_bytes())
            except ValidationError as error:
                raise GraderError(
                    f"{path} is not a review of this version", "grade again"
                ) from error

    def review(self, sample: str) -> Review | None:
        """Read one review back."""
        path = self.root / names.data(sample)
        return Review.model_validate_json(path.read_bytes()) if path.is_file() else None

    def write_index(self) -> list[Entry]:
        """Write the documents on all samples; return an entry for each, sorted by sample."""
        from grader.report import html, index
        from grader.report.entry import entry
        from grader.report.spill import SpillFile

        found: list[Entry] = []
        environment: dict[str, str] | None = None
        with self._tell_disk_errors(), SpillFile(self.root) as spill:
            documents = {one.file: one.begin(spill) for one in all_formats()}
            for review in self.reviews():
                environment = review.environment if environment is None else environment
                found.append(entry(review))
                for document in documents.values():
                    document.add(review)
            for file, document in documents.items():
                self._write_parts(self.root / file, document.parts())
            self._write(self.root / names.INDEX, index.render(found))
            self._write(self.root / names.PAGES_INDEX, html.index(found, environment or {}))
        return found

    def _write(self, path: Path, text: str) -> None:
        self._write_parts(path, (text,))

    def _write_parts(self, path: Path, parts: Iterable[str]) -> None:
        with self._tell_disk_errors():
            write_parts(path, (part.encode("utf-8", "replace") for part in parts))

    @contextlib.contextmanager
    def _tell_disk_errors(self) -> Iterator[None]:
        """Turn a disk error into a sentence that says what would help."""
        try:
            yield
        except OSError as error:
            raise GraderError(
                f"can't write to {self.root}: {error.strerror or error}",
                "free some space, then run again to go on",
            ) from error


def _beneath(path: Path) -> tuple[str, ...]:
    """Return the prefix of the origins of a path's samples: its folder, or the file's records."""
    if path.name == "-":
        path = path.with_name("stdin")
    return (f"{path}/", f"{path}:", f"{path}#")


def _data(review: Review) -> str:
    try:
        return review.model_dump_json(indent=1)
    except PydanticSerializationError:  # half a surrogate pair, which no file can hold
        text = json.dumps(review.model_dump(mode="json"), indent=1, ensure_ascii=False)
        return text.encode("utf-8", "replace").decode()
