"""Parquet files of completions, read batch by batch; needs the extra `parquet` (pyarrow)."""

from __future__ import annotations

from collections.abc import Iterator

from grader.errors import UsageError
from grader.ingest.completions import read_record
from grader.ingest.format import Draft, Format, Input, has_suffix
from grader.ingest.jsonl import drafts

BATCH = 64


def _read(source: Input) -> Iterator[Draft]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UsageError(
            f"{source.path.name} is a Parquet file, and pyarrow is not installed",
            "install it: pip install 'kernel-grader[parquet]'",
        ) from error
    number = 0
    try:
        with ParquetFile(source.path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield from _row(row, number, source)
    except ArrowException as error:
        yield Draft(source.name, str(source.path), "parquet", "", unreadable=str(error)[:500])


def _row(row: dict[str, object], number: int, source: Input) -> Iterator[Draft]:
    fallback, origin = f"{source.name}_{number:05d}", f"{source.path}#{number}"
    record = read_record(row)
    if record is None:
        yield Draft(fallback, origin, "parquet", "", notes=("the row holds no completion",))
        return
    yield from drafts(record, fallback, source.name, origin, "parquet")


FORMAT = Format("parquet", (".parquet",), has_suffix(".parquet"), _read)
