"""JSONL, a completion a line, streamed; and JSON files that hold such records."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Protocol

from grader.ingest.completions import Completion, read_record
from grader.ingest.decode import MAX_BYTES, clean, decode
from grader.ingest.format import Draft, Format, Input, has_suffix, read_bytes
from grader.records import SampleFormat


class LineReader(Protocol):
    """What samples are streamed from."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line with its end, at most `size` bytes of it; empty at the end."""
        ...


def read_lines(file: LineReader, name: str, origin: str) -> Iterator[Draft]:
    """Yield the samples of an open JSONL file, one line in memory at a time."""
    number = 0
    while line := file.readline(MAX_BYTES):
        number += 1
        if not line.endswith(b"\n") and len(line) >= MAX_BYTES:
            _skip_rest(file)
        if line.strip():
            yield from _read_line(line, f"{name}_{number:05d}", name, f"{origin}:{number}")


def drafts(
    record: Completion, fallback: str, name: str, origin: str, form: SampleFormat
) -> Iterator[Draft]:
    """Yield a sample for each completion of a record."""
    wanted = record.id or fallback
    if wanted.isdecimal():
        wanted = f"{name}_{wanted}"
    for index, text in enumerate(record.texts):
        yield Draft(
            wanted if len(record.texts) == 1 else f"{wanted}_{index}",
            origin,
            form,
            clean(text),
            prompt=clean(record.prompt) if record.prompt else None,
            task_hint=record.task,
            kernelbench=record.kernelbench,
        )


def _read_line(line: bytes, fallback: str, name: str, origin: str) -> Iterator[Draft]:
    text, notes = decode(line)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        note = f"not a JSON record: {error}"
        yield Draft(fallback, origin, "jsonl", text.rstrip("\n"), notes=(*notes, note))
        return
    record = read_record(value)
    if record is None:
        note = "the record holds no completion"
        yield Draft(fallback, origin, "jsonl", "", notes=(*notes, note))
        return
    yield from drafts(record, fallback, name, origin, "jsonl")


def _skip_rest(file: LineReader) -> None:
    while (more := file.readline(MAX_BYTES)) and not more.endswith(b"\n"):
        pass


def _read(source: Input) -> Iterator[Draft]:
    zipped = source.path.suffix.lower() == ".gz"
    with gzip.open(source.path, "rb") if zipped else source.path.open("rb") as file:
        yield from read_lines(file, source.name, str(source.path))


def _read_json(source: Input) -> Iterator[Draft]:
    """Read a JSON file that is a list of records, or one; a folder's other JSON is left alone."""
    try:
        value = json.loads(decode(read_bytes(source.path, MAX_BYTES)).text)
    except (ValueError, RecursionError):
        value = None
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        record = read_record(item) if isinstance(item, dict) else None
        if record is not None:
            fallback = f"{source.name}_{number:05d}" if isinstance(value, list) else source.name
            yield from drafts(record, fallback, source.name, f"{source.path}#{number}", "jsonl")


LINE_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz")
FORMAT = Format("jsonl", LINE_SUFFIXES, has_suffix(*LINE_SUFFIXES), _read)
JSON_FORMAT = Format("jsonl", (".json",), has_suffix(".json"), _read_json)
