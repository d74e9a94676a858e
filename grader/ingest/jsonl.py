"""JSONL, one completion in each line, streamed; and JSON files with such records."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

from grader.ingest.completions import ENTRY_CLASS, LIST_FIELDS, TEXT_FIELDS, Completion, read_record
from grader.ingest.decode import MAX_BYTES, clean, decode, wide_encoding
from grader.ingest.format import Draft, Format, Input, Skipped, has_suffix, read_bytes
from grader.records import JsonValue, SampleFormat

KEYS_DEEP = 3
"""Depth of nested objects that a program may be in."""
PEEKED = 4096
"""Bytes that the Unicode encoding is detected from."""
_SOME_FIELDS = ", ".join(f"`{field}`" for field in TEXT_FIELDS[:3])
KEYS = 5
"""Number of a record's fields that a message lists where none is known."""


class LineReader(Protocol):
    """A stream that samples are read from."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line with its end, at most `size` bytes of it; empty at the end."""
        ...


class RecodedLines:
    """The lines of a text in UTF-16 or UTF-32, as UTF-8: in those encodings a line end is not a single byte."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, "replace", newline="\n")

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line with its end, at most `size` characters of it; empty at the end."""
        return self._text.readline(size).encode("utf-8", "replace")


def read_lines(file: LineReader, name: str, origin: str) -> Iterator[Draft | Skipped]:
    """Yield the samples of an open JSONL file, one line in memory at a time; lines that are no record are skipped."""
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


def _read_line(line: bytes, fallback: str, name: str, origin: str) -> Iterator[Draft | Skipped]:
    try:
        value = json.loads(decode(line).text)
    except json.JSONDecodeError as error:
        yield Skipped(origin, f"not a JSON record: {error.msg}, column {error.colno}")
        return
    except (ValueError, RecursionError) as error:
        yield Skipped(origin, f"not a JSON record: {error}")
        return
    yield from of_record(value, fallback, name, origin, "jsonl")


def of_record(
    value: JsonValue, fallback: str, name: str, origin: str, form: SampleFormat
) -> Iterator[Draft | Skipped]:
    """Yield a record's samples; one whose completion is empty is a sample without code."""
    record = read_record(value)
    if record is not None:
        yield from drafts(record, fallback, name, origin, form)
    elif isinstance(value, dict) and any(field in value for field in (*TEXT_FIELDS, *LIST_FIELDS)):
        yield Draft(fallback, origin, form, "", notes=("the record's completion is empty",))
    else:
        has = (
            ", ".join(f"`{key[:40]}`" for key in [*value][:KEYS]) if isinstance(value, dict) else ""
        )
        instead = f"; it has {has}: name the one that holds the answer `completion`" if has else ""
        looked = f"looked for {_SOME_FIELDS}, ..."
        yield Skipped(origin, f"the record holds no completion ({looked}{instead})")


def _skip_rest(file: LineReader) -> None:
    while (more := file.readline(MAX_BYTES)) and not more.endswith(b"\n"):
        pass


def _read_lines(source: Input) -> Iterator[Draft | Skipped]:
    zipped = source.path.suffix.lower() == ".gz"
    with gzip.open(source.path, "rb") if zipped else source.path.open("rb") as file:
        yield from read_lines(lines_of(cast("BinaryIO", file)), source.name, str(source.path))


def lines_of(file: BinaryIO) -> LineReader:
    """Return the lines of an open file as UTF-8, from any Unicode encoding."""
    buffered = file if hasattr(file, "peek") else io.BufferedReader(cast("io.RawIOBase", file))
    encoding = wide_encoding(buffered.peek(PEEKED))
    return RecodedLines(buffered, encoding) if encoding else buffered


def _read_json(source: Input) -> Iterator[Draft]:
    """Read a JSON file of records: one, a list, one a line, or by keys; a folder's other JSON is left alone."""
    for number, (name, record) in enumerate(_records(source), 1):
        if record is not None:
            yield from drafts(record, name, source.name, f"{source.path}#{number}", "jsonl")


def _records(source: Input) -> Iterator[tuple[str, Completion | None]]:
    """Yield possible records, each with a name; None for a value that isn't one."""
    text = decode(read_bytes(source.path, MAX_BYTES)).text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _lines(text)
    if isinstance(value, list):
        yield from ((f"{source.name}_{n:05d}", _record(item)) for n, item in enumerate(value, 1))
    elif (record := _record(value)) is None and isinstance(value, dict):
        yield from _by_keys(value, source.name, KEYS_DEEP)
    else:
        yield source.name, record


def _record(value: JsonValue) -> Completion | None:
    return read_record(value) if isinstance(value, dict) else None


def _lines(text: str) -> JsonValue:
    """Return the records of a JSONL file with another suffix; None where any line isn't a record."""
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _by_keys(value: dict[str, JsonValue], name: str, deep: int) -> Iterator[tuple[str, Completion]]:
    """Yield the records with a program in nested objects, keyed by level and problem for example."""
    for key, item in value.items():
        if not isinstance(item, dict):
            continue
        record = read_record(item)
        if record is not None and any(ENTRY_CLASS in text for text in record.texts):
            yield f"{name}_{key}", record
        elif deep:
            yield from _by_keys(item, f"{name}_{key}", deep - 1)


LINE_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz")
FORMAT = Format("jsonl", LINE_SUFFIXES, has_suffix(*LINE_SUFFIXES), _read_lines)
JSON_FORMAT = Format("jsonl", (".json",), has_suffix(".json"), _read_json)
