"""Text kept on disk until its position in a document is known."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

_IN_MEMORY = 1 << 20
"""Bytes up to which no file is made."""


class Piece(NamedTuple):
    """Where a text lies in the spill, in bytes."""

    start: int
    length: int


class SpillFile(AbstractContextManager["SpillFile"]):
    """An unnamed file in a folder, deleted with this object; every method raises OSError."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115 - closed on leaving
        self._end = 0

    def __exit__(self, *_: object) -> None:
        """Delete the text."""
        self._file.close()

    def add(self, text: str) -> Piece:
        """Append a text; characters that UTF-8 can't encode become question marks."""
        data = text.encode("utf-8", "replace")
        self._file.seek(self._end)
        self._file.write(data)
        piece = Piece(self._end, len(data))
        self._end += len(data)
        return piece

    def get(self, piece: Piece) -> str:
        """Return a text that was added."""
        self._file.seek(piece.start)
        return self._file.read(piece.length).decode()
