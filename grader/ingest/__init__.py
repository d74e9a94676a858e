"""Input formats, one file each: samples in, submissions out, with a map of their lines."""

from grader.ingest.as_it_came import AsItCame, as_it_came
from grader.ingest.extract import extract
from grader.ingest.format import Skipped
from grader.ingest.read import read_samples

__all__ = ["AsItCame", "Skipped", "as_it_came", "extract", "read_samples"]
