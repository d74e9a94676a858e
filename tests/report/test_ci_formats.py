"""SARIF, JUnit and annotations: what other tools read."""

import json
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from grader.records import Review
from grader.report import github
from grader.report.formats import junit, sarif
from grader.report.spill import SpillFile

from .conftest import CODE, Make
from .payloads import PAYLOADS

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.schema.json").read_text())


def sarif_of(reviews: Iterable[Review]) -> str:
    return written(sarif.Log, reviews)


def junit_of(reviews: Iterable[Review]) -> str:
    return written(junit.Cases, reviews)


def written(form: type[sarif.Log] | type[junit.Cases], reviews: Iterable[Review]) -> str:
    with SpillFile(Path()) as spill:
        made = form(spill)
        for review in reviews:
            made.add(review)
        return "".join(made.parts())


def results(text: str) -> list[dict]:
    log = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    return log["runs"][0]["results"]


@pytest.mark.parametrize(
    "status", ["correct", "unsound", "incorrect", "build_failed", "grader_error"]
)
def test_sarif_is_valid(make_review: Make, status: str) -> None:
    found = results(sarif_of([make_review(status=status), make_review("other", status=status)]))
    assert {item["ruleId"] for item in found} == {"SYN002", "NUM001", "STY001"}


def test_an_empty_run_is_valid() -> None:
    assert results(sarif_of([])) == []


def test_confidence_becomes_rank_and_precision(make_review: Make) -> None:
    found = {item["ruleId"]: item for item in results(sarif_of([make_review()]))}
    assert [found[code]["rank"] for code in ("SYN002", "NUM001", "STY001")] == [95, 70, 40]
    assert found["SYN002"]["properties"]["precision"] == "very-high"


def test_a_finding_stands_at_the_samples_line(make_review: Make) -> None:
    review = make_review()
    region = results(sarif_of([review]))[0]["locations"][0]["physicalLocation"]["region"]
    line = review.text.split("\n")[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "sums"


def test_a_fix_changes_the_sample_as_it_changes_the_submission(make_review: Make) -> None:
    review = make_review()
    (fix,) = results(sarif_of([review]))[0]["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    region, lines = replacement["deletedRegion"], review.text.split("\n")
    start, end = (
        sum(len(line) + 1 for line in lines[: region[f"{name}ine"] - 1])
        + region[f"{other}olumn"]
        - 1
        for name, other in (("startL", "startC"), ("endL", "endC"))
    )
    changed = review.text[:start] + replacement["insertedContent"]["text"] + review.text[end:]
    (edit,) = review.findings[0].fixes[0].edits
    assert CODE[: edit.start] + edit.text + CODE[edit.end :] in changed


def test_a_record_of_jsonl_is_one_line_and_has_no_fix(make_review: Make) -> None:
    review = make_review(form="jsonl", origin="out/completions.jsonl:17")
    found = results(sarif_of([review]))[0]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "out/completions.jsonl"
    assert place["region"]["startLine"] == 17
    assert "fixes" not in found


def test_fingerprints_survive_lines_added_above(make_review: Make) -> None:
    moved = make_review(code=f"# one\n# two\n\n{CODE}", before="More words.\n\n\n```python\n")
    before, after = (
        [item["partialFingerprints"] for item in results(sarif_of([review]))]
        for review in (make_review(), moved)
    )
    assert before[0] == after[0]
    assert len({str(item) for item in before}) == len(before)


def test_junit_counts_every_sample_once(make_review: Make) -> None:
    statuses = ("correct", "incorrect", "build_failed", "not_run", "grader_error", "unsound")
    text = junit_of(make_review(f"s{n}", status=s) for n, s in enumerate(statuses))
    root = ET.fromstring(text)
    counted = {
        name: int(root.get(name, "-1")) for name in ("tests", "failures", "errors", "skipped")
    }
    assert counted == {"tests": 6, "failures": 3, "errors": 1, "skipped": 1}
    assert "SYN002" in (root.find(".//failure").text or "")
    assert {failure.get("type") for failure in root.iter("failure")} == {
        "incorrect",
        "build_failed",
        "unsound",
    }


def test_annotations_are_one_line_each(make_review: Make) -> None:
    lines = github.render([make_review()]).splitlines()
    assert lines[0].startswith("::error file=samples/total_race.md,line=14,endLine=14,title=SYN002")
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning"]


def test_a_verdict_without_a_finding_is_annotated(make_review: Make) -> None:
    review = make_review(status="hung").model_copy(update={"findings": ()})
    assert github.render([review]).startswith("::error file=samples/total_race.md,title=total_race")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_words_stay_words(make_review: Make, payload: str) -> None:
    review = make_review(words=payload, origin=f"samples/{payload[:80]}.md", task=payload)
    assert len(results(sarif_of([review]))) == 3
    assert len(list(ET.fromstring(junit_of([review])).iter("testcase"))) == 1
    annotations = github.render([review]).split("\n")
    assert [line[:8] for line in annotations if line] == ["::error ", "::warnin"]
    assert all(ord(character) >= 32 for line in annotations for character in line)
