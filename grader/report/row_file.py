"""`results.jsonl`: a row for each finished sample, complete or absent, even if the writer was killed."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class RowHead(NamedTuple):
    """The fields that identify a row."""

    sample: str
    key: str
    origin: str
    status: str


class RowFile:
    """Appended to as samples finish; one row in memory at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: str) -> None:
        """Add a row. Raises OSError where the disk doesn't take all of it."""
        with self.path.open("ab") as file:
            file.write(f"{line}\n".encode())

    def fix_tail(self) -> None:
        """Remove an incomplete last row of a killed writer, so that the next row starts on its own line."""
        if not self.path.is_file():
            return
        with self.path.open("r+b") as file:
            whole = sum(len(line) for line in file if line.endswith(b"\n"))
            if whole < file.seek(0, os.SEEK_END):  # else its time stays: the index is current
                file.truncate(whole)

    def finished_samples(self) -> dict[str, str]:
        """Return the content address of each sample with a whole row; its last one counts.

        A sample on which the grader itself failed is not finished.
        """
        last = {head.sample: head for _, head in self._heads()}
        return {head.sample: head.key for head in last.values() if head.status != "grader_error"}

    def keep(self, wanted: Callable[[RowHead], bool]) -> set[str]:
        """Keep the last row of each wanted sample, in the order of the file.

        Returns the samples kept; a file that already has only these is not rewritten. Raises OSError and leaves the
        file unchanged.
        """
        count = 0
        last: dict[str, int] = {}
        for offset, head in self._heads():
            count += 1
            if wanted(head):
                last[head.sample] = offset
        if len(last) == count:
            return set(last)
        descriptor, name = tempfile.mkstemp(prefix=".draft-", dir=self.path.parent)
        try:
            with os.fdopen(descriptor, "wb") as out:
                out.writelines(self._lines(sorted(last.values())))
            os.chmod(name, 0o644)  # noqa: PTH101 - mkstemp's 0600 would hide it from other users
            os.replace(name, self.path)  # noqa: PTH105 - the draft's name is a string
        finally:
            Path(name).unlink(missing_ok=True)
        return set(last)

    def lines(self, samples: set[str]) -> Iterator[str]:
        """Yield the last row of each of these samples, without its end, sorted by sample."""
        last = {head.sample: offset for offset, head in self._heads() if head.sample in samples}
        for line in self._lines([last[sample] for sample in sorted(last)]):
            yield line.decode("utf-8").removesuffix("\n")

    def _heads(self) -> Iterator[tuple[int, RowHead]]:
        """Yield each row's offset and identity; other lines are skipped."""
        if not self.path.is_file():
            return
        offset = 0
        with self.path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and (head := _head(line)):
                    yield offset, head
                offset += len(line)

    def _lines(self, offsets: list[int]) -> Iterator[bytes]:
        if not offsets:
            return
        with self.path.open("rb") as file:
            for offset in offsets:
                file.seek(offset)
                yield file.readline()


def _head(line: bytes) -> RowHead | None:
    """Return a line's identity; None where it is not a row."""
    try:
        data = json.loads(line)
        return RowHead(*(str(data[name]) for name in RowHead._fields))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
