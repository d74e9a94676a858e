"""Names of the files in a run folder."""

from __future__ import annotations

ROWS = "results.jsonl"
INDEX = "README.md"
PAGES_INDEX = "index.html"
LOCK = ".lock"
"""Lock file of the grading that writes here."""

_SUFFIX = {
    "fix": "fixed",
    "model": "model",
    "reference": "reference",
    "reference_fast": "reference.fast",
}


def markdown_name(sample: str) -> str:
    """Return a review's file name; a sample called README must not be the index."""
    return f"{sample}.review.md" if sample.lower() == "readme" else f"{sample}.md"


def page(sample: str) -> str:
    """Return the name of a sample's page."""
    return f"pages/{sample}.html"


def repair(sample: str, kind: str) -> str:
    """Return the name of a repair's whole file; `kind` is `fix`, `model`, `reference` or `reference_fast`."""
    return f"repairs/{sample}.{_SUFFIX[kind]}.py"


def data(sample: str) -> str:
    """Return the name of a review as data."""
    return f"data/{sample}.json"
