"""The seed transcripts: what the contract, build, API and style rules have to say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.ingest import extract, read_samples
from grader.records import Context, Evidence, Finding, Place
from grader.source import parse
from tests.rules.reviews import review_text

SEEDS = Path("/work/shared/seeds")
FAMILIES = ("EXT", "BLD", "API", "CHT", "SEC", "STY")
EXPECTED = {
    "000": {
        ("BLD009", 25), ("API001", 90), ("API003", 73), ("STY001", 21), ("STY001", 46),
        ("STY002", 25), ("STY002", 57), ("STY003", 42), ("STY003", 55), ("STY003", 61),
        ("STY003", 70), ("STY004", 110), ("STY004", 111), ("STY004", 112), ("API003", 83),
    },
    "001": {("API003", 25), ("STY001", 3), ("STY004", 48), ("STY004", 49), ("API003", 31)},
    "003": {
        ("BLD007", 58), ("BLD019", 81), ("EXT003", 94), ("STY001", 11), ("STY002", 14),
        ("STY004", 80), ("STY004", 82), ("API003", 49), ("API003", 59),
    },
    "004": {
        ("API001", 114), ("BLD001", 76), ("EXT005", 114), ("BLD010", 22), ("STY001", 15), ("STY002", 31),
        ("STY003", 39), ("API003", 63), ("API003", 76), ("STY004", 101),
    },
}  # fmt: skip
pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"{SEEDS} is not on this machine")


def review(seed: str) -> tuple[Finding, ...]:
    path = next(SEEDS.glob(f"{seed}_*"))
    sample = next(iter(read_samples([str(path)])))
    extraction = extract(sample)
    assert extraction.submission is not None
    said = 'namespace "at::cuda" has no member "getCurrentCUDAStream"'
    place = Place(line=76, end_line=76)
    refused = Evidence(kind="compiler", code="error", text=said, place=place)
    evidence = (refused,) if seed == "004" else ()
    context = Context(sample=sample, extraction=extraction, evidence=evidence)
    return review_text(parse(extraction.submission.code), context, select=FAMILIES)


@pytest.mark.parametrize("seed", EXPECTED)
def test_every_defect_at_its_line_and_no_other_error(seed: str) -> None:
    findings = review(seed)
    found = {(one.rule, one.place.line) for one in findings if one.place is not None}
    assert found >= EXPECTED[seed]
    grave = {(one.rule, one.place.line) for one in findings
             if one.severity != "note" and one.place is not None}  # fmt: skip
    assert grave <= EXPECTED[seed]


def test_the_author_of_004_is_quoted() -> None:
    quotes = [one for one in review("004") if one.rule == "EXT006"]
    assert any("isn't being written properly" in one.message for one in quotes)
    assert all(one.severity == "note" for one in quotes)
