"""Parquet files of completions, read batch by batch; needs the extra `parquet` (pyarrow)."""

from __future__ import annotations

from collections.abc import Iterator

from grader.errors import UsageError
from grader.ingest.format import Draft, Format, Input, Skipped, has_suffix
from grader.ingest.jsonl import of_record

BATCH = 64


def _read_rows(source: Input) -> Iterator[Draft | Skipped]:
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
                    origin = f"{source.path}#{number}"
                    fallback = f"{source.name}_{number:05d}"
                    yield from of_record(row, fallback, source.name, origin, "parquet")
    except ArrowException as error:
        yield Draft(source.name, str(source.path), "parquet", "", unreadable=str(error)[:500])


FORMAT = Format("parquet", (".parquet",), has_suffix(".parquet"), _read_rows)
