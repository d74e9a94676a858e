"""One file a format: samples in, submissions out, the map of their lines kept."""

from grader.ingest.extract import extract
from grader.ingest.format import Skipped
from grader.ingest.read import read_samples

__all__ = ["Skipped", "extract", "read_samples"]
