"""The run folder: each review as markdown, page and data, a row each, and the tables of all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from grader.errors import GraderError
from grader.records import Review
from grader.report import html, index, junit, markdown, names, rows, sarif
from grader.store import write_whole


class RunFolder:
    """Where one run writes; every sample is on disk as soon as it's finished."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        try:
            for folder in ("data", "pages", "repairs"):
                (root / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraderError(
                f"can't write to {root}: {error.strerror}", "choose another --out"
            ) from error

    def seed(self, wanted: int | None, fresh: int) -> int:
        """Return the wanted seed, else the recorded one, else the fresh one; record it."""
        path = self.root / "run.json"
        recorded = None
        if path.is_file():
            try:
                recorded = int(json.loads(path.read_text("utf-8"))["seed"])
            except (ValueError, KeyError, TypeError):
                recorded = None
        seed = next(value for value in (wanted, recorded, fresh) if value is not None)
        self._write(path, json.dumps({"seed": seed}) + "\n")
        return seed

    def finished(self) -> dict[str, str]:
        """Return the content address of each sample with a whole row; a cut last row is dropped."""
        found: dict[str, str] = {}
        for text in self._rows():
            try:
                data = json.loads(text)
                found[str(data["sample"])] = str(data["key"])
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def keep(self, samples: set[str]) -> None:
        """Drop the rows of samples that are not among these, and what is not a row."""
        kept: dict[str, str] = {}
        for text in self._rows():
            try:
                kept[str(json.loads(text)["sample"])] = text
            except (ValueError, KeyError, TypeError):
                continue
        lines = [text for sample, text in kept.items() if sample in samples]
        self._write(self.root / names.ROWS, "".join(f"{text}\n" for text in lines))

    def add(self, review: Review, key: str) -> None:
        """Write one review, its row last, so that a row means that all else is there."""
        self._write(self.root / names.data(review.sample), _data(review) + "\n")
        self.render(review)
        with self._lock:
            try:
                with (self.root / names.ROWS).open("a", encoding="utf-8") as file:
                    file.write(rows.line(review, key) + "\n")
            except OSError as error:
                raise _full(self.root, error) from error

    def render(self, review: Review) -> None:
        """Write a review's markdown, page and repaired programs, from the review alone."""
        self._write(self.root / names.markdown(review.sample), markdown.render(review))
        self._write(self.root / names.page(review.sample), html.page(review))
        codes = {repair.kind: repair.code for repair in review.repairs}
        for kind in ("mend", "model", "reference"):
            path = self.root / names.repair(review.sample, kind)
            if kind in codes:
                self._write(path, codes[kind])
            else:
                path.unlink(missing_ok=True)

    def reviews(self) -> Iterator[Review]:
        """Read all reviews back, sorted by sample."""
        for path in sorted((self.root / "data").glob("*.json")):
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

    def write_index(self, samples: set[str]) -> list[Review]:
        """Write what is said of these samples together; return their reviews."""
        found = [review for review in self.reviews() if review.sample in samples]
        self._write(self.root / names.INDEX, index.render(found))
        self._write(self.root / names.PAGES_INDEX, html.index(found))
        self._write(self.root / names.SARIF, sarif.render(found))
        self._write(self.root / names.JUNIT, junit.render(found))
        return found

    def _rows(self) -> list[str]:
        path = self.root / names.ROWS
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def _write(self, path: Path, text: str) -> None:
        try:
            write_whole(path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise _full(self.root, error) from error


def _data(review: Review) -> str:
    try:
        return review.model_dump_json(indent=1)
    except PydanticSerializationError:  # half a surrogate pair, which no file can hold
        text = json.dumps(review.model_dump(mode="json"), indent=1, ensure_ascii=False)
        return text.encode("utf-8", "replace").decode()


def _full(root: Path, error: OSError) -> GraderError:
    return GraderError(
        f"can't write to {root}: {error.strerror}", "free some space, then run again to go on"
    )
