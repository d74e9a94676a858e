"""The published schema and the rows that promise to follow it."""

import json
from pathlib import Path

import jsonschema
import pytest

from grader.report import rows, schema

from .conftest import Make
from .payloads import PAYLOADS

PUBLISHED = Path(__file__).parents[2] / "docs" / "results.schema.json"


def test_the_published_schema_is_that_of_the_code() -> None:
    assert PUBLISHED.read_text("utf-8") == schema.render(), (
        "run python -m grader.report.schema docs/results.schema.json"
    )


@pytest.mark.parametrize("status", ["correct", "incorrect", "grader_error", "no_code"])
def test_a_row_follows_the_schema(make_review: Make, status: str) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text("utf-8")))
    checker.validate(json.loads(rows.line(make_review(status=status, speedup=1.5), "key")))


def test_a_row_with_a_field_more_does_not(make_review: Make) -> None:
    checker = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text("utf-8")))
    assert not checker.is_valid({**rows.row(make_review()), "more": 1})


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_row_is_one_line_whatever_is_in_it(make_review: Make, payload: str) -> None:
    line = rows.line(make_review(words=payload))
    assert line.isascii()
    assert line.splitlines() == [line]
    assert json.loads(line)["sample"] == "total_race"
