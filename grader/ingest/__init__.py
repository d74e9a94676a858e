"""One file a format: samples in, submissions out, the map of their lines kept."""

from grader.ingest.as_it_came import AsItCame, as_it_came
from grader.ingest.extract import extract
from grader.ingest.format import Skipped
from grader.ingest.read import read_samples

__all__ = ["AsItCame", "Skipped", "as_it_came", "extract", "read_samples"]
