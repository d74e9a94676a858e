"""Plain Python files: the file is the program."""

from __future__ import annotations

from collections.abc import Iterator

from grader.ingest.decode import MAX_BYTES, decode
from grader.ingest.format import Draft, Format, Input, has_suffix, read_bytes
from grader.ingest.transcript import task_hint


def _read_file(source: Input) -> Iterator[Draft]:
    text, notes = decode(read_bytes(source.path, MAX_BYTES))
    hint = task_hint(source, "")
    yield Draft(source.name, str(source.path), "python", text, task_hint=hint, notes=notes)


FORMAT = Format("python", (".py",), has_suffix(".py"), _read_file)
