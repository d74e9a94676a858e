"""The schema of `results.jsonl`, from the row's model: `python -m grader.report.schema FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from grader.records import SCHEMA
from grader.report.rows import Row


def render() -> str:
    """Return the JSON Schema (draft 2020-12) of one line of `results.jsonl`."""
    made = Row.model_json_schema(mode="serialization", by_alias=True)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A row of results.jsonl ({SCHEMA})",
    }
    return json.dumps({**head, **{k: v for k, v in made.items() if k != "title"}}, indent=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), "utf-8")
