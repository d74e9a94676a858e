"""A folder with `solution.py` and `reference.py`: the answer beside the reference, both with a class `Model`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.ingest.decode import MAX_BYTES, decode
from grader.ingest.format import Draft, Format, Input, read_bytes
from grader.ingest.transcript import task_hint

SOLUTION = "solution.py"
REFERENCE = "reference.py"


def is_reference(path: Path) -> bool:
    """Whether a file is the reference beside a solution, which isn't a sample."""
    return path.name == REFERENCE and path.with_name(SOLUTION).is_file()


def _matches(path: Path) -> bool:
    return path.name == SOLUTION and path.with_name(REFERENCE).is_file()


def _read_folder(source: Input) -> Iterator[Draft]:
    text, notes = decode(read_bytes(source.path, MAX_BYTES))
    reference = source.path.with_name(REFERENCE)
    asked = decode(read_bytes(reference, MAX_BYTES)).text if source.has_beside(reference) else None
    yield Draft(
        source.path.parent.name or source.name,
        str(source.path),
        "python",
        text,
        prompt=asked,
        task_hint=task_hint(source, ""),
        notes=notes,
    )


FORMAT = Format("solution folder", (), _matches, _read_folder)
